//! The claims of a pod's volumes, named directly or as generic ephemeral volumes. Shared by the
//! volume rules: names and lookup of claims, the owner of an ephemeral claim, the part of a cache
//! key, and messages about what is missing.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{Kind, Object, PersistentVolumeClaim, Volume, VolumeSource};
use crate::snapshot::objects::Replaced;
use crate::snapshot::{Cluster, Pod};

use super::Key;

pub(crate) const NO_NAME: &str = "PersistentVolumeClaim had no name";

/// A claim that a volume names, there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedClaim<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Made for this pod alone, from a template in the pod.
    pub(crate) is_ephemeral: bool,
}

impl<'a> NamedClaim<'a> {
    /// The claim that a volume of a pod names. The API names the claim of a generic ephemeral
    /// volume after the pod and the volume.
    pub(crate) fn of(pod: &'a Pod, volume: &'a Volume) -> Option<Self> {
        match &volume.source {
            VolumeSource::Claim { name, .. } => {
                Some(Self { name: Cow::Borrowed(name), is_ephemeral: false })
            }
            VolumeSource::Ephemeral => {
                let name = Cow::Owned(format!("{}-{}", pod.name, volume.name));
                Some(Self { name, is_ephemeral: true })
            }
            _ => None,
        }
    }

    pub(crate) fn find<'c>(
        &self,
        pod: &Pod,
        cluster: &'c Cluster,
    ) -> Option<&'c Arc<PersistentVolumeClaim>> {
        find(cluster, pod.namespace(), &self.name)
    }
}

/// The pod's claims in the order of its volumes, with repetitions.
pub(crate) fn all(pod: &Pod) -> impl Iterator<Item = NamedClaim<'_>> {
    pod.template.volumes.iter().filter_map(|volume| NamedClaim::of(pod, volume))
}

/// Names of those that are not ephemeral.
pub(crate) fn by_name(pod: &Pod) -> impl Iterator<Item = &str> {
    pod.template.volumes.iter().filter_map(|volume| match &volume.source {
        VolumeSource::Claim { name, .. } => Some(name.as_ref()),
        _ => None,
    })
}

pub(crate) fn has_ephemeral(pod: &Pod) -> bool {
    pod.template.volumes.iter().any(|volume| volume.source == VolumeSource::Ephemeral)
}

pub(crate) fn find<'c>(
    cluster: &'c Cluster,
    namespace: &str,
    name: &str,
) -> Option<&'c Arc<PersistentVolumeClaim>> {
    cluster.objects().claims.get(namespace, name)
}

/// Whether the pod controls the claim, as the API requires of the claim of an ephemeral volume.
pub(crate) fn is_owned(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    *claim.owner_uid == *pod.uid
}

/// The claim's class; empty for none.
pub(crate) fn class_of(claim: &PersistentVolumeClaim) -> &str {
    claim.storage_class.as_deref().unwrap_or_default()
}

/// Puts into a key all that the lookups of [`by_name`] depend on besides the cluster.
pub(crate) fn key_by_name(pod: &Pod, key: &mut Key) {
    key.push(pod.template.volumes.id());
    key.push(pod.namespace().id());
}

/// Puts into a key all that the lookups of [`all`] and [`is_owned`] depend on besides the cluster.
pub(crate) fn key_of_all(pod: &Pod, key: &mut Key) {
    key_by_name(pod, key);
    if has_ephemeral(pod) {
        push_text(&pod.name, key);
        push_text(&pod.uid, key);
    }
}

fn push_text(text: &str, key: &mut Key) {
    key.push(text.len() as u64);
    for part in text.as_bytes().chunks(size_of::<u64>()) {
        key.push(part.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)));
    }
}

/// The API's text for an object that does not exist.
pub(crate) fn not_found(kind: Kind, name: &str) -> String {
    let dot = if kind.group().is_empty() { "" } else { "." };
    format!("{}{dot}{} {name:?} not found", kind.name().to_ascii_lowercase(), kind.group())
}

pub(crate) fn not_owner(claim: &PersistentVolumeClaim, pod: &Pod) -> String {
    let (meta, namespace) = (&claim.meta, &**pod.namespace());
    format!(
        "PVC {}/{} was not created for pod {namespace}/{} (pod is not owner)",
        meta.namespace, meta.name, pod.name
    )
}

/// The claim that came to be or changed, if it is one.
pub(crate) fn changed_claim(replaced: &Replaced) -> Option<&PersistentVolumeClaim> {
    match &replaced.new {
        Some(Object::PersistentVolumeClaim(claim)) => Some(claim),
        _ => None,
    }
}

/// Whether one of the pod's volumes names this claim.
pub(crate) fn names(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    ***pod.namespace() == *claim.meta.namespace
        && all(pod).any(|named| *named.name == *claim.meta.name)
}

/// As [`names`], ephemeral volumes left out.
pub(crate) fn names_directly(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    ***pod.namespace() == *claim.meta.namespace
        && by_name(pod).any(|name| *name == *claim.meta.name)
}

#[cfg(test)]
mod tests {
    use super::{key_of_all, not_found, push_text};
    use crate::model::{self, Kind, Meta, Volume, VolumeSource};
    use crate::rules::Key;
    use crate::snapshot::Cluster;

    #[test]
    fn texts_of_absence_are_the_apis() {
        let table = [
            (Kind::PersistentVolumeClaim, "persistentvolumeclaim \"x\" not found"),
            (Kind::PersistentVolume, "persistentvolume \"x\" not found"),
            (Kind::StorageClass, "storageclass.storage.k8s.io \"x\" not found"),
        ];
        for (kind, want) in table {
            assert_eq!(not_found(kind, "x"), want);
        }
    }

    #[test]
    fn texts_in_keys_are_told_apart() {
        let part = |text: &str| {
            let mut key = Key::default();
            push_text(text, &mut key);
            key
        };
        let texts = ["", "a", "ab", "abcdefgh", "abcdefghi", "\0", "\0a"];
        for left in texts {
            for right in texts {
                assert_eq!(part(left) == part(right), left == right, "{left:?} {right:?}");
            }
        }
    }

    #[test]
    fn only_pods_with_ephemeral_volumes_are_told_apart_by_name() {
        let mut cluster = Cluster::default();
        let mut key = |name: &str, source: VolumeSource| {
            let meta = Meta { name: name.into(), uid: name.into(), ..Meta::default() };
            let volumes = [Volume { name: "v".into(), source }].into();
            let pod = cluster.row(model::Pod { meta, volumes, ..model::Pod::default() });
            let mut key = Key::default();
            key_of_all(&pod, &mut key);
            key
        };
        let claim = || VolumeSource::Claim { name: "c".into(), read_only: false };
        assert_eq!(key("a", claim()), key("b", claim()));
        assert_ne!(key("a", VolumeSource::Ephemeral), key("b", VolumeSource::Ephemeral));
    }
}
