//! The middle of a decision where a policy has only some of the nodes looked at.

use std::borrow::Cow;

use crate::judging::Rejected;
use crate::judging::pre_filter::NodesToCheck;
use crate::snapshot::NodeSlot;
use crate::timing::{Meter, Point, StatusCode};

use super::Extended;
use super::run::{Found, Nominated, Run};
use super::run_kept::none_kept;
use super::sampling::{self, Sample};

impl<M: Meter> Run<'_, M> {
    /// Looks at nodes until enough of them are feasible, and chooses one of these.
    pub(super) fn choose_among_some(&mut self, left: NodesToCheck, nominated: Nominated) -> Found {
        let start = self.sampling.next_start();
        let sample = self.search(&left, start, &nominated, false);
        self.sampling.move_on(sample.looked_at, self.cluster.nodes().len());
        if let Some(failure) = &sample.failure {
            return self.failed(failure);
        }
        self.stages.end(Point::Filter, StatusCode::Success);
        if sample.feasible.is_empty() {
            return Found::Rejected(nominated.rejected_with(rejected(sample, left)));
        }
        self.choose_among(&sample.feasible, &[])
    }

    /// Nodes about which extenders are asked, in the order in which they were found. kube-scheduler asks
    /// about a feasible nominated node alone, and about others only if that is not kept: here it is the
    /// first of them.
    pub(super) fn some_for_extenders(
        &mut self,
        left: &NodesToCheck,
    ) -> Result<Vec<NodeSlot>, Found> {
        let nominated = self.nominated_node();
        let start = self.sampling.next_start();
        let sample = self.search(left, start, &nominated, true);
        let uid = &self.question.pod.uid;
        let mut feasible = sample.feasible;
        match (&nominated, sample.failure) {
            (Nominated::Feasible(own), failure) => {
                self.sampling.ask(uid, start, sample.looked_at);
                if failure.is_some() {
                    feasible.clear();
                }
                feasible.retain(|slot| slot != own);
                feasible.insert(0, *own);
            }
            (_, failure) => {
                self.sampling.ask(uid, start, 0);
                self.sampling.move_on(sample.looked_at, self.cluster.nodes().len());
                if let Some(failure) = failure {
                    return Err(self.failed(&failure));
                }
            }
        }
        self.stages.end(Point::Filter, StatusCode::Success);
        Ok(feasible)
    }

    /// As [`Run::choose_kept`]. Without a kept node that passes, the message is about the nodes that were
    /// looked at for the extenders.
    pub(super) fn choose_kept_of_some(
        &mut self,
        left: NodesToCheck,
        extended: &Extended,
    ) -> Option<Found> {
        let kept = self.kept_and_passing(&left, extended);
        let nominated = self.nominated_node();
        if let Nominated::Feasible(own) = nominated
            && !kept.contains(&own)
        {
            let refusals = extended.refused.iter().filter(|node| node.slot == own).count().min(1);
            let (uid, nodes) = (&self.question.pod.uid, self.cluster.nodes().len());
            self.sampling.nominated_was_not_kept(uid, refusals, nodes);
        }
        if !kept.is_empty() {
            return Some(self.choose_extended(kept, extended));
        }
        let start = self.sampling.asked_from(&self.question.pod.uid);
        let mut sample = self.search(&left, start, &nominated, true);
        if let Some(failure) = &sample.failure {
            return Some(self.failed(failure));
        }
        let mut feasible = std::mem::take(&mut sample.feasible);
        if let Nominated::Feasible(own) = nominated
            && !feasible.contains(&own)
        {
            feasible.push(own);
        }
        none_kept(&feasible, nominated.rejected_with(rejected(sample, left)), extended)
    }

    /// No other node is looked at.
    fn kept_and_passing(&self, left: &NodesToCheck, extended: &Extended) -> Vec<NodeSlot> {
        let is_left = |slot: &NodeSlot| match left {
            NodesToCheck::All => self.cluster.nodes().view(*slot).is_some(),
            NodesToCheck::Only { slots, .. } => slots.contains(slot),
        };
        let prepared = self.shape.prepared(self.stores);
        let passes = |slot: &NodeSlot| is_left(slot) && self.verdict_on(*slot, &prepared).is_none();
        extended.kept.keys().copied().filter(passes).collect()
    }

    /// Where the next search starts stays as it is.
    fn search(
        &self,
        left: &NodesToCheck,
        start: usize,
        nominated: &Nominated,
        has_extenders: bool,
    ) -> Sample {
        let slots = match left {
            NodesToCheck::All => self.cluster.nodes().in_zones(),
            NodesToCheck::Only { slots, .. } => Cow::Borrowed(slots.as_slice()),
        };
        let enough = sampling::enough(self.profile, slots.len(), has_extenders);
        let prepared = self.shape.prepared(self.stores);
        let judge = |slot: NodeSlot| self.verdict_on(slot, &prepared);
        sampling::search(&slots, start, enough, nominated.attempted(), judge)
    }
}

fn rejected(sample: Sample, left: NodesToCheck) -> Rejected {
    let narrowed_by = match left {
        NodesToCheck::All => Vec::new(),
        NodesToCheck::Only { narrowed_by, .. } => narrowed_by,
    };
    Rejected { nodes: sample.rejected, narrowed_by, ..Rejected::default() }
}
