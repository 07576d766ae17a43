//! A scalar resource that a score reads: how much of it a node has, and how much of that is held.
//!
//! Specification: where no device plugin offers an extended resource on a node, the devices of the class
//! that stands behind it count (`DRAExtendedResource`).

use std::sync::{Arc, OnceLock};

use crate::heap::HeapBytes;
use crate::intern::Name;
use crate::model::Kind;
use crate::release::{Followed, Gate};
use crate::snapshot::device_groups::Groups;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView};

use super::decision_work::units_of_devices;
use super::devices::Work;
use super::devices::extended::{class_behind, may_be_devices};
use super::devices::totals::{self, Totals};
use super::dynamic_resources::{DevicePolicy, looked_at_by_count};
use super::{Reads, Refresh};

const KINDS: &[Kind] = &[Kind::DeviceClass, Kind::ResourceSlice, Kind::ResourceClaim];

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
    pub(super) fn concerns<'a>(self, mut resources: impl Iterator<Item = &'a str>) -> bool {
        self.followed.has(Gate::DRAExtendedResource) && resources.any(may_be_devices)
    }

    /// Kinds that must be watched for a score of these resources.
    pub(super) fn kinds<'a>(self, resources: impl Iterator<Item = &'a str>) -> &'static [Kind] {
        match self.concerns(resources) {
            true => KINDS,
            false => &[],
        }
    }

    /// The filter that looks for devices, and each of the scores, may take as much.
    fn share(self, searches: usize) -> u64 {
        units_of_devices(searches) / (1 + self.scores)
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
    /// `None`: each node is counted.
    groups: Option<Arc<Groups>>,
    /// By group of nodes that are alike, as far as it is known.
    known: Box<[OnceLock<Option<Totals>>]>,
    /// How often it is counted at most, as far as there are nodes.
    searches: usize,
    /// What counting may take on the node of a group, and on a node by itself.
    units: u64,
    units_a_node: u64,
}

impl ScoredScalar {
    pub(super) fn new(name: &Name, counting: Counting, cluster: &Cluster) -> Self {
        let class = class_behind(name, cluster, counting.followed);
        let devices = class.map(|class| Devices::of_class(class, counting, cluster));
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
        self.devices
            .as_ref()
            .map_or(0, |devices| devices.class.heap_bytes() + size_of_val(&*devices.known))
    }
}

impl Devices {
    fn of_class(class: &str, counting: Counting, cluster: &Cluster) -> Self {
        let nodes = cluster.nodes().len();
        let groups = cluster.objects().device_groups(&looked_at_by_count(class, cluster));
        let count = groups.as_ref().map_or(0, |groups| groups.numbers);
        let searches = groups.as_ref().map_or(usize::MAX, |groups| groups.groups + groups.alone);
        Self {
            class: class.into(),
            known: (0..count).map(|_| OnceLock::new()).collect(),
            groups,
            searches,
            units: counting.share(searches.min(nodes)),
            units_a_node: counting.share(nodes),
        }
    }

    /// Nothing where they cannot be counted, as in kube-scheduler, or not with the units that there are.
    fn of(&self, cluster: &Cluster, node: NodeView<'_>) -> (i64, i64) {
        let totals = match self.known(cluster, node) {
            Some(known) => {
                let totals = *known.get_or_init(|| self.counted(cluster, node, self.units));
                debug_assert_eq!(totals, self.count(cluster, node, &mut Work::of(self.units)));
                totals
            }
            None => self.counted(cluster, node, self.units_a_node),
        };
        totals.map_or((0, 0), |totals| (totals.all, totals.held))
    }

    /// Where slices of earlier generations are still there, nodes that are alike for claims may differ.
    fn known(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<&OnceLock<Option<Totals>>> {
        let groups = self.groups.as_ref()?;
        let name = &node.node.name;
        let group = cluster.objects().device_group(groups, name)?;
        let are_current = cluster.objects().device_slices.are_current(name);
        self.known.get(group).filter(|_| are_current)
    }

    fn count(&self, cluster: &Cluster, node: NodeView<'_>, work: &mut Work) -> Option<Totals> {
        totals::of_class(&self.class, cluster, node, work)
    }

    /// What that takes is noted.
    fn counted(&self, cluster: &Cluster, node: NodeView<'_>, units: u64) -> Option<Totals> {
        let mut work = Work::of(units);
        let totals = self.count(cluster, node, &mut work);
        cluster.objects().add_units_of_devices(units - work.left());
        totals
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
    let has_changed = |kinds: &[Kind]| {
        changes.iter().any(|change| matches!(change, Change::Object(own) if kinds.contains(own)))
    };
    let nodes = cluster.nodes().len();
    let is_outdated = |scalar: &ScoredScalar| match &scalar.devices {
        Some(devices) => {
            let shares =
                [devices.searches.min(nodes), nodes].map(|nodes| scalar.counting.share(nodes));
            shares != [devices.units, devices.units_a_node] || has_changed(KINDS)
        }
        None => has_changed(&[Kind::DeviceClass]),
    };
    let mut scalars = scalars.filter(|scalar| may_be_devices(&scalar.name));
    if scalars.any(is_outdated) { Refresh::Again } else { Refresh::Nodes }
}
