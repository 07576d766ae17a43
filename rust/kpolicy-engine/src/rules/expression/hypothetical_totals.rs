//! Counts and sums over the pods of a node, while hypothetical pods come to it and its own pods go.
//!
//! The pods of the node are walked once. From then on each pod that comes or goes is compared, and not
//! all pods each time that an expression asks.

use std::sync::Arc;

use kpolicy_cel::{Answer, Budget, Expression, Facts, Fault, Read};

use crate::rules::prices::POD_MATCHED;
use crate::snapshot::{Cluster, NodeSlot, Pod};

use super::facts::{self, Root};
use super::pod_set::PodTotal;
use super::world::NodeWorld;

/// The sets of pods of a node that an expression reads, all with constant arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct HypotheticalTotals {
    /// By the index of the read.
    asked: Arc<[(u32, PodTotal)]>,
    /// The node, and what each is there. Sums are kept wider than they are shown, so that a pod that goes
    /// takes away what it added.
    on_node: Option<(NodeSlot, Box<[i128]>)>,
}

impl HypotheticalTotals {
    pub(super) fn of(expression: &Expression, pod: &Pod) -> Self {
        let walked = |read: &Read| Some((read.index, walked(read, pod)?));
        let asked = expression.reads().iter().filter_map(walked);
        Self { asked: asked.collect(), on_node: None }
    }

    /// What walking a pod takes.
    pub(super) fn units_a_pod(&self) -> u64 {
        POD_MATCHED.saturating_mul(self.asked.len() as u64)
    }

    /// The pod is put on the node, or taken away. The first time the node has the pods of the snapshot
    /// besides.
    pub(super) fn follow(&mut self, cluster: &Cluster, slot: NodeSlot, pod: &Pod, pods: i128) {
        if self.asked.is_empty() {
            return;
        }
        let totals = match &mut self.on_node {
            Some((have, totals)) if *have == slot => totals,
            place => {
                let load = cluster.nodes().view(slot).map(|view| view.load);
                let on = |(_, total): &(u32, PodTotal)| load.map_or(0, |load| total.on_wide(load));
                let totals = self.asked.iter().map(on).collect();
                &mut place.insert((slot, totals)).1
            }
        };
        for (sum, (_, total)) in totals.iter_mut().zip(self.asked.iter()) {
            *sum += pods * i128::from(total.of_pod(pod));
        }
    }

    fn find(&self, slot: NodeSlot, read: &Read) -> Option<i64> {
        let (_, totals) = self.on_node.as_ref().filter(|(have, _)| *have == slot)?;
        let position = self.asked.iter().position(|(index, _)| *index == read.index)?;
        let sum = *totals.get(position)?;
        Some(i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX }))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.asked)
    }
}

/// A set of pods of a node that would be walked for each reading.
fn walked(read: &Read, pod: &Pod) -> Option<PodTotal> {
    let (Root::Node, row) = facts::row(&read.fact)? else { return None };
    match row.name {
        "pods.count" => PodTotal::count(&read.args).ok(),
        "pods.sum" => PodTotal::sum(&read.args).ok().filter(PodTotal::is_walked),
        "pods.sameController" => Some(PodTotal::of_controller(pod)),
        _ => None,
    }
}

/// As [`NodeWorld`], with totals that include hypothetical pods.
pub(super) struct HypotheticalWorld<'a> {
    pub world: NodeWorld<'a>,
    pub totals: &'a HypotheticalTotals,
}

impl Facts for HypotheticalWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        match self.totals.find(self.world.node.slot, read) {
            Some(total) => total.into(),
            None => self.world.read(read),
        }
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        match self.totals.find(self.world.node.slot, read) {
            Some(total) => Ok(total.into()),
            None => self.world.read_charged(read, budget),
        }
    }

    fn is_made(&self, read: &Read) -> bool {
        self.world.is_made(read)
    }
}
