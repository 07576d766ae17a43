//! `NodeVolumeLimits`: the limits that CSI drivers report for a node.
//!
//! Specification: a limit is `allocatable.count` of the driver in the node's `CSINode`; without one
//! there is none. From 1.37 on, a driver may ask for nodes without it to be rejected. A volume counts
//! once, however many pods and attachments name it; one that pods on
//! the node use already is free. Reads: pods on the node, claims, volumes, classes, attachments and
//! `CSINode`s.

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::model::{CsiNode, Kind, Object, VolumeSource};
use crate::part::{Part, Parts};
use crate::release::{Followed, Gate, Portworx};
use crate::rules::volume_claims as claims;
use crate::rules::volume_migration as migration;
use crate::rules::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Status};
use crate::snapshot::objects::Replaced;
use crate::snapshot::{Change, Changes, Cluster, Load, NodeParts, NodeView, Pod};

use super::REASON;
use super::attachable::{self, Attachable, Migrated, Whose};
use super::attachments;

pub(crate) const NAME: &str = "NodeVolumeLimits";

const EXCEEDED: Code = Code::reject(1);
/// A driver that must be there is not.
const MISSING: Code = Code::reject(2);
/// Those of a pod on the node cannot be counted.
const OTHER: Code = Code::fail(3);
/// The pod's own volumes cannot be counted on nodes with so much migrated; from here on, by
/// [`Migrated`].
const OWN: u16 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeVolumeLimits {
    portworx: Portworx,
    /// Whether a driver can ask for nodes without it to be rejected.
    asks_for_drivers: bool,
}

pub(crate) fn of(followed: Followed) -> NodeVolumeLimits {
    let asks_for_drivers = followed.has(Gate::VolumeLimitScaling);
    NodeVolumeLimits { portworx: followed.traits().portworx, asks_for_drivers }
}

type Wanted = Result<Vec<Attachable<'static>>, Status>;

#[derive(Debug, Clone)]
struct PreparedCsiLimits {
    rule: NodeVolumeLimits,
    /// By [`Migrated`]. Where a node has no `CSINode`, nothing is limited, but a claim can be missing
    /// all the same.
    wanted: [Wanted; Migrated::EACH.len()],
}

impl Filter for NodeVolumeLimits {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if pod.template.volumes.iter().any(attachable::may_count) {
            claims::key_of_all(pod, key);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        if !pod.template.volumes.iter().any(attachable::may_count) {
            return None;
        }
        let wanted = Migrated::EACH.map(|migrated| -> Wanted {
            attachable::of_pod(pod, cluster, migrated, Whose::New)
                .map(|found| found.into_iter().map(Attachable::into_owned).collect())
        });
        Some(Box::new(PreparedCsiLimits { rule: *self, wanted }))
    }

    fn events(&self) -> Events {
        Events::of(&[
            Event::ObjectAdd(Kind::CsiNode),
            Event::ObjectUpdate(Kind::CsiNode),
            Event::PodDelete,
            Event::ObjectAdd(Kind::PersistentVolumeClaim),
            Event::ObjectDelete(Kind::VolumeAttachment),
        ])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::Load])
    }

    /// Only a pod that leaves gives an attachment back.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::PodAdd, Event::PodLabel, Event::PodScaleDown])
    }

    /// Hints look at some changes of the objects that are read only.
    fn narrow_events(&self) -> Events {
        Events::of_objects(self.kinds())
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match occurrence {
            Occurrence::Pod { old: Some(gone), is_assigned: true, .. } => {
                gone.template.volumes.iter().any(attachable::may_count)
            }
            Occurrence::Object(replaced) => object_wakes(pod, replaced),
            Occurrence::Pod { .. } | Occurrence::Node { .. } | Occurrence::Time { .. } => false,
        }
    }

    fn kinds(&self) -> &[Kind] {
        match (self.asks_for_drivers, &KINDS) {
            (true, kinds) => kinds,
            (false, [kinds @ .., _]) => kinds,
        }
    }
}

/// What is read; drivers last, which are read only where they can ask for something.
static KINDS: [Kind; 6] = [
    Kind::PersistentVolumeClaim,
    Kind::PersistentVolume,
    Kind::StorageClass,
    Kind::CsiNode,
    Kind::VolumeAttachment,
    Kind::CsiDriver,
];

fn object_wakes(pod: &Pod, replaced: &Replaced) -> bool {
    match (&replaced.old, &replaced.new) {
        (None, Some(Object::CsiNode(_))) => true,
        (Some(Object::CsiNode(old)), Some(Object::CsiNode(new))) => has_risen(old, new),
        (_, Some(Object::PersistentVolumeClaim(claim))) => claims::names(pod, claim),
        (Some(Object::VolumeAttachment(gone)), None) => {
            let may_be_ours = |source: &VolumeSource| match source {
                VolumeSource::Claim { .. } => true,
                // One that cannot be translated may be anything.
                _ => migration::plugin_of(source).is_some_and(|plugin| {
                    plugin.driver == &*gone.attacher || migration::inline_handle(source).is_err()
                }),
            };
            pod.template.volumes.iter().any(|volume| may_be_ours(&volume.source))
        }
        _ => false,
    }
}

/// Whether a driver's limit has risen. kube-scheduler takes a driver without a limit for one with a
/// limit of 0 here.
fn has_risen(old: &CsiNode, new: &CsiNode) -> bool {
    let before = |driver: &str| {
        let drivers = old.drivers.iter().rev();
        drivers.into_iter().find(|(name, _)| **name == *driver).and_then(|(_, count)| *count)
    };
    new.drivers
        .iter()
        .any(|(driver, count)| count.unwrap_or_default() > before(driver).unwrap_or_default())
}

/// The node's limit for a driver.
fn limit(node: &CsiNode, driver: &str) -> Option<usize> {
    let of_driver = |(name, count): &(Box<str>, Option<i32>)| {
        count.filter(|_| **name == *driver).map(|count| usize::try_from(count).unwrap_or_default())
    };
    node.drivers.iter().rev().find_map(of_driver)
}

impl PreparedCsiLimits {
    fn judge(&self, csi_node: Option<&CsiNode>, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let Some(csi_node) = csi_node else { return self.without(cluster) };
        match self.own(Some(csi_node), cluster) {
            Ok(wanted) => self.count(wanted, csi_node, cluster, node),
            Err(code) => code,
        }
    }

    /// The verdict on a node without a `CSINode`.
    fn without(&self, cluster: &Cluster) -> Code {
        self.own(None, cluster).err().unwrap_or(Code::PASS)
    }

    /// What the pod attaches on a node, if that can be counted and the drivers are there.
    fn own(
        &self,
        csi_node: Option<&CsiNode>,
        cluster: &Cluster,
    ) -> Result<&[Attachable<'static>], Code> {
        let migrated = Migrated::on(csi_node, self.rule.portworx);
        match &self.wanted[migrated as usize] {
            Err(fault) => Err(code_of(fault, OWN + migrated as u16)),
            Ok(_) if self.missing(csi_node, cluster).is_some() => Err(MISSING),
            Ok(wanted) => Ok(wanted),
        }
    }

    /// The driver that must be there and is not. kube-scheduler names any of several; this is the
    /// first by name.
    fn missing(&self, csi_node: Option<&CsiNode>, cluster: &Cluster) -> Option<&str> {
        let migrated = Migrated::on(csi_node, self.rule.portworx);
        let wanted = self.wanted[migrated as usize].as_ref().ok()?;
        let must_be_there = |driver: &str| {
            let drivers = &cluster.objects().csi_drivers;
            drivers.get("", driver).is_some_and(|driver| driver.prevents_where_missing)
        };
        let is_there = |driver: &str| {
            csi_node.is_some_and(|node| node.drivers.iter().any(|(have, _)| **have == *driver))
        };
        let mut drivers = wanted.iter().map(|volume| &*volume.driver);
        drivers
            .find(|driver| self.rule.asks_for_drivers && must_be_there(driver) && !is_there(driver))
    }

    fn count(
        &self,
        wanted: &[Attachable<'static>],
        csi_node: &CsiNode,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Code {
        let has_limits = csi_node.drivers.iter().any(|(_, count)| count.is_some());
        if wanted.is_empty() || !has_limits {
            return Code::PASS;
        }
        let name = node.node.name.as_ref();
        let at_most = at_most(node.load)
            .map(|volumes| volumes + attachments::at_most(name, wanted, cluster) + wanted.len());
        let fits = |volumes: usize| {
            let limits = wanted.iter().filter_map(|volume| limit(csi_node, &volume.driver));
            limits.into_iter().all(|limit| volumes <= limit)
        };
        if at_most.is_some_and(fits) {
            return Code::PASS;
        }
        let migrated = Migrated::on(Some(csi_node), self.rule.portworx);
        let Ok(used) = used_on(cluster, node.load, migrated) else { return OTHER };
        let mut attached = used.clone();
        attached.extend(attachments::at(name, wanted, cluster));
        attached.sort_unstable();
        attached.dedup();
        // kube-scheduler does not subtract a volume that is only attached, so it counts twice.
        let fresh: Vec<&Attachable<'_>> =
            wanted.iter().filter(|volume| used.binary_search(volume).is_err()).collect();
        let exceeds = |volume: &&Attachable<'_>| {
            let driver = &volume.driver;
            let new = fresh.iter().filter(|other| other.driver == *driver).count();
            let have = attached.iter().filter(|other| other.driver == *driver).count();
            limit(csi_node, driver).is_some_and(|limit| have + new > limit)
        };
        if fresh.iter().any(exceeds) { EXCEEDED } else { Code::PASS }
    }
}

/// A bound from above on how many volumes the pods on a node attach, where none of them can fail.
fn at_most(load: &Load) -> Option<usize> {
    if load.pods_with_volumes == 0 {
        return Some(0);
    }
    let mut volumes = 0;
    for volume in load.pods.iter().flat_map(|pod| pod.template.volumes.iter()) {
        match &volume.source {
            VolumeSource::Claim { name, .. } if !name.is_empty() => volumes += 1,
            _ if attachable::may_count(volume) => return None,
            _ => {}
        }
    }
    Some(volumes)
}

/// What the pods on a node attach, sorted, each once.
fn used_on<'a>(
    cluster: &'a Cluster,
    load: &'a Load,
    migrated: Migrated,
) -> Result<Vec<Attachable<'a>>, Status> {
    let mut used = Vec::new();
    let mut fault: Option<(&Pod, Status)> = None;
    for pod in &load.pods {
        match attachable::of_pod(pod, cluster, migrated, Whose::Existing) {
            Ok(found) => used.extend(found),
            Err(status) => {
                if fault.as_ref().is_none_or(|(other, _)| pod.uid < other.uid) {
                    fault = Some((pod, status));
                }
            }
        }
    }
    used.sort_unstable();
    used.dedup();
    fault.map_or(Ok(used), |(_, status)| Err(status))
}

/// What rejects as the status does, or fails as it does.
fn code_of(status: &Status, meaning: u16) -> Code {
    match status.rejection {
        crate::rules::Rejection::Error => Code::fail(meaning),
        _ => Code::reject(meaning),
    }
}

impl PreparedFilter for PreparedCsiLimits {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE).and_load()
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let is_stale = |change: &Change| match change {
            Change::Object(kind) => self.rule.kinds().contains(kind),
            Change::Node(..) | Change::PodPut(..) | Change::PodTaken(..) | Change::Time(..) => {
                false
            }
        };
        if changes.iter().any(is_stale) { Refresh::Again } else { Refresh::Nodes }
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let csi_node = cluster.objects().csi_nodes.get("", &node.node.name);
        self.judge(csi_node.map(AsRef::as_ref), cluster, node)
    }

    /// Most nodes have a `CSINode`: those are gone through and not searched for.
    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        codes.fill(self.without(cluster));
        for csi_node in cluster.objects().csi_nodes.iter() {
            let slot = cluster.nodes().find(&csi_node.meta.name);
            let Some(view) = slot.and_then(|slot| cluster.nodes().view(slot)) else { continue };
            if let Some(code) = codes.get_mut(view.slot.index()) {
                *code = self.judge(Some(csi_node), cluster, view);
            }
        }
    }

    fn can_fail(&self) -> bool {
        true
    }

    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        let csi_node = cluster.objects().csi_nodes.get("", &node.node.name).map(AsRef::as_ref);
        let migrated = Migrated::on(csi_node, self.rule.portworx);
        let fault = match code {
            EXCEEDED => None,
            MISSING => self.missing(csi_node, cluster).map(|driver| {
                Status::unschedulable(format!("{driver} CSI driver is not installed on the node"))
            }),
            OTHER => used_on(cluster, node.load, migrated).err(),
            _ => self.wanted[migrated as usize].as_ref().err().cloned(),
        };
        fault.unwrap_or_else(|| Status::unschedulable(REASON))
    }

    fn describes_by_code(&self) -> bool {
        !self.rule.asks_for_drivers
    }

    fn rejects_by_code(&self) -> bool {
        true
    }

    fn describes_code(&self, code: Code) -> bool {
        code != MISSING
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(
            size_of_val(self) + self.wanted.iter().map(HeapBytes::heap_bytes).sum::<usize>(),
        )
    }
}
