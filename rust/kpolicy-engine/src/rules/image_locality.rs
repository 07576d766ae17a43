//! `ImageLocality`: nodes that have the pod's images already are better, the larger the images and
//! the more nodes have them.
//!
//! Clause: images of init containers and containers count each time they are named, image volumes
//! too (from 1.36); only containers raise the upper threshold.
//! Departs: where nodes report different sizes for one image, kube-scheduler takes that of whichever
//! node reported first and counts nodes as of that node's last change. Here the first node by name
//! counts, and all nodes as they are: no result depends on history.
//! Reads: `node.status.images`; the pod's images and image volumes.

use rustc_hash::FxHashMap;

use crate::model::VolumeSource;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::{Key, PreparedScore, Reads, Refresh, Score};

pub const NAME: &str = "ImageLocality";

const MIB: i64 = 1024 * 1024;
const BYTES_MIN: i64 = 23 * MIB;
const BYTES_MAX_PER_CONTAINER: i64 = 1000 * MIB;
const SCORE_MAX: i64 = 100;

#[derive(Debug, Clone, Copy, Default)]
pub struct ImageLocality;

#[derive(Debug)]
struct Prepared {
    /// What each of the pod's images is worth on a node that has it; repeated ones add up.
    worth: FxHashMap<Box<str>, i64>,
    bytes_max: i64,
}

impl Score for ImageLocality {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.images.id());
        key.push(pod.template.volumes.id());
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let mut named: FxHashMap<Box<str>, i64> = FxHashMap::default();
        for image in images(pod) {
            *named.entry(normalized(image)).or_default() += 1;
        }
        let containers =
            pod.template.images.init_containers.len() + pod.template.images.containers.len();
        let containers = i64::try_from(containers).unwrap_or(i64::MAX);
        Some(Box::new(Prepared {
            worth: worth(&named, cluster),
            bytes_max: BYTES_MAX_PER_CONTAINER.saturating_mul(containers),
        }))
    }
}

impl PreparedScore for Prepared {
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
        if self.worth.is_empty() {
            return 0.0;
        }
        let images = node.node.object.images.iter();
        let mut seen: Vec<&str> = Vec::new();
        let mut bytes: i64 = 0;
        for name in images.flat_map(|image| image.names.iter()) {
            if let Some(worth) = self.worth.get(name)
                && !seen.contains(&name.as_ref())
            {
                seen.push(name);
                bytes = bytes.saturating_add(*worth);
            }
        }
        score(bytes, self.bytes_max) as f64
    }
}

fn images(pod: &Pod) -> impl Iterator<Item = &str> {
    let images = &pod.template.images;
    let volumes = pod.template.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSource::Image { reference } => Some(reference.as_ref()),
        _ => None,
    });
    images.init_containers.iter().chain(&images.containers).map(AsRef::as_ref).chain(volumes)
}

/// A name without a tag means `latest`; a colon before the last slash is a port.
fn normalized(name: &str) -> Box<str> {
    let has_tag = match (name.rfind(':'), name.rfind('/')) {
        (Some(colon), Some(slash)) => colon > slash,
        (colon, _) => colon.is_some(),
    };
    if has_tag { name.into() } else { format!("{name}:latest").into() }
}

fn worth(named: &FxHashMap<Box<str>, i64>, cluster: &Cluster) -> FxHashMap<Box<str>, i64> {
    struct Seen {
        first: (u32, i64),
        nodes: usize,
    }
    let mut seen: FxHashMap<&str, Seen> = FxHashMap::default();
    for view in cluster.nodes().iter() {
        let rank = cluster.nodes().rank_of(view.slot);
        let mut here: Vec<&str> = Vec::new();
        for image in &view.node.object.images {
            for name in &image.names {
                if named.contains_key(name) && !here.contains(&name.as_ref()) {
                    here.push(name);
                    let entry = seen
                        .entry(name)
                        .or_insert(Seen { first: (rank, image.size_bytes), nodes: 0 });
                    entry.nodes += 1;
                    if rank < entry.first.0 {
                        entry.first = (rank, image.size_bytes);
                    }
                }
            }
        }
    }
    let nodes = cluster.nodes().len();
    seen.into_iter()
        .map(|(name, seen)| {
            let times = named.get(name).copied().unwrap_or_default();
            (name.into(), scaled(seen.first.1, seen.nodes, nodes).saturating_mul(times))
        })
        .collect()
}

/// Clause: floating point, then truncated, image by image.
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
