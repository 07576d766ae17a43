//! The trait of rules that say how good a node is for a pod, and of their prepared form.
//!
//! Assumes that the snapshot does not change within a call.

use std::fmt::Debug;

use kpolicy_cel::Moments;

use crate::model::Kind;
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::dynamic_resources::DevicePolicy;
use super::{Fault, HeldBytes, Key, Normalization, Reads, Refresh};

/// Nodes that passed every filter in this cycle.
#[derive(Debug, Clone, Copy)]
pub struct Feasible<'a> {
    /// By slot.
    pub(crate) mask: &'a [bool],
    pub(crate) count: usize,
}

/// Why nodes cannot be scored: the whole cycle fails, where more than one node is to be scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreProblem<'a> {
    /// Found before any node was looked at (kube-scheduler's PreScore).
    PreScore(&'a str),
    /// Found at the first node.
    Score(&'a str),
}

/// A rule that says how good a node is for a pod.
pub trait Score: Debug + Send + Sync {
    /// As [`super::Filter::key`].
    fn key(&self, pod: &Pod, key: &mut Key);

    /// As [`super::Filter::prepare`].
    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>>;

    /// As [`super::Filter::kinds`].
    fn kinds(&self) -> &[Kind] {
        &[]
    }

    /// As [`super::Filter::moments`].
    fn moments(&self) -> &Moments {
        &Moments::None
    }

    /// Whether it counts the devices behind resources.
    fn counts_devices(&self) -> bool {
        false
    }

    /// As [`super::Filter::follow_policy_of_devices`].
    fn follow_policy_of_devices(&mut self, policy: &DevicePolicy) {
        let _ = policy;
    }

    /// From now on it scores as kube-scheduler 1.`minor` did, as far as releases disagree. `true`: on
    /// that release's scale; otherwise on 0–100, which the caller brings to that scale.
    fn score_as(&mut self, minor: i64) -> bool {
        let _ = minor;
        false
    }
}

/// A score made ready for all pods of one key.
pub trait PreparedScore: Debug + Send + Sync {
    /// What of a node its raw score rests on.
    fn reads(&self) -> Reads;

    /// As [`super::PreparedFilter::refresh`].
    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let _ = (changes, cluster);
        Refresh::Nodes
    }

    /// Whether raw scores depend on which nodes are feasible. Then `see_feasible` is called before
    /// any node is asked, and whenever the set changed.
    fn reads_feasible(&self) -> bool {
        false
    }

    /// Takes the set of feasible nodes, for a rule whose raw scores depend on it.
    fn see_feasible(&mut self, cluster: &Cluster, feasible: Feasible<'_>) {
        let _ = (cluster, feasible);
    }

    /// It has nothing to say in this cycle.
    fn is_skipped(&self) -> bool {
        false
    }

    /// Why it cannot score.
    fn problem(&self) -> Option<ScoreProblem<'_>> {
        None
    }

    /// The score before normalising; [`super::IGNORED`] leaves the node out of normalising, with 0.
    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64;

    /// Why `raw` gave [`super::IGNORED`] for this node, where an expression could not be evaluated.
    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        let _ = (cluster, node);
        None
    }

    /// As `raw` for every node, by slot. Slots without a node may be left as they are.
    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        for view in cluster.nodes().iter() {
            if let Some(cell) = raw.get_mut(view.slot.index()) {
                *cell = self.raw(cluster, view);
            }
        }
    }

    /// Whether `raw_range` does a part of `raw_all` in a part of its time.
    fn has_ranges(&self) -> bool {
        false
    }

    /// As `raw_all`, for the slots from `first` on.
    fn raw_range(&self, cluster: &Cluster, first: usize, raw: &mut [f64]) {
        one_by_one(self, cluster, first, raw);
    }

    /// As `raw_range`, where every raw score is a whole number from 0 to 100. False if the rule has no
    /// quicker way to these than through `raw_range`.
    fn finish_range(&self, cluster: &Cluster, first: usize, scores: &mut [u8]) -> bool {
        let _ = (cluster, first, scores);
        false
    }

    /// As [`super::PreparedFilter::worth_asking_all`].
    fn worth_asking_all(&self, nodes: usize) -> usize {
        nodes
    }

    /// How its raw scores become 0–100.
    fn normalization(&self) -> &Normalization {
        &Normalization::AsIs
    }

    /// As [`super::PreparedFilter::held_bytes`].
    fn held_bytes(&self) -> HeldBytes;

    /// For [`Normalization::Whole`]: from the raw scores of the feasible nodes to 0–100, by slot.
    fn normalize_all(
        &self,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        let _ = (cluster, feasible, raw, normalized);
    }
}

/// Asks the nodes of the slots from `first` on.
pub(super) fn one_by_one<S: PreparedScore + ?Sized>(
    score: &S,
    cluster: &Cluster,
    first: usize,
    raw: &mut [f64],
) {
    for (index, cell) in (first..).zip(raw) {
        let slot = cluster.nodes().slot_at(index);
        if let Some(view) = slot.and_then(|slot| cluster.nodes().view(slot)) {
            *cell = score.raw(cluster, view);
        }
    }
}
