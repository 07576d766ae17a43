//! Whether a volume for a claim can be made on a node.
//!
//! Specification: the class names a provisioner and its allowed topologies, of which one must
//! match; where the driver reports capacities, one that the node can reach must be large enough.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::model::storage::TopologyTerm;
use crate::model::{CsiStorageCapacity, Labels, PersistentVolumeClaim, Quantity, StorageClass};
use crate::rules::label_classes::LabelKeys;
use crate::rules::volume_claims as claims;
use crate::snapshot::{Cluster, Node};

use super::label_index::LabelIndex;

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

#[derive(Debug, Clone)]
pub(super) struct Provisioning {
    pub(crate) claim: Arc<PersistentVolumeClaim>,
    /// `None` where the class cannot provision.
    class: Option<Arc<StorageClass>>,
    /// `None` where capacities do not count.
    capacities: Option<Capacities>,
}

/// Capacities that are large enough.
#[derive(Debug, Clone)]
struct Capacities {
    sufficient: Vec<Arc<CsiStorageCapacity>>,
    by_label: LabelIndex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provisioned {
    Possible,
    NotHere,
    NoRoom,
}

impl Provisioning {
    pub(super) fn of(claim: &Arc<PersistentVolumeClaim>, cluster: &Cluster) -> Self {
        let class = cluster.objects().classes.get("", claims::class_of(claim));
        let class = class
            .filter(|class| !class.provisioner.is_empty() && *class.provisioner != *NO_PROVISIONER);
        let capacities = class.and_then(|class| Capacities::of(claim, class, cluster));
        Self { claim: Arc::clone(claim), class: class.cloned(), capacities }
    }

    pub(super) fn reads_capacities(&self) -> bool {
        self.capacities.is_some()
    }

    /// The class, and how many bytes the storage has that the volume would be made from on the node,
    /// where that is known.
    pub(super) fn storage_on(&self, node: &Node) -> Option<(&str, i64)> {
        let capacity = self.capacities.as_ref()?.found(&node.object.meta.labels)?.capacity?;
        Some((claims::class_of(&self.claim), capacity.units_rounded_up()))
    }

    /// Adds the labels of nodes that decide whether a volume can be made there.
    pub(super) fn label_keys<'a>(&'a self, keys: &mut LabelKeys<'a>) {
        let terms = self.class.iter().flat_map(|class| class.allowed_topologies.iter());
        keys.extend(terms.flat_map(|term| term.iter().map(|(key, _)| &**key)));
        let sufficient = self.capacities.iter().flat_map(|capacities| &capacities.sufficient);
        let topologies = sufficient.filter_map(|capacity| capacity.node_topology.as_ref());
        let requirements = topologies.flat_map(|topology| topology.requirements.iter());
        keys.extend(requirements.map(|requirement| &*requirement.key));
    }

    pub(super) fn on(&self, node: &Node) -> Provisioned {
        let labels = &node.object.meta.labels;
        let is_allowed = |class: &Arc<StorageClass>| allows(&class.allowed_topologies, labels);
        if !self.class.as_ref().is_some_and(is_allowed) {
            Provisioned::NotHere
        } else if self.capacities.as_ref().is_none_or(|own| own.found(labels).is_some()) {
            Provisioned::Possible
        } else {
            Provisioned::NoRoom
        }
    }
}

impl Capacities {
    /// The capacities that bound provisioning. The API counts them only for drivers whose
    /// `CSIDriver` sets `storageCapacity`.
    fn of(claim: &PersistentVolumeClaim, class: &StorageClass, cluster: &Cluster) -> Option<Self> {
        let driver = cluster.objects().csi_drivers.get("", &class.provisioner)?;
        // The API refuses a claim for nothing, so 0 is a claim that does not say how much.
        if !driver.storage_capacity || claim.requested == Quantity::ZERO {
            return None;
        }
        let bytes = claim.requested.units_rounded_up();
        let is_sufficient = |capacity: &&Arc<CsiStorageCapacity>| {
            capacity.storage_class == class.meta.name
                && capacity.node_topology.is_some()
                && limit_bytes(capacity).is_some_and(|limit| limit >= bytes)
        };
        let all = cluster.objects().csi_capacities.iter();
        let sufficient: Vec<Arc<CsiStorageCapacity>> = all.filter(is_sufficient).cloned().collect();
        let by_label = LabelIndex::of(sufficient.iter().map(|capacity| {
            capacity.node_topology.as_ref().map_or(&[][..], |topology| &topology.requirements)
        }));
        Some(Self { sufficient, by_label })
    }

    /// The first by name that the node can reach; kube-scheduler takes any.
    fn found(&self, labels: &Labels) -> Option<&Arc<CsiStorageCapacity>> {
        let is_reached = |position: usize| {
            let capacity = self.sufficient.get(position);
            let topology = capacity.and_then(|capacity| capacity.node_topology.as_ref());
            topology.is_some_and(|topology| topology.matches(labels))
        };
        self.sufficient.get(self.by_label.find(labels, is_reached)?)
    }
}

/// How large a volume may be: the largest size if it is reported, otherwise the capacity.
pub(super) fn limit_bytes(capacity: &CsiStorageCapacity) -> Option<i64> {
    capacity.maximum_volume_size.or(capacity.capacity).map(Quantity::units_rounded_up)
}

/// The API says of `allowedTopologies` that an empty list allows every node; an empty term allows
/// none.
fn allows(terms: &[TopologyTerm], labels: &Labels) -> bool {
    let has = |(key, values): &(Box<str>, Box<[Box<str>]>)| {
        labels.get(key).is_some_and(|value| values.iter().any(|allowed| **allowed == *value))
    };
    terms.is_empty() || terms.iter().any(|term| !term.is_empty() && term.iter().all(has))
}

impl HeapBytes for Capacities {
    fn heap_bytes(&self) -> usize {
        let listed = self.sufficient.capacity() * size_of::<Arc<CsiStorageCapacity>>();
        listed + self.by_label.heap_bytes()
    }
}

impl HeapBytes for Provisioning {
    fn heap_bytes(&self) -> usize {
        self.capacities.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{allows, limit_bytes};
    use crate::model::storage::TopologyTerm;
    use crate::model::{CsiStorageCapacity, Labels, Quantity};

    #[test]
    fn one_term_of_the_allowed_topologies_is_enough() {
        let labels: Labels = [("zone", "a"), ("rack", "r")].into_iter().collect();
        let term = |keys: &[(&str, &[&str])]| -> TopologyTerm {
            let values = |values: &[&str]| values.iter().map(|value| (*value).into()).collect();
            keys.iter().map(|(key, own)| ((*key).into(), values(own))).collect()
        };
        assert!(allows(&[], &labels));
        assert!(!allows(&[term(&[])], &labels));
        assert!(allows(&[term(&[]), term(&[("zone", &["b", "a"])])], &labels));
        assert!(!allows(&[term(&[("zone", &["a"]), ("rack", &["s"])])], &labels));
        assert!(!allows(&[term(&[("zone", &[])])], &labels));
    }

    #[test]
    fn the_largest_size_counts_before_the_capacity() {
        let capacity = |total: Option<i64>, largest: Option<i64>| CsiStorageCapacity {
            capacity: total.map(Quantity::from_units),
            maximum_volume_size: largest.map(Quantity::from_units),
            ..CsiStorageCapacity::default()
        };
        assert_eq!(limit_bytes(&capacity(Some(10), Some(3))), Some(3));
        assert_eq!(limit_bytes(&capacity(Some(10), None)), Some(10));
        assert_eq!(limit_bytes(&capacity(None, None)), None);
    }
}
