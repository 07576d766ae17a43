//! The score: how full the storage would be that a pod's claims take or are provisioned from.
//!
//! Specification: what is asked for as a share of what there is, by storage class, as a score by a
//! shape; the rounded mean over the classes. Where the pod takes volumes that are there, only those
//! count; otherwise the capacities that drivers report. Without either a node gets 0, and pods
//! without claims get 0 everywhere.

use std::collections::BTreeMap;

use crate::heap::HeapBytes;
use crate::model::Kind;
use crate::rules::resource_scoring::on_shape;
use crate::rules::volume_claims as claims;
use crate::rules::{HeldBytes, Key, PreparedScore, Reads, Refresh, Score, Status};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::decide::Step;
use super::filter::{KINDS, key_of};
use super::needs::{Needs, rests_on};

#[derive(Debug)]
pub(crate) struct VolumeCapacity {
    /// Points of (utilization 0–100, score 0–100), utilization rising.
    pub(super) shape: Box<[(i64, i64)]>,
}

#[derive(Debug)]
struct PreparedVolumeCapacity {
    shape: Box<[(i64, i64)]>,
    /// `None` for a pod without claims.
    needs: Option<Result<Needs, Status>>,
}

/// Bytes of one storage class.
#[derive(Debug, Clone, Copy, Default)]
struct Storage {
    asked: i64,
    has: i64,
}

impl Score for VolumeCapacity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key_of(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let needs = claims::all(pod).next().map(|_| Needs::of(pod, cluster));
        Some(Box::new(PreparedVolumeCapacity { shape: self.shape.clone(), needs }))
    }

    fn kinds(&self) -> &[Kind] {
        KINDS
    }
}

impl PreparedVolumeCapacity {
    /// Of a pod that a node can have; a pod whose needs cannot be met is never scored.
    fn needs(&self) -> Option<&Needs> {
        self.needs.as_ref()?.as_ref().ok()
    }

    fn score(&self, needs: &Needs, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let mut taken: BTreeMap<Box<str>, Storage> = BTreeMap::new();
        let mut made: BTreeMap<Box<str>, Storage> = BTreeMap::new();
        needs.judge(cluster, node, |step| match step {
            Step::Bind(binding) => {
                let storage = taken.entry(binding.volume.storage_class.clone()).or_default();
                storage.add(binding.claim.requested.units_rounded_up());
                storage.has =
                    storage.has.saturating_add(binding.volume.capacity.units_rounded_up());
            }
            Step::Provision(provisioning) => {
                let Some((class, has)) = provisioning.storage_on(node.node) else { return };
                let storage = made.entry(class.into()).or_default();
                storage.add(provisioning.claim.requested.units_rounded_up());
                // All claims of the class are made from the same storage.
                storage.has = has;
            }
        });
        let classes = if taken.is_empty() { made } else { taken };
        mean(classes.values().map(|storage| on_shape(&self.shape, storage.utilization())))
    }
}

impl Storage {
    fn add(&mut self, asked: i64) {
        self.asked = self.asked.saturating_add(asked);
    }

    /// 0–100.
    fn utilization(self) -> i64 {
        if self.has == 0 || self.asked > self.has {
            return 100;
        }
        i64::try_from(i128::from(self.asked) * 100 / i128::from(self.has)).unwrap_or(100)
    }
}

/// Rounded half away from zero; 0 of nothing.
#[allow(clippy::cast_precision_loss)] // 0 to 100, of at most a few classes
fn mean(scores: impl Iterator<Item = i64>) -> f64 {
    let (sum, count) = scores.fold((0_i64, 0_i64), |(sum, count), score| (sum + score, count + 1));
    if count == 0 { 0.0 } else { (sum as f64 / count as f64).round() }
}

impl PreparedScore for PreparedVolumeCapacity {
    fn reads(&self) -> Reads {
        let parts = if self.needs.is_some() { NodeParts::LABELS } else { NodeParts::NONE };
        Reads::parts(parts)
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let Some(needs) = &self.needs else { return Refresh::Nodes };
        let is_stale =
            |change: &Change| matches!(change, Change::Object(kind) if rests_on(needs, *kind));
        if changes.iter().any(is_stale) { Refresh::Again } else { Refresh::Nodes }
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        self.needs().map_or(0.0, |needs| self.score(needs, cluster, node))
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        match self.needs() {
            Some(needs) => {
                let classes = needs.classes(cluster);
                classes.score_all(cluster, raw, |view| self.score(needs, cluster, view));
            }
            None => raw.fill(0.0),
        }
    }

    fn held_bytes(&self) -> HeldBytes {
        let needs = self.needs.as_ref().map_or(0, HeapBytes::heap_bytes);
        HeldBytes::Fixed(size_of_val(self) + size_of_val(&*self.shape) + needs)
    }
}

#[cfg(test)]
mod tests {
    use super::{Storage, mean};

    #[test]
    fn storage_that_would_overflow_is_full() {
        let used = |asked, has| Storage { asked, has }.utilization();
        assert_eq!([used(50, 100), used(1, 3), used(0, 5)], [50, 33, 0]);
        assert_eq!([used(101, 100), used(5, 0), used(i64::MAX, i64::MAX)], [100, 100, 100]);
    }

    #[test]
    fn the_mean_is_rounded_half_away_from_zero() {
        let same = |left: f64, right: f64| (left - right).abs() < f64::EPSILON;
        assert!(same(mean([3, 4].into_iter()), 4.0));
        assert!(same(mean([1, 1, 2].into_iter()), 1.0));
        assert!(same(mean([].into_iter()), 0.0));
    }
}
