//! Objects that this process has written, until the watch shows them: an older state, which the watch
//! or a list may still bring, changes nothing meanwhile.
//!
//! Versions of one cluster are numbers that grow.

use rustc_hash::FxHashMap;

use crate::model::{Kind, Meta, Object};

use super::Cluster;
use super::occurrence::Occurrence;
use super::promises::{ObjectKey, key_of};

#[derive(Debug, Default)]
pub(crate) struct Written {
    versions: FxHashMap<ObjectKey, u64>,
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

impl Written {
    /// Whether a state is older than what was written. Otherwise the watch has caught up, and the write
    /// is forgotten.
    pub(super) fn overtakes(&mut self, kind: Kind, meta: &Meta) -> bool {
        if self.versions.is_empty() {
            return false;
        }
        let key = key_of(kind, meta);
        let is_older = self
            .versions
            .get(&key)
            .is_some_and(|written| number(&meta.resource_version) < *written);
        if !is_older {
            self.versions.remove(&key);
        }
        is_older
    }

    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.versions.remove(key);
    }
}

impl Cluster {
    /// Takes the answer to a write: the object as the API server has it now. The watch may have shown
    /// a newer state already, or that the object is gone.
    pub(crate) fn wrote(&mut self, object: Object) -> Option<Occurrence> {
        let (kind, meta) = (object.kind(), object.meta().clone());
        let Object::ResourceClaim(claim) = &object else { return self.set_object(object) };
        let held = self.objects.resource_claims.get(&meta.namespace, &meta.name);
        let shown = self.confirmed_resource_claim(&meta.namespace, &meta.name).or(held);
        let is_late = shown.is_some_and(|shown| {
            number(&shown.meta.resource_version) >= number(&meta.resource_version)
        });
        // The claim for extended resources is new to the snapshot.
        if is_late || (shown.is_none() && !claim.is_for_extended_resources()) {
            return None;
        }
        let occurrence = self.set_object(object);
        self.written.versions.insert(key_of(kind, &meta), number(&meta.resource_version));
        occurrence
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Allocation, Kind, Meta, Object, ResourceClaim};
    use crate::snapshot::Cluster;

    fn claim(version: &str, is_allocated: bool) -> Object {
        let meta = Meta {
            namespace: "n".into(),
            name: "c".into(),
            uid: "u".into(),
            resource_version: version.into(),
            ..Meta::default()
        };
        let allocation = is_allocated.then(|| Allocation::default().into());
        Object::ResourceClaim(ResourceClaim { meta, allocation, ..ResourceClaim::default() }.into())
    }

    fn is_allocated(cluster: &Cluster) -> bool {
        let claim = cluster.objects().resource_claims.get("n", "c");
        claim.is_some_and(|claim| claim.allocation.is_some())
    }

    #[test]
    fn an_older_state_does_not_undo_a_write() {
        let mut cluster = Cluster::default();
        cluster.set_object(claim("1", false));
        cluster.wrote(claim("5", true));
        cluster.set_object(claim("3", false));
        assert!(is_allocated(&cluster));
        cluster.set_object(claim("5", true));
        cluster.set_object(claim("7", false));
        assert!(!is_allocated(&cluster));
    }

    #[test]
    fn an_answer_that_comes_after_the_watch_changes_nothing() {
        let mut cluster = Cluster::default();
        cluster.set_object(claim("7", false));
        cluster.wrote(claim("5", true));
        assert!(!is_allocated(&cluster));
        cluster.remove_object(Kind::ResourceClaim, "n", "c");
        cluster.wrote(claim("9", true));
        assert!(!is_allocated(&cluster));
    }

    #[test]
    fn devices_stay_in_use_if_the_bind_fails_before_the_watch_shows_the_write() {
        let mut cluster = Cluster::default();
        cluster.set_object(claim("1", false));
        let pod: std::sync::Arc<str> = "p".into();
        cluster.promise(&pod, vec![claim("1", true)], &[]);
        cluster.wrote(claim("2", false));
        cluster.wrote(claim("3", true));
        cluster.break_promises(&pod);
        assert!(is_allocated(&cluster));
    }
}
