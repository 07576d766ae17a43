//! An index of images by name: which nodes have an image, and the size that each node reports. Kept
//! in step with nodes, so that a lookup reads only the nodes that have an image. The order of
//! entries depends on history.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::model::Image;

use super::node::NodeSlot;

#[derive(Debug, Default)]
pub(crate) struct Images {
    by_name: FxHashMap<Box<str>, Vec<(NodeSlot, i64)>>,
}

impl Images {
    /// Nodes that have the image, each once, with its size in bytes there.
    pub(crate) fn on(&self, name: &str) -> &[(NodeSlot, i64)] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Follows a node that changed.
    pub(super) fn follow(&mut self, slot: NodeSlot, old: &[Image], new: &[Image]) {
        if old == new {
            return;
        }
        // Most of what a node lists stays.
        let (before, after) = (sizes(old), sizes(new));
        for (name, size_bytes) in &before {
            if after.get(name) != Some(size_bytes) {
                self.remove(slot, name);
            }
        }
        for (name, size_bytes) in after {
            if before.get(name) != Some(&size_bytes) {
                self.by_name.entry(name.into()).or_default().push((slot, size_bytes));
            }
        }
    }

    fn remove(&mut self, slot: NodeSlot, name: &str) {
        if let Some(on) = self.by_name.get_mut(name) {
            on.retain(|(have, _)| *have != slot);
            if on.is_empty() {
                self.by_name.remove(name);
            }
        }
    }
}

/// By name; of one that is listed twice, the first counts.
fn sizes(images: &[Image]) -> BTreeMap<&str, i64> {
    let mut sizes = BTreeMap::new();
    for image in images {
        for name in &image.names {
            sizes.entry(name.as_ref()).or_insert(image.size_bytes);
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::{Images, NodeSlot};
    use crate::model::Image;

    fn image(names: &[&str], size_bytes: i64) -> Image {
        Image { names: names.iter().map(|name| (*name).into()).collect(), size_bytes }
    }

    #[test]
    fn nodes_come_and_go_with_what_they_list() -> Result<(), &'static str> {
        let slot = |index| NodeSlot::at(index).ok_or("a slot");
        let (first, second) = (slot(0)?, slot(1)?);
        let mut images = Images::default();
        let before = [image(&["a", "b"], 1), image(&["b", "a"], 2)];
        images.follow(first, &[], &before);
        images.follow(second, &[], &[image(&["b"], 3)]);
        assert_eq!(images.on("a"), [(first, 1)]);
        assert_eq!(images.on("b"), [(first, 1), (second, 3)]);
        images.follow(first, &before, &[image(&["c"], 4)]);
        assert_eq!((images.on("a"), images.on("b")), (&[][..], &[(second, 3)][..]));
        assert_eq!(images.on("c"), [(first, 4)]);
        images.follow(first, &[image(&["c"], 4)], &[]);
        assert_eq!(images.by_name.len(), 1);
        Ok(())
    }
}
