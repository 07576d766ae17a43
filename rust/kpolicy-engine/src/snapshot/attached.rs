//! An index of volume attachments by the node that they name, kept in step with the objects. The
//! order of the attachments of a node depends on history.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Object, VolumeAttachment};

use super::objects::Replaced;

#[derive(Debug, Default)]
pub(crate) struct Attached {
    by_node: FxHashMap<Box<str>, Vec<Arc<VolumeAttachment>>>,
}

impl Attached {
    pub(crate) fn to(&self, node: &str) -> &[Arc<VolumeAttachment>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if let Some(Object::VolumeAttachment(old)) = &replaced.old
            && let Some(to) = self.by_node.get_mut(&old.node_name)
        {
            to.retain(|have| have.meta.name != old.meta.name);
            if to.is_empty() {
                self.by_node.remove(&old.node_name);
            }
        }
        if let Some(Object::VolumeAttachment(new)) = &replaced.new {
            self.by_node.entry(new.node_name.clone()).or_default().push(Arc::clone(new));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Kind, Meta, Object, VolumeAttachment};
    use crate::snapshot::Cluster;

    #[test]
    fn an_attachment_is_where_it_was_said_last() {
        let mut cluster = Cluster::default();
        let mut attach = |name: &str, node: &str| {
            let meta = Meta { name: name.into(), ..Meta::default() };
            let attachment =
                VolumeAttachment { meta, node_name: node.into(), ..VolumeAttachment::default() };
            cluster.set_object(Object::VolumeAttachment(attachment.into()));
        };
        attach("a", "n1");
        attach("b", "n1");
        attach("b", "n2");
        attach("b", "n2");
        cluster.remove_object(Kind::VolumeAttachment, "", "a");
        let attached = |node: &str| cluster.objects().attached.to(node).len();
        assert_eq!((attached("n1"), attached("n2")), (0, 1));
        assert!(cluster.objects().attached.by_node.len() == 1);
    }
}
