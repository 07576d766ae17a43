//! The filter: needs computed once for a pod, then each node judged.

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::model::Kind;
use crate::part::{Part, Parts};
use crate::rules::volume_claims as claims;
use crate::rules::{
    Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Reservation, Stage, Status,
};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::needs::{Needs, rests_on};
use super::{VolumeBinding, hints};

/// What filter and score read.
pub(super) const KINDS: &[Kind] = &[
    Kind::PersistentVolumeClaim,
    Kind::PersistentVolume,
    Kind::StorageClass,
    Kind::CsiNode,
    Kind::CsiDriver,
    Kind::CsiStorageCapacity,
];

/// Puts into a key all that needs depend on besides the cluster.
pub(super) fn key_of(pod: &Pod, key: &mut Key) {
    if claims::all(pod).next().is_some() {
        claims::key_of_all(pod, key);
    }
}

#[derive(Debug, Clone)]
struct PreparedVolumeBinding {
    needs: Result<Needs, Status>,
}

impl Filter for VolumeBinding {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key_of(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        claims::all(pod).next()?;
        Some(Box::new(PreparedVolumeBinding { needs: Needs::of(pod, cluster) }))
    }

    fn events(&self) -> Events {
        hints::events()
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels])
    }

    /// Storage that shrinks or is deleted does not help any pod.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::ObjectDelete(Kind::CsiStorageCapacity)])
    }

    /// Hints look at some changes of the objects that are read only.
    fn narrow_events(&self) -> Events {
        Events::of(&[
            Event::ObjectUpdate(Kind::StorageClass),
            Event::ObjectUpdate(Kind::CsiNode),
            Event::ObjectUpdate(Kind::CsiDriver),
            Event::ObjectUpdate(Kind::CsiStorageCapacity),
        ])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        hints::wakes(pod, occurrence)
    }

    fn kinds(&self) -> &[Kind] {
        KINDS
    }

    fn reserve(&self, pod: &Pod, cluster: &Cluster, node: NodeView<'_>) -> Option<Reservation> {
        self.reservation(pod, cluster, node)
    }
}

impl PreparedFilter for PreparedVolumeBinding {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let is_stale = |change: &Change| matches!(change, Change::Object(kind) if rests_on(&self.needs, *kind));
        if changes.iter().any(is_stale) { Refresh::Again } else { Refresh::Nodes }
    }

    fn stage(&self) -> Stage<'_> {
        match &self.needs {
            Ok(_) => Stage::Check,
            Err(status) => Stage::Reject(status),
        }
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        match &self.needs {
            Ok(needs) => needs.judge(cluster, node, |_| {}),
            Err(_) => Code::PASS,
        }
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        match &self.needs {
            Ok(needs) => needs.judge_all(cluster, codes),
            Err(_) => codes.fill(Code::PASS),
        }
    }

    /// Volumes that cannot be translated, and selectors that cannot be read.
    fn can_fail(&self) -> bool {
        true
    }

    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        match &self.needs {
            Ok(needs) => needs.describe(cluster, node, code),
            Err(status) => status.clone(),
        }
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.needs.heap_bytes())
    }
}
