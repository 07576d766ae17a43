//! The state behind the mutex: the engine, and which lists were cut short.
//!
//! A list with a page that could not be read whole deletes nothing: an object that it does not name
//! may still exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use kpolicy_codec::{Feed, Status};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Kind};
use kpolicy_engine::threads::Threads;

pub(crate) struct Held {
    pub core: Engine,
    broken: BTreeMap<Kind, Status>,
}

impl Held {
    pub(crate) fn new(seed: u64, decided: u64, threads: Arc<Threads>) -> Self {
        let core = Engine::with_threads(seed, threads).after(decided);
        Self { core, broken: BTreeMap::new() }
    }

    pub(crate) fn list_begin(&mut self, kind: Kind) {
        self.broken.remove(&kind);
        self.core.list_begin(kind);
    }

    pub(crate) fn page_read(&mut self, kind: Kind, feed: &Feed) {
        if let Some(status) = &feed.status {
            self.broken.insert(kind, status.clone());
        }
    }

    pub(crate) fn list_end(&mut self, kind: Kind, now_ns: i64) -> (Feed, Applied) {
        let mut applied = Applied::default();
        let status = self.broken.remove(&kind);
        if status.is_none() {
            self.core.list_end(kind, now_ns, &mut applied);
        }
        (Feed { status, ..Feed::default() }, applied)
    }
}
