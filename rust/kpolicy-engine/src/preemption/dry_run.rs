//! What would have to go on one node.
//!
//! Clauses: all that may go are taken away; if the pod does not fit even then, the node is no help.
//! Then one after the other is put back, those beyond a budget first, the important ones first, and
//! stays if the pod still fits. The pod must fit both with and without the pods nominated to the node.

use std::sync::Arc;

use crate::cycle::{self, Argued, Forks};
use crate::rules::{Code, Status};
use crate::snapshot::{NodeView, Pod};

use super::budgets::Budgets;
use super::victims::{Evictable, by_importance, may_go};
use super::{Asked, Candidate};

/// Why a node is no candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unhelpful {
    NoVictims,
    Rejected(Status),
    /// A rule could not judge.
    Failed(String),
}

/// `forks` are as they were when it is done.
pub fn dry_run(
    asked: Asked<'_>,
    evictable: &Evictable<'_>,
    node: NodeView<'_>,
    budgets: &mut Budgets<'_>,
    forks: &mut Forks,
) -> Result<Candidate, Unhelpful> {
    let pod = asked.question.pod;
    let kept = evictable.kept(node);
    let goes = |other: &Pod| may_go(other, pod) && !kept.contains(other.uid.as_ref());
    if !node.load.pods.iter().any(|other| goes(other)) {
        return Err(Unhelpful::NoVictims);
    }
    let mut emptied = Emptied::of(asked, node, goes, std::mem::take(forks));
    let found = emptied.reprieve(asked, node, budgets);
    *forks = emptied.restored();
    found
}

/// Whether the pod fits on the node once these are gone.
pub fn makes_room(asked: Asked<'_>, node: NodeView<'_>, victims: &[Arc<Pod>]) -> bool {
    let goes = |other: &Pod| victims.iter().any(|victim| victim.uid == other.uid);
    Emptied::of(asked, node, goes, Forks::of(asked.prepared)).fits()
}

/// A node without the pods at stake, with and without the pods nominated to it.
struct Emptied<'a> {
    plain: Argued<'a>,
    /// `None` where no nomination counts.
    crowded: Option<Argued<'a>>,
    /// Its own pods that are not on it.
    gone: Vec<&'a Arc<Pod>>,
}

/// The rejecting filter, its verdict and what that means.
type Rejection = (usize, Code, Status);

impl<'a> Emptied<'a> {
    fn of(asked: Asked<'a>, node: NodeView<'a>, goes: impl Fn(&Pod) -> bool, forks: Forks) -> Self {
        let (pod, program) = (asked.question.pod, asked.question.program);
        let gone = node.load.pods.iter().filter(|other| goes(other)).collect();
        let plain = Argued::without(node, goes, forks, asked.cluster);
        let ahead = cycle::ahead_of(pod, &node.node.name, program, asked.cluster);
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
        asked: Asked<'_>,
        node: NodeView<'_>,
        budgets: &mut Budgets<'_>,
    ) -> Result<Candidate, Unhelpful> {
        if let Some(rejection) = self.rejection() {
            return Err(unhelpful(asked, rejection));
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
    fn both(&self) -> impl Iterator<Item = &Argued<'a>> {
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

    fn each(&mut self, change: impl Fn(&mut Argued<'a>)) {
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

fn unhelpful(asked: Asked<'_>, (filter, code, status): Rejection) -> Unhelpful {
    if code.is_failure() {
        Unhelpful::Failed(cycle::filter_failure(asked.profile, filter, Some(&status)))
    } else {
        Unhelpful::Rejected(status)
    }
}
