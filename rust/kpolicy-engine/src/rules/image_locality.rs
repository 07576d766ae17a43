//! `ImageLocality`: nodes that have the pod's images already are better, the larger the images and
//! the more nodes have them.
//!
//! Specification: images of init containers and containers count each time they are named; image
//! volumes too from 1.36 on, and from 1.37 on they raise the upper threshold as well. Departs: where nodes report
//! different sizes for one image, kube-scheduler takes that of whichever node reported first and
//! counts nodes as of that node's last change. Here the first node by name counts, and all nodes as
//! they are: no result depends on history. Reads: `node.status.images`; the pod's images and image
//! volumes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::heap::table_bytes;
use crate::model::VolumeSource;
use crate::release::{Followed, ImageVolumes};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeSlot, NodeView, Pod};

use super::{HeldBytes, Key, PreparedScore, Reads, Refresh, Score};

pub(crate) const NAME: &str = "ImageLocality";

const MIB: i64 = 1024 * 1024;
const BYTES_MIN: i64 = 23 * MIB;
const BYTES_MAX_PER_IMAGE: i64 = 1000 * MIB;
const SCORE_MAX: i64 = 100;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageLocality {
    volumes: ImageVolumes,
}

pub(crate) fn of(followed: Followed) -> ImageLocality {
    ImageLocality { volumes: followed.traits().image_volumes }
}

#[derive(Debug)]
struct PreparedImageLocality {
    /// What the pod's images that are there are worth, of nodes that have any; repeated ones add up.
    bytes: FxHashMap<NodeSlot, i64>,
    bytes_max: i64,
}

impl Score for ImageLocality {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.images.id());
        for reference in self.volumes(pod) {
            key.push_text(reference);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let mut named: BTreeMap<Box<str>, i64> = BTreeMap::new();
        let of_containers =
            pod.template.images.init_containers.iter().chain(&pod.template.images.containers);
        let of_containers = of_containers.map(AsRef::as_ref);
        for image in of_containers.clone().chain(self.volumes(pod)) {
            *named.entry(normalized(image)).or_default() += 1;
        }
        let raises = self.volumes == ImageVolumes::InBoth;
        let raising = of_containers.count() + self.volumes(pod).filter(|_| raises).count();
        let raising = i64::try_from(raising).unwrap_or(i64::MAX);
        Some(Box::new(PreparedImageLocality {
            bytes: bytes(&named, cluster),
            bytes_max: BYTES_MAX_PER_IMAGE.saturating_mul(raising),
        }))
    }
}

impl PreparedScore for PreparedImageLocality {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::IMAGES)
    }

    fn refresh(&mut self, changes: Changes<'_>, _: &Cluster) -> Refresh {
        let spreads = NodeParts::IMAGES.with(NodeParts::EXISTENCE);
        let moved = changes
            .iter()
            .any(|change| matches!(change, Change::Node(_, parts) if parts.meets(spreads)));
        if moved { Refresh::Again } else { Refresh::Nodes }
    }

    #[allow(clippy::cast_precision_loss)] // 0 to 100
    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let bytes = self.bytes.get(&node.slot).copied().unwrap_or(0);
        score(bytes, self.bytes_max) as f64
    }

    #[allow(clippy::cast_precision_loss)] // 0 to 100
    fn raw_all(&self, _: &Cluster, raw: &mut [f64]) {
        raw.fill(score(0, self.bytes_max) as f64);
        // Each node by itself: the order does not matter.
        #[allow(clippy::iter_over_hash_type)]
        for (slot, bytes) in &self.bytes {
            if let Some(cell) = raw.get_mut(slot.index()) {
                *cell = score(*bytes, self.bytes_max) as f64;
            }
        }
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + table_bytes(&self.bytes))
    }
}

impl ImageLocality {
    /// Images that the pod mounts, where they count.
    fn volumes(self, pod: &Pod) -> impl Iterator<Item = &str> {
        let counts = self.volumes != ImageVolumes::NotCounted;
        pod.template.volumes.iter().filter(move |_| counts).filter_map(|volume| {
            match &volume.source {
                VolumeSource::Image { reference } => Some(reference.as_ref()),
                _ => None,
            }
        })
    }
}

/// A name without a tag means `latest`; a colon before the last slash is a port.
fn normalized(name: &str) -> Box<str> {
    let has_tag = match (name.rfind(':'), name.rfind('/')) {
        (Some(colon), Some(slash)) => colon > slash,
        (colon, _) => colon.is_some(),
    };
    if has_tag { name.into() } else { format!("{name}:latest").into() }
}

/// What each node has of these images.
fn bytes(named: &BTreeMap<Box<str>, i64>, cluster: &Cluster) -> FxHashMap<NodeSlot, i64> {
    let nodes = cluster.nodes();
    let mut bytes: FxHashMap<NodeSlot, i64> = FxHashMap::default();
    for (name, times) in named {
        let on = nodes.images().on(name);
        let first = on.iter().min_by_key(|(slot, _)| nodes.rank_of(*slot));
        let Some((_, size_bytes)) = first else { continue };
        let worth = scaled(*size_bytes, on.len(), nodes.len()).saturating_mul(*times);
        for (slot, _) in on {
            let sum = bytes.entry(*slot).or_default();
            *sum = sum.saturating_add(worth);
        }
    }
    bytes
}

/// kube-scheduler computes in floating point and truncates the result of each image.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn scaled(size_bytes: i64, nodes_with: usize, nodes: usize) -> i64 {
    (size_bytes as f64 * (nodes_with as f64 / nodes as f64)) as i64
}

fn score(bytes: i64, bytes_max: i64) -> i64 {
    let room = bytes_max.saturating_sub(BYTES_MIN);
    if room <= 0 {
        return 0;
    }
    SCORE_MAX.saturating_mul(bytes.clamp(BYTES_MIN, bytes_max) - BYTES_MIN) / room
}

#[cfg(test)]
mod tests {
    use super::{MIB, normalized, scaled, score};

    #[test]
    fn half_of_the_nodes_have_an_image_of_500_mib() {
        let bytes = scaled(500 * MIB, 1, 2);
        assert_eq!(bytes, 250 * MIB);
        assert_eq!(score(bytes, 1000 * MIB), 23);
        assert_eq!(score(0, 1000 * MIB), 0);
        assert_eq!(score(5000 * MIB, 1000 * MIB), 100);
        assert_eq!(score(5000 * MIB, 0), 0);
    }

    #[test]
    fn a_port_is_not_a_tag() {
        assert_eq!(&*normalized("nginx"), "nginx:latest");
        assert_eq!(&*normalized("nginx:1"), "nginx:1");
        assert_eq!(&*normalized("host:5000/nginx"), "host:5000/nginx:latest");
        assert_eq!(&*normalized("host:5000/nginx:1"), "host:5000/nginx:1");
    }
}
