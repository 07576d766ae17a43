//! Disks that a pod mounts directly, and whether those of another pod may be mounted beside them.
//!
//! Specification: a GCE disk, an iSCSI target or an RBD image may be shared on a node only read-only,
//! an EBS volume not at all. RBD images are the same where pool, image and any monitor are. A disk is
//! looked up by its name, so that pods with thousands of disks can be compared.

use rustc_hash::FxHashMap;

use crate::heap::HeapBytes;
use crate::model::{Volume, VolumeSource};

/// Whether a pod writes to any of its volumes of a name.
type Writes = FxHashMap<Box<str>, bool>;

/// The disks of one pod, by name.
#[derive(Debug, Default)]
pub(super) struct OwnDisks {
    gce: Writes,
    iscsi: Writes,
    /// All of them cannot be shared.
    ebs: Writes,
    /// By pool, image and monitor.
    rbd: FxHashMap<Box<str>, FxHashMap<Box<str>, Writes>>,
}

impl OwnDisks {
    pub(super) fn of(volumes: &[Volume]) -> Self {
        let mut disks = Self::default();
        let note = |writes: &mut Writes, name: &str, read_only: bool| {
            *writes.entry(name.into()).or_default() |= !read_only;
        };
        for volume in volumes {
            match &volume.source {
                VolumeSource::GcePersistentDisk { name, read_only } => {
                    note(&mut disks.gce, name, *read_only);
                }
                VolumeSource::Iscsi { iqn, read_only } => note(&mut disks.iscsi, iqn, *read_only),
                VolumeSource::AwsElasticBlockStore { volume } => {
                    note(&mut disks.ebs, volume, false);
                }
                VolumeSource::Rbd { monitors, pool, image, read_only } => {
                    let images = disks.rbd.entry(pool.clone()).or_default();
                    let writes = images.entry(image.clone()).or_default();
                    monitors.iter().for_each(|monitor| note(writes, monitor, *read_only));
                }
                _ => {}
            }
        }
        disks
    }

    pub(super) fn is_empty(&self) -> bool {
        let plain = [&self.gce, &self.iscsi, &self.ebs];
        plain.iter().all(|writes| writes.is_empty()) && self.rbd.is_empty()
    }

    /// Whether a pod with these volumes cannot be on the same node.
    pub(super) fn collide_with(&self, volumes: &[Volume]) -> bool {
        volumes.iter().any(|volume| self.collides(&volume.source))
    }

    fn collides(&self, other: &VolumeSource) -> bool {
        let is_written = |writes: &Writes, name: &str, read_only: bool| {
            writes.get(name).is_some_and(|own_is_written| *own_is_written || !read_only)
        };
        match other {
            VolumeSource::GcePersistentDisk { name, read_only } => {
                is_written(&self.gce, name, *read_only)
            }
            VolumeSource::Iscsi { iqn, read_only } => is_written(&self.iscsi, iqn, *read_only),
            VolumeSource::AwsElasticBlockStore { volume } => is_written(&self.ebs, volume, false),
            VolumeSource::Rbd { monitors, pool, image, read_only } => {
                let writes = self.rbd.get(pool).and_then(|images| images.get(image));
                writes.is_some_and(|writes| {
                    monitors.iter().any(|monitor| is_written(writes, monitor, *read_only))
                })
            }
            _ => false,
        }
    }
}

pub(super) fn is_disk(volume: &Volume) -> bool {
    matches!(
        volume.source,
        VolumeSource::GcePersistentDisk { .. }
            | VolumeSource::AwsElasticBlockStore { .. }
            | VolumeSource::Rbd { .. }
            | VolumeSource::Iscsi { .. }
    )
}

impl HeapBytes for OwnDisks {
    fn heap_bytes(&self) -> usize {
        [&self.gce, &self.iscsi, &self.ebs].into_iter().map(HeapBytes::heap_bytes).sum::<usize>()
            + self.rbd.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::OwnDisks;
    use crate::model::{Volume, VolumeSource};

    fn collide(own: &[VolumeSource], have: &VolumeSource) -> bool {
        let volumes = |sources: &[VolumeSource]| -> Vec<Volume> {
            let volume =
                |source: &VolumeSource| Volume { name: "v".into(), source: source.clone() };
            sources.iter().map(volume).collect()
        };
        OwnDisks::of(&volumes(own)).collide_with(&volumes(std::slice::from_ref(have)))
    }

    fn gce(name: &str, read_only: bool) -> VolumeSource {
        VolumeSource::GcePersistentDisk { name: name.into(), read_only }
    }

    fn iscsi(iqn: &str, read_only: bool) -> VolumeSource {
        VolumeSource::Iscsi { iqn: iqn.into(), read_only }
    }

    fn ebs(volume: &str) -> VolumeSource {
        VolumeSource::AwsElasticBlockStore { volume: volume.into() }
    }

    fn rbd(monitors: &[&str], image: &str, read_only: bool) -> VolumeSource {
        let monitors = monitors.iter().map(|monitor| (*monitor).into()).collect();
        VolumeSource::Rbd { monitors, pool: "rbd".into(), image: image.into(), read_only }
    }

    #[test]
    fn disks_are_shared_only_as_their_kind_allows() {
        let table = [
            (gce("d", false), gce("d", true), true),
            (gce("d", true), gce("d", true), false),
            (gce("d", false), gce("e", false), false),
            (iscsi("d", true), iscsi("d", false), true),
            (iscsi("d", true), iscsi("d", true), false),
            (gce("d", false), iscsi("d", false), false),
            (ebs("d"), ebs("d"), true),
            (ebs("d"), ebs("e"), false),
            (rbd(&["a", "b"], "i", false), rbd(&["b", "c"], "i", true), true),
            (rbd(&["a", "b"], "i", true), rbd(&["b", "c"], "i", true), false),
            (rbd(&["a"], "i", false), rbd(&["c"], "i", false), false),
            (rbd(&["a"], "i", false), rbd(&["a"], "j", false), false),
        ];
        for (own, have, collides) in table {
            assert_eq!(collide(std::slice::from_ref(&own), &have), collides, "{own:?} {have:?}");
        }
    }
    /// One of its volumes of a name writes, or one of them has the other's monitor.
    #[test]
    fn all_volumes_of_a_name_count() {
        let own = [gce("d", true), gce("d", false), gce("e", true)];
        assert!(collide(&own, &gce("d", true)));
        assert!(!collide(&own, &gce("e", true)));
        let own = [rbd(&["a"], "i", false), rbd(&["b"], "i", true)];
        assert!(collide(&own, &rbd(&["x", "a"], "i", true)));
        assert!(!collide(&own, &rbd(&["b"], "i", true)));
        assert!(collide(&own, &rbd(&["b"], "i", false)));
    }
}
