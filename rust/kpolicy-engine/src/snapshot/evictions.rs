//! Evictions that the API server has accepted and the watch has not shown yet.
//!
//! Each uid is that of a pod in the snapshot. An entry ends when the pod is shown as terminating or
//! is removed, so there are never more entries than pods.

use std::sync::Arc;

use rustc_hash::FxHashSet;

#[derive(Debug, Default)]
pub(crate) struct Evictions {
    uids: FxHashSet<Arc<str>>,
}

impl Evictions {
    pub(crate) fn contains(&self, uid: &str) -> bool {
        !self.uids.is_empty() && self.uids.contains(uid)
    }

    pub(super) fn note(&mut self, uid: &Arc<str>) {
        self.uids.insert(Arc::clone(uid));
    }

    pub(super) fn end(&mut self, uid: &str) {
        self.uids.remove(uid);
    }
}
