//! Volumes that `VolumeAttachment` objects say are attached, by node.
//!
//! Clause: only attachments that name a persistent volume with a CSI source count. Slots hold as long
//! as no node appears or vanishes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::VolumeAttachment;
use crate::snapshot::{Cluster, NodeSlot};

use super::attachable::{Attachable, Handle};

#[derive(Debug, Clone, Default)]
pub struct Attachments {
    by_node: FxHashMap<NodeSlot, Vec<Arc<VolumeAttachment>>>,
}

impl Attachments {
    /// Those of some drivers.
    pub fn of(cluster: &Cluster, is_asked: impl Fn(&str) -> bool) -> Self {
        let mut by_node: FxHashMap<NodeSlot, Vec<Arc<VolumeAttachment>>> = FxHashMap::default();
        let all = cluster.objects().attachments.iter();
        for attachment in all.filter(|each| is_asked(&each.attacher)) {
            if let Some(slot) = cluster.nodes().find(&attachment.node_name) {
                by_node.entry(slot).or_default().push(Arc::clone(attachment));
            }
        }
        Self { by_node }
    }

    /// A bound from above.
    pub fn at_most(&self, slot: NodeSlot) -> usize {
        self.by_node.get(&slot).map_or(0, Vec::len)
    }

    /// With repetitions.
    pub fn at<'a>(
        &'a self,
        slot: NodeSlot,
        cluster: &'a Cluster,
    ) -> impl Iterator<Item = Attachable<'a>> {
        self.by_node.get(&slot).into_iter().flatten().filter_map(|attachment| {
            let name = attachment.volume_name.as_deref()?;
            let (_, handle) = cluster.objects().volumes.get("", name)?.csi.as_ref()?;
            let handle = Handle::Volume(handle.as_ref().into());
            Some(Attachable { driver: attachment.attacher.as_ref().into(), handle })
        })
    }
}
