//! `VolumeRestrictions`: disks that cannot be mounted twice, and claims that one pod may use alone.
//!
//! Specification: a GCE disk, an iSCSI target or an RBD image may be shared on a node only
//! read-only, an EBS volume not at all; a claim with `ReadWriteOncePod` is used by one pod of the
//! whole cluster. Reads: inline volumes of pods on the node, claims, and which pods anywhere use
//! them.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::heap::{HeapBytes, arc_bytes};
use crate::intern::Name;
use crate::model::{Kind, Volume, VolumeSource};
use crate::part::{Part, Parts};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::disks::{OwnDisks, is_disk};
use super::volume_claims as claims;
use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Stage, Status};

pub(crate) const NAME: &str = "VolumeRestrictions";

const REASON_DISK: &str = "node(s) had no available disk";
const REASON_EXCLUSIVE: &str = "node(s) unavailable due to PersistentVolumeClaim with \
                                ReadWriteOncePod access mode already in-use by another pod";

const DISK: Code = Code::reject(1);
const EXCLUSIVE: Code = Code::reject(2);
const ONE_POD_ONLY: &str = "ReadWriteOncePod";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct VolumeRestrictions;

#[derive(Debug, Clone)]
struct PreparedVolumeRestrictions {
    disks: Arc<OwnDisks>,
    namespace: Name,
    missing: Option<Status>,
    exclusive: Vec<Exclusive>,
    /// How many claims of `exclusive` hypothetical pods use. kube-scheduler compares only the
    /// claim's name for these pods, not their namespace.
    hypothetical: i64,
}

/// A claim that only one pod may use.
#[derive(Debug, Clone)]
struct Exclusive {
    claim: Box<str>,
    /// Volumes of pods on nodes that name it.
    users: i64,
}

impl Filter for VolumeRestrictions {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if is_concerned(pod) {
            claims::key_by_name(pod, key);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        if !is_concerned(pod) {
            return None;
        }
        let (exclusive, missing) = match exclusive_claims(pod, cluster) {
            Ok(exclusive) => (exclusive, None),
            Err(status) => (Vec::new(), Some(status)),
        };
        let mut prepared = PreparedVolumeRestrictions {
            disks: Arc::new(OwnDisks::of(&pod.template.volumes)),
            namespace: pod.namespace().clone(),
            missing,
            exclusive,
            hypothetical: 0,
        };
        if !prepared.exclusive.is_empty() {
            let loads = cluster.nodes().iter().filter(|view| view.load.pods_with_volumes > 0);
            loads.flat_map(|view| &view.load.pods).for_each(|pod| prepared.count(pod, 1));
        }
        Some(Box::new(prepared))
    }

    /// kube-scheduler tries a rule at every change of taints if the rule registers new nodes
    /// without their taints.
    fn events(&self) -> Events {
        Events::of(&[
            Event::PodDelete,
            Event::NodeAdd,
            Event::NodeTaint,
            Event::ObjectAdd(Kind::PersistentVolumeClaim),
        ])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::Load, Part::OtherPods])
    }

    /// A disk is in use until a pod leaves, and a claim that is gone cannot be used.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[
            Event::PodAdd,
            Event::PodLabel,
            Event::PodScaleDown,
            Event::ObjectDelete(Kind::PersistentVolumeClaim),
        ])
    }

    /// The hint looks only at pods of the pod's own namespace, and not at a node that takes its pods
    /// along.
    fn narrow_events(&self) -> Events {
        Events::of(&[Event::PodDelete, Event::NodeDelete])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match occurrence {
            Occurrence::Node { .. } => true,
            Occurrence::Pod { old: Some(gone), .. } => {
                gone.namespace() == pod.namespace()
                    && (disks_conflict(pod, gone)
                        || claims::by_name(gone)
                            .any(|name| claims::by_name(pod).any(|own| own == name)))
            }
            Occurrence::Object(replaced) => claims::changed_claim(replaced)
                .is_some_and(|claim| claims::names_directly(pod, claim)),
            Occurrence::Pod { old: None, .. } | Occurrence::Time { .. } => false,
        }
    }

    fn wakes_more(&self, pod: &Pod, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        match occurrence {
            Occurrence::Pod { old: Some(gone), .. } => disks_conflict(pod, gone),
            _ => self.passes_somewhere(pod, cluster),
        }
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::PersistentVolumeClaim]
    }
}

fn is_concerned(pod: &Pod) -> bool {
    let is_read =
        |volume: &Volume| is_disk(volume) || matches!(volume.source, VolumeSource::Claim { .. });
    pod.template.volumes.iter().any(is_read)
}

/// The pod's claims that only one pod may use, each once; or that one of its claims is missing.
fn exclusive_claims(pod: &Pod, cluster: &Cluster) -> Result<Vec<Exclusive>, Status> {
    let mut exclusive: Vec<Exclusive> = Vec::new();
    for name in claims::by_name(pod) {
        let Some(claim) = claims::find(cluster, pod.namespace(), name) else {
            return Err(Status::unresolvable(claims::not_found(Kind::PersistentVolumeClaim, name)));
        };
        let is_exclusive = claim.access_modes.iter().any(|mode| **mode == *ONE_POD_ONLY);
        if is_exclusive && exclusive.iter().all(|have| *have.claim != *name) {
            exclusive.push(Exclusive { claim: name.into(), users: 0 });
        }
    }
    Ok(exclusive)
}

impl PreparedVolumeRestrictions {
    fn count(&mut self, pod: &Pod, sign: i64) {
        if pod.namespace() != &self.namespace {
            return;
        }
        for name in claims::by_name(pod) {
            if let Some(own) = self.exclusive.iter_mut().find(|own| *own.claim == *name) {
                own.users += sign;
            }
        }
    }

    fn argue(&mut self, pod: &Pod, sign: i64) {
        let is_own = |name: &&str| self.exclusive.iter().any(|own| *own.claim == **name);
        let volumes = claims::by_name(pod).filter(is_own).fold(0, |count, _| count + 1);
        self.hypothetical += sign * volumes;
    }

    /// kube-scheduler counts each claim in use once, however many pods use it.
    fn is_used_elsewhere(&self) -> bool {
        let used = self.exclusive.iter().map(|own| i64::from(own.users > 0));
        used.sum::<i64>() + self.hypothetical > 0
    }
}

impl PreparedFilter for PreparedVolumeRestrictions {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE).and_load()
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let was_used = self.is_used_elsewhere();
        for change in changes.iter() {
            match change {
                Change::Object(Kind::PersistentVolumeClaim) => return Refresh::Again,
                Change::PodPut(_, pod) => self.count(pod, 1),
                Change::PodTaken(_, pod) => self.count(pod, -1),
                Change::Object(_) | Change::Node(..) | Change::Time(..) => {}
            }
        }
        if was_used == self.is_used_elsewhere() { Refresh::Nodes } else { Refresh::All }
    }

    fn stage(&self) -> Stage<'_> {
        match &self.missing {
            Some(status) => Stage::Reject(status),
            None if !self.disks.is_empty() || self.is_used_elsewhere() => Stage::Check,
            None => Stage::Skip,
        }
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        let mut others = node.load.pods.iter();
        if !self.disks.is_empty()
            && node.load.pods_with_volumes > 0
            && others.any(|other| self.disks.collide_with(&other.template.volumes))
        {
            DISK
        } else if self.is_used_elsewhere() {
            EXCLUSIVE
        } else {
            Code::PASS
        }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        Status::unschedulable(if code == DISK { REASON_DISK } else { REASON_EXCLUSIVE })
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, _: &Cluster, _: NodeView<'_>) {
        self.argue(pod, 1);
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, _: &Cluster, _: NodeView<'_>) {
        self.argue(pod, -1);
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(
            size_of_val(self)
                + arc_bytes(&self.disks)
                + self.missing.heap_bytes()
                + self.exclusive.heap_bytes(),
        )
    }
}

fn disks_conflict(pod: &Pod, other: &Pod) -> bool {
    other.template.volumes.iter().any(is_disk)
        && OwnDisks::of(&pod.template.volumes).collide_with(&other.template.volumes)
}

impl HeapBytes for Exclusive {
    fn heap_bytes(&self) -> usize {
        self.claim.heap_bytes()
    }
}
