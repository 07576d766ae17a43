//! Volumes that `VolumeAttachment` objects say are attached to a node, by drivers that are asked for.
//!
//! Specification: only attachments that name a persistent volume with a CSI source count.

use std::sync::Arc;

use crate::model::VolumeAttachment;
use crate::snapshot::Cluster;

use super::attachable::{Attachable, Handle};

/// A bound from above on how many there are.
pub(super) fn at_most(node: &str, wanted: &[Attachable<'_>], cluster: &Cluster) -> usize {
    named(node, wanted, cluster).count()
}

/// With repetitions.
pub(super) fn at<'a>(
    node: &str,
    wanted: &'a [Attachable<'_>],
    cluster: &'a Cluster,
) -> impl Iterator<Item = Attachable<'a>> {
    named(node, wanted, cluster).filter_map(|attachment| {
        let name = attachment.volume_name.as_deref()?;
        let (_, handle) = cluster.objects().volumes.get("", name)?.csi.as_ref()?;
        let handle = Handle::Volume(handle.as_ref().into());
        Some(Attachable { driver: attachment.attacher.as_ref().into(), handle })
    })
}

fn named<'a>(
    node: &str,
    wanted: &'a [Attachable<'_>],
    cluster: &'a Cluster,
) -> impl Iterator<Item = &'a Arc<VolumeAttachment>> {
    cluster.objects().attached.to(node).iter().filter(|each| {
        !each.attacher.is_empty() && wanted.iter().any(|volume| volume.driver == *each.attacher)
    })
}
