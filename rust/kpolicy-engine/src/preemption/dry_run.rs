//! The victims that one node would need.
//!
//! Specification: all possible victims are removed; if the pod does not fit even then, the node is
//! no candidate. Then they are put back one after the other, those that exceed a disruption budget
//! first, important pods first, and each stays if the pod still fits. The pod must fit both with
//! and without the pods nominated to the node.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::judging::{self, Forks, HypotheticalNode};
use crate::rules::{Code, Status};
use crate::snapshot::{NodeView, Pod};

use super::budgets::Budgets;
use super::victims::{Evictable, by_importance, may_go};
use super::{Candidate, Unplaced};

/// Why a node is no candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unhelpful {
    NoVictims,
    Rejected(Status),
    /// A rule could not judge.
    Failed(String),
}

impl HeapBytes for Unhelpful {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::NoVictims => 0,
            Self::Rejected(status) => status.heap_bytes(),
            Self::Failed(why) => why.heap_bytes(),
        }
    }
}

/// `forks` are as they were when it is done.
pub(super) fn dry_run(
    unplaced: Unplaced<'_>,
    evictable: &Evictable<'_>,
    node: NodeView<'_>,
    budgets: &mut Budgets<'_>,
    forks: &mut Forks,
) -> Result<Candidate, Unhelpful> {
    let pod = unplaced.question.pod;
    let kept = evictable.kept(node);
    let goes = |other: &Pod| may_go(other, pod) && !kept.contains(other.uid.as_ref());
    if !node.load.pods.iter().any(|other| goes(other)) {
        return Err(Unhelpful::NoVictims);
    }
    let mut emptied = Emptied::of(unplaced, node, goes, std::mem::take(forks));
    let found = emptied.reprieve(unplaced, node, budgets);
    *forks = emptied.restored();
    found
}

/// Whether the pod fits on the node once these are gone.
pub(super) fn makes_room(unplaced: Unplaced<'_>, node: NodeView<'_>, victims: &[Arc<Pod>]) -> bool {
    let goes = |other: &Pod| victims.iter().any(|victim| victim.uid == other.uid);
    Emptied::of(unplaced, node, goes, Forks::of(unplaced.prepared)).fits()
}

/// A node without the pods at stake, with and without the pods nominated to it.
struct Emptied<'a> {
    plain: HypotheticalNode<'a>,
    /// `None` where no nomination counts.
    crowded: Option<HypotheticalNode<'a>>,
    /// Its own pods that are not on it.
    gone: Vec<&'a Arc<Pod>>,
}

/// The rejecting filter, its verdict and what that means.
type Rejection = (usize, Code, Status);

impl<'a> Emptied<'a> {
    fn of(
        unplaced: Unplaced<'a>,
        node: NodeView<'a>,
        goes: impl Fn(&Pod) -> bool,
        forks: Forks,
    ) -> Self {
        let (pod, program) = (unplaced.question.pod, unplaced.question.program);
        let gone = node.load.pods.iter().filter(|other| goes(other)).collect();
        let plain = HypotheticalNode::without(node, goes, forks, unplaced.cluster);
        let ahead = judging::ahead_of(pod, &node.node.name, program, unplaced.cluster);
        let crowded = (!ahead.is_empty()).then(|| {
            let mut crowded = plain.fork();
            for nominated in ahead {
                crowded.put(nominated);
            }
            crowded
        });
        Self { plain, crowded, gone }
    }

    /// Lets as many as possible stay; the others are the victims.
    fn reprieve(
        &mut self,
        unplaced: Unplaced<'_>,
        node: NodeView<'_>,
        budgets: &mut Budgets<'_>,
    ) -> Result<Candidate, Unhelpful> {
        if let Some(rejection) = self.rejection() {
            return Err(unhelpful(unplaced, rejection));
        }
        let mut at_stake = std::mem::take(&mut self.gone);
        at_stake.sort_unstable_by(|left, right| by_importance(left, right));
        let (beyond, within) = budgets.part(at_stake);
        self.put_back(beyond);
        let violations = self.gone.len();
        self.put_back(within);
        if self.gone.is_empty() {
            // Only a rule whose answer depends on the order of putting and taking gets here.
            let why = format!("expected at least one victim pod on node {:?}", node.node.name);
            return Err(Unhelpful::Failed(why));
        }
        self.gone.sort_unstable_by(|left, right| by_importance(left, right));
        let victims = self.gone.iter().map(|victim| Arc::clone(victim)).collect();
        Ok(Candidate { slot: node.slot, victims, violations })
    }

    /// With the nominated pods first, as when filtering.
    fn both(&self) -> impl Iterator<Item = &HypotheticalNode<'a>> {
        self.crowded.iter().chain([&self.plain])
    }

    fn fits(&self) -> bool {
        self.both().all(|node| node.rejection().is_none())
    }

    fn rejection(&self) -> Option<Rejection> {
        self.both().find_map(|node| {
            let (filter, code) = node.rejection()?;
            Some((filter, code, node.describe(filter, code)?))
        })
    }

    /// Puts pods back, in order, as long as the pod fits.
    fn put_back(&mut self, pods: Vec<&'a Arc<Pod>>) {
        for pod in pods {
            self.each(|node| node.put(pod));
            if !self.fits() {
                self.each(|node| node.take(pod));
                self.gone.push(pod);
            }
        }
    }

    fn each(&mut self, change: impl Fn(&mut HypotheticalNode<'a>)) {
        self.crowded.iter_mut().for_each(&change);
        change(&mut self.plain);
    }

    fn restored(mut self) -> Forks {
        for pod in self.gone {
            self.plain.put(pod);
        }
        self.plain.into_forks()
    }
}

fn unhelpful(unplaced: Unplaced<'_>, (filter, code, status): Rejection) -> Unhelpful {
    if code.is_failure() {
        Unhelpful::Failed(judging::filter_failure(unplaced.profile, filter, Some(&status)))
    } else {
        Unhelpful::Rejected(status)
    }
}
