//! Volumes that `VolumeAttachment` objects say are attached, by node.
//!
//! Clause: only attachments that name a persistent volume with a CSI source count. Slots hold as long
//! as no node appears or vanishes.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{PersistentVolume, VolumeAttachment};
use crate::snapshot::{Cluster, NodeSlot};

use super::attachable::{Attachable, Handle};

type Attached = (Arc<VolumeAttachment>, Arc<PersistentVolume>);

#[derive(Debug, Clone, Default)]
pub struct Attachments {
    by_node: FxHashMap<NodeSlot, Vec<Attached>>,
}

impl Attachments {
    /// Those of some drivers.
    pub fn of<'a>(cluster: &Cluster, is_asked: impl Fn(&str) -> bool + 'a) -> Self {
        let mut by_node: FxHashMap<NodeSlot, Vec<Attached>> = FxHashMap::default();
        let objects = cluster.objects();
        for attachment in objects.attachments.iter().filter(|each| is_asked(&each.attacher)) {
            let volume = attachment.volume_name.as_deref();
            let volume = volume.and_then(|name| objects.volumes.get("", name));
            let slot = cluster.nodes().find(&attachment.node_name);
            if let (Some(volume), Some(slot)) = (volume.filter(|volume| volume.csi.is_some()), slot)
            {
                let pair = (Arc::clone(attachment), Arc::clone(volume));
                by_node.entry(slot).or_default().push(pair);
            }
        }
        Self { by_node }
    }

    pub fn count_at(&self, slot: NodeSlot) -> usize {
        self.by_node.get(&slot).map_or(0, Vec::len)
    }

    /// With repetitions.
    pub fn at(&self, slot: NodeSlot) -> impl Iterator<Item = Attachable<'_>> {
        self.by_node.get(&slot).into_iter().flatten().filter_map(|(attachment, volume)| {
            let (_, handle) = volume.csi.as_ref()?;
            let driver = Cow::Borrowed(attachment.attacher.as_ref());
            Some(Attachable { driver, handle: Handle::Volume(handle.as_ref().into()) })
        })
    }
}
