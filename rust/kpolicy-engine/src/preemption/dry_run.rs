//! The victims that one node would need.
//!
//! Specification: all possible victims are removed; if the pod does not fit even then, the node is
//! no candidate. Then they are put back one after the other, those that exceed a disruption budget
//! first, important pods first, and each stays if the pod still fits. The pod must fit both with
//! and without the pods nominated to the node.

use std::sync::Arc;

use kpolicy_cel::{Budget, Fault};

use crate::heap::HeapBytes;
use crate::judging::{self, Forks, HypotheticalNode};
use crate::rules::{Code, Status};
use crate::snapshot::{NodeView, Pod};

use super::budgets::Budgets;
use super::search_work::Prices;
use super::victims::{Evictable, by_importance, may_go};
use super::{Candidate, Unplaced};

/// Why a node is no candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unhelpful {
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

/// All that dry runs of one search share. Its filters are as they were when a dry run is done; a
/// search that ran out of work is over.
pub(super) struct DryRuns<'a> {
    unplaced: Unplaced<'a>,
    evictable: Evictable<'a>,
    budgets: Budgets<'a>,
    prices: Prices<'a>,
    forks: Forks,
}

impl<'a> DryRuns<'a> {
    pub(super) fn of(unplaced: Unplaced<'a>) -> Self {
        Self {
            unplaced,
            evictable: Evictable::of(unplaced),
            budgets: Budgets::of(unplaced.cluster),
            prices: Prices::of(unplaced),
            forks: Forks::of(unplaced.prepared),
        }
    }

    /// What comes of one node, unless it takes more than is left.
    pub(super) fn on(
        &mut self,
        node: NodeView<'a>,
        work: &mut Budget,
    ) -> Result<Result<Candidate, Unhelpful>, Fault> {
        let pod = self.unplaced.question.pod;
        self.unplaced.cluster.progress().beat();
        work.charge(self.prices.walking(node))?;
        let kept = self.evictable.kept(node, work)?;
        let goes = |other: &Pod| may_go(other, pod) && !kept.contains(other.uid.as_ref());
        let mut is_any = false;
        for other in node.load.pods.iter().filter(|other| goes(other)) {
            is_any = true;
            work.charge(self.prices.moving(other, 1))?;
        }
        if !is_any {
            return Ok(Err(Unhelpful::NoVictims));
        }
        let forks = std::mem::take(&mut self.forks);
        let mut emptied = Emptied::of(self.unplaced, node, goes, forks);
        let found = emptied.reprieve(self.unplaced, node, &mut self.budgets, &self.prices, work);
        self.forks = emptied.restored();
        found
    }
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
    with_nominated: Option<HypotheticalNode<'a>>,
    /// How many pods are nominated to it.
    nominated: usize,
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
        let nominated = ahead.len();
        let with_nominated = (!ahead.is_empty()).then(|| {
            let mut node = plain.fork();
            for pod in ahead {
                node.put(pod);
            }
            node
        });
        Self { plain, with_nominated, nominated, gone }
    }

    /// Lets as many as possible stay; the others are the victims.
    fn reprieve(
        &mut self,
        unplaced: Unplaced<'_>,
        node: NodeView<'_>,
        budgets: &mut Budgets<'_>,
        prices: &Prices<'a>,
        work: &mut Budget,
    ) -> Result<Result<Candidate, Unhelpful>, Fault> {
        work.charge(prices.nominating(self.nominated))?;
        work.charge(prices.asking_all(self.worlds()))?;
        let rejection = self.rejection();
        work.charge(self.take_units())?;
        if let Some(rejection) = rejection {
            return Ok(Err(unhelpful(unplaced, rejection)));
        }
        for pod in &self.gone {
            work.charge(prices.finding_budgets(pod))?;
        }
        let mut at_stake = std::mem::take(&mut self.gone);
        at_stake.sort_unstable_by(|left, right| by_importance(left, right));
        let (beyond, within) = budgets.part(at_stake);
        self.put_back(beyond, prices, work)?;
        let violations = self.gone.len();
        self.put_back(within, prices, work)?;
        if self.gone.is_empty() {
            // Only a rule whose answer depends on the order of putting and taking gets here.
            let why = format!("expected at least one victim pod on node {:?}", node.node.name);
            return Ok(Err(Unhelpful::Failed(why)));
        }
        self.gone.sort_unstable_by(|left, right| by_importance(left, right));
        let victims = self.gone.iter().map(|victim| Arc::clone(victim)).collect();
        Ok(Ok(Candidate::new(node.slot, victims, violations)))
    }

    /// With the nominated pods first, as when filtering.
    fn both(&self) -> impl Iterator<Item = &HypotheticalNode<'a>> {
        self.with_nominated.iter().chain([&self.plain])
    }

    /// What the filters have taken besides their prices.
    fn take_units(&self) -> u64 {
        self.both().map(HypotheticalNode::take_units).sum()
    }

    fn fits(&self) -> bool {
        self.rejecting().is_none()
    }

    fn rejection(&self) -> Option<Rejection> {
        let (node, filter, code) = self.rejecting()?;
        Some((filter, code, node.describe(filter, code)?))
    }

    /// What does not rest on pods is asked only of the first.
    fn rejecting(&self) -> Option<(&HypotheticalNode<'a>, usize, Code)> {
        self.both().enumerate().find_map(|(position, node)| {
            let (filter, code) = match position {
                0 => node.rejection(),
                _ => node.rejection_by_pods(),
            }?;
            Some((node, filter, code))
        })
    }

    /// Puts pods back, in order, as long as the pod fits. It fits without them.
    fn put_back(
        &mut self,
        pods: Vec<&'a Arc<Pod>>,
        prices: &Prices<'a>,
        work: &mut Budget,
    ) -> Result<(), Fault> {
        let worlds = self.worlds();
        for pod in pods {
            work.charge(prices.moving(pod, worlds).saturating_add(prices.asking_again(worlds)))?;
            self.each(|node| node.put(pod));
            let is_rejected = self.both().any(|node| node.rejection_by_pods().is_some());
            work.charge(self.take_units())?;
            if is_rejected {
                self.each(|node| node.take(pod));
                self.gone.push(pod);
            }
        }
        Ok(())
    }

    /// How many nodes each pod is put on.
    fn worlds(&self) -> u64 {
        1 + u64::from(self.with_nominated.is_some())
    }

    fn each(&mut self, change: impl Fn(&mut HypotheticalNode<'a>)) {
        self.with_nominated.iter_mut().for_each(&change);
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
        Unhelpful::Failed(judging::filter_failure(unplaced.profile, filter, Some(&status)).why)
    } else {
        Unhelpful::Rejected(status)
    }
}
