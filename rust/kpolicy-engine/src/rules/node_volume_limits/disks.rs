//! `EBSLimits`, `GCEPDLimits`, `AzureDiskLimits`, `CinderLimits`: in-tree disks of one kind on a node.
//!
//! Specification: kube-scheduler 1.20, whose policies name them. The limit is the node's
//! allocatable `attachable-volumes-…`, or a number of the cloud's. A disk counts once; a claim
//! without a readable volume counts where its class provisions this kind. A node whose kubelet
//! handed the kind over to a CSI driver is left to `NodeVolumeLimits`. Reads: pods on the node, its
//! allocatable and instance type, claims, volumes, classes, `CSINode`s.

use std::borrow::Cow;

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::model::{Kind, PersistentVolumeClaim, VolumeSource};
use crate::part::{Part, Parts};
use crate::rules::volume_claims::{self as claims, NamedClaim};
use crate::rules::volume_migration as migration;
use crate::rules::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Status};
use crate::snapshot::{Change, Changes, Cluster, Node, NodeParts, NodeView, Pod};

use super::REASON;

const EXCEEDED: Code = Code::reject(1);
const UNNAMED: Code = Code::fail(2);

const INSTANCE_TYPE: [&str; 2] =
    ["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];
const EBS_LIMIT: usize = 39;
const EBS_NITRO_LIMIT: usize = 25;

/// Disks of one kind, and how many of them a node takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DiskLimits {
    pub(crate) name: &'static str,
    plugin: &'static str,
    allocatable: &'static str,
    limit: usize,
}

pub(crate) static EBS: DiskLimits = DiskLimits {
    name: "EBSLimits",
    plugin: "kubernetes.io/aws-ebs",
    allocatable: "attachable-volumes-aws-ebs",
    limit: EBS_LIMIT,
};
pub(crate) static GCE_PD: DiskLimits = DiskLimits {
    name: "GCEPDLimits",
    plugin: "kubernetes.io/gce-pd",
    allocatable: "attachable-volumes-gce-pd",
    limit: 16,
};
pub(crate) static AZURE_DISK: DiskLimits = DiskLimits {
    name: "AzureDiskLimits",
    plugin: "kubernetes.io/azure-disk",
    allocatable: "attachable-volumes-azure-disk",
    limit: 16,
};
pub(crate) static CINDER: DiskLimits = DiskLimits {
    name: "CinderLimits",
    plugin: "kubernetes.io/cinder",
    allocatable: "attachable-volumes-cinder",
    limit: 256,
};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Disk<'a> {
    Id(Cow<'a, str>),
    /// Of a claim whose volume is not known: namespace and name.
    Claim(Cow<'a, str>, Cow<'a, str>),
}

/// A claim without a name, which fails the whole attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unnamed;

#[derive(Debug, Clone)]
struct PreparedDiskLimits {
    limits: &'static DiskLimits,
    wanted: Result<Vec<Disk<'static>>, Unnamed>,
}

impl DiskLimits {
    /// The id of a disk of this kind.
    fn id<'a>(&self, source: &'a VolumeSource) -> Option<&'a str> {
        let id = match source {
            VolumeSource::AwsElasticBlockStore { volume } | VolumeSource::Cinder { volume } => {
                volume
            }
            VolumeSource::GcePersistentDisk { name, .. } | VolumeSource::AzureDisk { name, .. } => {
                name
            }
            _ => return None,
        };
        (migration::plugin_of(source)?.name == self.plugin).then_some(id)
    }

    fn is_concerned(&self, pod: &Pod) -> bool {
        pod.template.volumes.iter().any(|volume| {
            NamedClaim::of(pod, volume).is_some() || self.id(&volume.source).is_some()
        })
    }

    /// The disks of a pod. kube-scheduler does not count a claim that it cannot look up, nor the
    /// claim of an ephemeral volume that the pod does not own.
    fn disks<'a>(&self, pod: &'a Pod, cluster: &'a Cluster) -> Result<Vec<Disk<'a>>, Unnamed> {
        let mut disks = Vec::new();
        for volume in pod.template.volumes.iter() {
            if let Some(id) = self.id(&volume.source) {
                disks.push(Disk::Id(id.into()));
                continue;
            }
            let Some(named) = NamedClaim::of(pod, volume) else { continue };
            if named.name.is_empty() {
                return Err(Unnamed);
            }
            let claim = named.find(pod, cluster);
            let claim = claim.filter(|claim| !named.is_ephemeral || claims::is_owned(claim, pod));
            disks.extend(claim.and_then(|claim| self.of_claim(claim, cluster)));
        }
        disks.sort_unstable();
        disks.dedup();
        Ok(disks)
    }

    fn of_claim<'a>(
        &self,
        claim: &'a PersistentVolumeClaim,
        cluster: &'a Cluster,
    ) -> Option<Disk<'a>> {
        if let Some(volume) = cluster.objects().volumes.get("", &claim.volume_name) {
            return Some(Disk::Id(self.id(volume.in_tree.as_ref()?)?.into()));
        }
        let class = cluster.objects().classes.get("", claims::class_of(claim))?;
        let meta = &claim.meta;
        (*class.provisioner == *self.plugin)
            .then(|| Disk::Claim(meta.namespace.as_ref().into(), meta.name.as_ref().into()))
    }

    fn limit_of(&self, node: &Node) -> usize {
        if let Some(amount) = node.object.allocatable.get(self.allocatable) {
            return usize::try_from(amount.units_rounded_up()).unwrap_or_default();
        }
        let labels = &node.object.meta.labels;
        let instance = INSTANCE_TYPE.into_iter().find_map(|key| labels.get(key));
        if self.name == EBS.name && instance.is_some_and(is_nitro) {
            EBS_NITRO_LIMIT
        } else {
            self.limit
        }
    }
}

/// kube-scheduler recognises instances with Nitro by the expression `^[cmr]5.*|t3|z1d`.
fn is_nitro(instance: &str) -> bool {
    ["c5", "m5", "r5"].iter().any(|family| instance.starts_with(family))
        || instance.contains("t3")
        || instance.contains("z1d")
}

impl Filter for &'static DiskLimits {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if self.is_concerned(pod) {
            claims::key_of_all(pod, key);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        if !self.is_concerned(pod) {
            return None;
        }
        let own = |disk: Disk<'_>| {
            let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
            match disk {
                Disk::Id(id) => Disk::Id(own(id)),
                Disk::Claim(namespace, name) => Disk::Claim(own(namespace), own(name)),
            }
        };
        let wanted = self.disks(pod, cluster).map(|disks| disks.into_iter().map(own).collect());
        Some(Box::new(PreparedDiskLimits { limits: self, wanted }))
    }

    fn events(&self) -> Events {
        Events::of(&[
            Event::NodeAdd,
            Event::NodeAllocatable,
            Event::NodeTaint,
            Event::PodDelete,
            Event::ObjectAdd(Kind::CsiNode),
            Event::ObjectUpdate(Kind::CsiNode),
            Event::ObjectAdd(Kind::PersistentVolumeClaim),
            Event::ObjectUpdate(Kind::PersistentVolumeClaim),
        ])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels, Part::NodeAllocatable, Part::Load])
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
            Occurrence::Node { .. } => true,
            Occurrence::Pod { old: Some(gone), is_assigned: true, .. } => self.is_concerned(gone),
            Occurrence::Pod { .. } | Occurrence::Time { .. } => false,
            Occurrence::Object(replaced) if replaced.kind == Kind::CsiNode => true,
            Occurrence::Object(replaced) => {
                claims::changed_claim(replaced).is_some_and(|claim| claims::names(pod, claim))
            }
        }
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::PersistentVolumeClaim, Kind::PersistentVolume, Kind::StorageClass, Kind::CsiNode]
    }
}

impl PreparedFilter for PreparedDiskLimits {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::ALLOCATABLE.with(NodeParts::LABELS)).and_load()
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let is_stale = |change: &Change| matches!(change, Change::Object(kind) if self.limits.kinds().contains(kind));
        if changes.iter().any(is_stale) { Refresh::Again } else { Refresh::Nodes }
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let Ok(wanted) = &self.wanted else { return UNNAMED };
        let csi_node = cluster.objects().csi_nodes.get("", &node.node.name);
        if wanted.is_empty()
            || migration::is_migrated_on(self.limits.plugin, csi_node.map(AsRef::as_ref))
        {
            return Code::PASS;
        }
        let mut disks = Vec::new();
        for pod in node.load.pods.iter().filter(|pod| !pod.template.volumes.is_empty()) {
            match self.limits.disks(pod, cluster) {
                Ok(found) => disks.extend(found),
                Err(Unnamed) => return UNNAMED,
            }
        }
        disks.extend(wanted.iter().cloned());
        disks.sort_unstable();
        disks.dedup();
        if disks.len() > self.limits.limit_of(node.node) { EXCEEDED } else { Code::PASS }
    }

    fn can_fail(&self) -> bool {
        true
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        if code == UNNAMED { Status::error(claims::NO_NAME) } else { Status::unschedulable(REASON) }
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        let wanted = self.wanted.as_ref().map_or(0, HeapBytes::heap_bytes);
        HeldBytes::Fixed(size_of_val(self) + wanted)
    }
}

impl HeapBytes for Disk<'_> {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Id(id) => id.heap_bytes(),
            Self::Claim(namespace, name) => namespace.heap_bytes() + name.heap_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AZURE_DISK, CINDER, EBS, GCE_PD, is_nitro};
    use crate::model::VolumeSource;

    #[test]
    fn only_disks_of_the_kind_have_an_id() {
        let azure = VolumeSource::AzureDisk { name: "n".into(), uri: "u".into(), kind: "".into() };
        let cinder = VolumeSource::Cinder { volume: "c".into() };
        let ebs = VolumeSource::AwsElasticBlockStore { volume: "e".into() };
        let gce = VolumeSource::GcePersistentDisk { name: "g".into(), read_only: true };
        for (limits, own, id) in [
            (&EBS, &ebs, "e"),
            (&GCE_PD, &gce, "g"),
            (&AZURE_DISK, &azure, "n"),
            (&CINDER, &cinder, "c"),
        ] {
            assert_eq!(limits.id(own), Some(id));
            let others = [&azure, &cinder, &ebs, &gce].into_iter().filter(|other| *other != own);
            assert_eq!(others.filter_map(|other| limits.id(other)).count(), 0, "{}", limits.name);
        }
    }

    #[test]
    fn newer_ec2_instances_take_fewer_volumes() {
        for instance in ["m5.large", "c5d.xlarge", "r5.metal", "t3.micro", "z1d.large"] {
            assert!(is_nitro(instance), "{instance}");
        }
        for instance in ["m4.large", "t2.micro", "xm5.large", ""] {
            assert!(!is_nitro(instance), "{instance}");
        }
    }
}
