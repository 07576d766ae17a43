//! The volumes that an unbound claim can use.
//!
//! Specification: a volume bound to the claim beforehand is taken or nothing is; otherwise the
//! smallest one that is available and has class, mode, access modes, labels and attributes class as
//! the claim asks. Which of equally small ones is not laid down: here the first by name.

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::model::{PersistentVolume, PersistentVolumeClaim, SelectorOperator};
use crate::rules::label_classes::LabelKeys;
use crate::rules::volume_claims as claims;
use crate::snapshot::{Cluster, Node};

use super::bound::{add_label_keys, is_reachable};
use super::label_index::LabelIndex;

const AVAILABLE: &str = "Available";

#[derive(Debug, Clone)]
pub(super) struct Candidates {
    pub(crate) claim: Arc<PersistentVolumeClaim>,
    /// Bound to this claim beforehand, in order of names.
    own: Vec<Arc<PersistentVolume>>,
    /// Smallest first.
    free: Vec<Arc<PersistentVolume>>,
    by_label: LabelIndex,
}

impl Candidates {
    pub(super) fn of(claim: &Arc<PersistentVolumeClaim>, cluster: &Cluster) -> Self {
        let is_fit = |volume: &&Arc<PersistentVolume>| has_form(volume, claim);
        let volumes = cluster.objects().volumes.iter().filter(is_fit);
        let (own, others): (Vec<_>, Vec<_>) =
            volumes.cloned().partition(|volume| is_bound_to(volume, claim));
        let is_free = |volume: &Arc<PersistentVolume>| is_free_for(volume, claim);
        let mut free: Vec<Arc<PersistentVolume>> = others.into_iter().filter(is_free).collect();
        // The sort is stable, and the store is in order of names.
        free.sort_by_key(|volume| volume.capacity);
        let by_label = LabelIndex::of(free.iter().map(|volume| {
            match volume.node_affinity.as_ref().map(|required| &*required.terms) {
                Some([only]) => &*only.match_expressions,
                _ => &[],
            }
        }));
        Self { claim: Arc::clone(claim), own, free, by_label }
    }

    /// The volume that the claim takes on a node, given what other claims of the pod took.
    pub(super) fn find(
        &self,
        node: &Node,
        taken: &[&Arc<PersistentVolume>],
    ) -> Option<&Arc<PersistentVolume>> {
        let is_left = |volume: &Arc<PersistentVolume>| {
            !taken.iter().any(|other| other.meta.name == volume.meta.name)
        };
        let is_reached =
            |volume: &Arc<PersistentVolume>| is_reachable(volume.node_affinity.as_ref(), node);
        if let Some(own) = self.own.iter().find(|volume| is_left(volume)) {
            return Some(own).filter(|own| is_reached(own));
        }
        let found = self.by_label.find(&node.object.meta.labels, |position| {
            self.free.get(position).is_some_and(|volume| is_left(volume) && is_reached(volume))
        });
        self.free.get(found?)
    }

    /// Adds the labels of nodes that decide which volume is found.
    pub(super) fn label_keys<'a>(&'a self, keys: &mut LabelKeys<'a>) {
        for volume in self.own.iter().chain(&self.free) {
            add_label_keys(volume.node_affinity.as_ref(), keys);
        }
    }

    /// A selector that cannot be read fails the whole attempt.
    pub(super) fn has_bad_selector(&self) -> bool {
        let requirements = self.claim.selector.iter().flat_map(|selector| &selector.requirements);
        requirements.into_iter().any(|each| each.operator == SelectorOperator::Invalid)
    }
}

/// Whether the volume was bound to the claim, by its user or by us.
pub(super) fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.claim.as_ref().is_some_and(|(namespace, name, uid)| {
        *name == claim.meta.name
            && *namespace == claim.meta.namespace
            && (uid.is_empty() || *uid == claim.meta.uid)
    })
}

/// What is asked also of a volume bound beforehand.
fn has_form(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    *volume.storage_class == *claims::class_of(claim)
        && volume.capacity >= claim.requested
        && volume.volume_mode == claim.volume_mode
        && *volume.attributes_class == *claim.attributes_class.as_deref().unwrap_or_default()
        && volume.meta.deletion_seconds.is_none()
}

fn is_free_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.claim.is_none()
        && *volume.phase == *AVAILABLE
        && claim.selector.as_ref().is_none_or(|selector| selector.matches(&volume.meta.labels))
        && claim.access_modes.iter().all(|mode| volume.access_modes.contains(mode))
}

impl HeapBytes for Candidates {
    fn heap_bytes(&self) -> usize {
        let listed = self.own.capacity() + self.free.capacity();
        listed * size_of::<Arc<PersistentVolume>>() + self.by_label.heap_bytes()
    }
}
