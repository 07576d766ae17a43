//! A scalar resource that a score reads: how much of it a node has, and how much of that is held.
//!
//! Specification: where no device plugin offers an extended resource on a node, the devices of the class
//! that stands behind it count (`DRAExtendedResource`).

use crate::heap::HeapBytes;
use crate::intern::Name;
use crate::model::Kind;
use crate::release::{Followed, Gate};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView};

use super::decision_work::units_of_devices;
use super::devices::extended::{class_behind, may_be_devices};
use super::devices::{Work, totals};
use super::dynamic_resources::DevicePolicy;
use super::resource_scoring::WeightedResource;
use super::{Reads, Refresh};

/// How a score counts the devices behind resources.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counting {
    followed: Followed,
    /// So many scores of the profile share what looking for devices may take.
    scores: u64,
}

impl Counting {
    pub(super) const fn of(followed: Followed) -> Self {
        Self { followed, scores: 1 }
    }

    pub(super) const fn follow(&mut self, policy: &DevicePolicy) {
        self.scores = policy.scores_that_count;
    }

    /// Whether devices may stand behind any of these resources.
    pub(super) fn concerns(self, resources: &[WeightedResource]) -> bool {
        let may_be_counted = |resource: &WeightedResource| may_be_devices(&resource.name);
        self.followed.has(Gate::DRAExtendedResource) && resources.iter().any(may_be_counted)
    }

    /// Kinds that must be watched for a score of these resources.
    pub(super) fn kinds(self, resources: &[WeightedResource]) -> &'static [Kind] {
        match self.concerns(resources) {
            true => &[Kind::DeviceClass, Kind::ResourceSlice, Kind::ResourceClaim],
            false => &[],
        }
    }

    /// The filter that looks for devices, and each of the scores, may take as much.
    fn units_a_node(self, cluster: &Cluster) -> u64 {
        units_of_devices(cluster.nodes().len()) / (1 + self.scores)
    }
}

#[derive(Debug)]
pub(super) struct ScoredScalar {
    name: Name,
    counting: Counting,
    devices: Option<Devices>,
}

#[derive(Debug)]
struct Devices {
    class: Box<str>,
    units_a_node: u64,
}

impl ScoredScalar {
    pub(super) fn new(name: &Name, counting: Counting, cluster: &Cluster) -> Self {
        let class = class_behind(name, cluster, counting.followed);
        let units_a_node = counting.units_a_node(cluster);
        let devices = class.map(|class| Devices { class: class.into(), units_a_node });
        Self { name: name.clone(), counting, devices }
    }

    /// What the node has, and what is held of it.
    pub(super) fn of(&self, cluster: &Cluster, node: NodeView<'_>) -> (i64, i64) {
        let has = node.node.allocatable.amounts.scalar(&self.name);
        match &self.devices {
            Some(devices) if has == 0 => devices.of(cluster, node),
            _ => (has, node.load.requested.scalar(&self.name)),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.devices.as_ref().map_or(0, |devices| devices.class.heap_bytes())
    }
}

impl Devices {
    /// Nothing where they cannot be counted, as in kube-scheduler, or not with the units that there are.
    fn of(&self, cluster: &Cluster, node: NodeView<'_>) -> (i64, i64) {
        let mut work = Work::of(self.units_a_node);
        let totals = totals::of_class(&self.class, cluster, node, &mut work);
        cluster.objects().add_units_of_devices(self.units_a_node - work.left());
        totals.map_or((0, 0), |totals| (totals.all, totals.held))
    }
}

/// What a score rests on that reads these besides what nodes have and hold of other resources.
pub(super) fn reads<'a>(mut scalars: impl Iterator<Item = &'a ScoredScalar>) -> Reads {
    match scalars.any(|scalar| scalar.devices.is_some()) {
        // Slices select nodes by their labels.
        true => Reads::parts(NodeParts::ALLOCATABLE.with(NodeParts::LABELS)).and_load(),
        false => Reads::parts(NodeParts::ALLOCATABLE).and_load(),
    }
}

pub(super) fn refresh<'a>(
    scalars: impl Iterator<Item = &'a ScoredScalar>,
    changes: Changes<'_>,
    cluster: &Cluster,
) -> Refresh {
    let mut refresh = Refresh::Nodes;
    for scalar in scalars.filter(|scalar| may_be_devices(&scalar.name)) {
        let has_changed = |kind: Kind| {
            changes.iter().any(|change| matches!(change, Change::Object(own) if *own == kind))
        };
        let units_a_node = scalar.counting.units_a_node(cluster);
        let is_other_share =
            scalar.devices.as_ref().is_some_and(|devices| devices.units_a_node != units_a_node);
        if is_other_share || has_changed(Kind::DeviceClass) {
            return Refresh::Again;
        }
        let has_changed = has_changed(Kind::ResourceSlice) || has_changed(Kind::ResourceClaim);
        if has_changed && scalar.devices.is_some() {
            refresh = Refresh::All;
        }
    }
    refresh
}
