//! Applies what the API server reports: objects, lists, and outcomes of binds.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::api::{Applied, BindOutcome, PodChange, PodState, Wake};
use crate::event::Occurrence;
use crate::model::{Event, Kind, Meta, Object};
use crate::snapshot::Pod;

use super::Engine;

/// Lists under way: what each has named so far.
#[derive(Debug, Default)]
pub(super) struct Lists {
    named: FxHashMap<Kind, FxHashSet<Box<str>>>,
}

/// How a list tells objects apart: pods by uid, others by namespace and name.
fn identity(kind: Kind, meta: &Meta) -> Box<str> {
    match kind {
        Kind::Pod => meta.uid.clone(),
        Kind::Node => meta.name.clone(),
        _ => joined(&meta.namespace, &meta.name),
    }
}

fn joined(namespace: &str, name: &str) -> Box<str> {
    format!("{namespace}/{name}").into_boxed_str()
}

impl Engine {
    /// A full list begins: what it does not name is gone at its end.
    pub fn list_begin(&mut self, kind: Kind) {
        self.lists.named.insert(kind, FxHashSet::default());
    }

    /// A full list ends: objects of the kind that it did not name are deleted.
    pub fn list_end(&mut self, kind: Kind, now_ns: i64, applied: &mut Applied) {
        let Some(named) = self.lists.named.remove(&kind) else { return };
        for meta in self.held(kind) {
            if !named.contains(&identity(kind, &meta)) {
                self.apply(Event::Gone(kind, Box::new(meta)), now_ns, applied);
            }
        }
    }

    fn held(&mut self, kind: Kind) -> Vec<Meta> {
        if kind == Kind::Pod {
            let pods = self.cluster.pods().in_order();
            let uid = |pod: &Pod| Meta { uid: pod.uid.as_ref().into(), ..Meta::default() };
            return pods.into_iter().map(|entry| uid(&entry.pod)).collect();
        }
        let keys = self.cluster.object_keys(kind).into_iter();
        keys.map(|(namespace, name)| Meta { namespace, name, ..Meta::default() }).collect()
    }

    /// One object is there, or gone; also the objects of a list's pages.
    pub fn apply(&mut self, event: Event, _now_ns: i64, applied: &mut Applied) {
        self.cluster.progress().beat();
        match event {
            Event::Present(object) => {
                self.note_version(&object.meta().resource_version);
                if let Some(named) = self.lists.named.get_mut(&object.kind()) {
                    named.insert(identity(object.kind(), object.meta()));
                }
                self.apply_present(object, applied);
            }
            Event::Gone(kind, meta) => {
                self.note_version(&meta.resource_version);
                self.apply_gone(kind, &meta, applied);
            }
        }
    }

    fn apply_present(&mut self, object: Object, applied: &mut Applied) {
        match object {
            Object::Pod(pod) => {
                let uid: Arc<str> = pod.meta.uid.as_ref().into();
                let occurrences = self.cluster.set_pod(Arc::unwrap_or_clone(pod));
                self.tell_of_pod(&uid, &occurrences, applied);
            }
            Object::Node(node) => {
                let occurrence = self.cluster.set_node(Arc::unwrap_or_clone(node));
                self.hear(occurrence.as_slice(), &mut applied.wakes);
            }
            other => {
                let occurrence = self.cluster.set_object(other);
                self.hear(occurrence.as_slice(), &mut applied.wakes);
            }
        }
    }

    /// The answer to a write of ours: the object as the API server has it now.
    pub fn wrote(&mut self, object: Object, applied: &mut Applied) {
        self.note_version(&object.meta().resource_version);
        // A list that began before the write does not name the object.
        if let Some(named) = self.lists.named.get_mut(&object.kind()) {
            named.insert(identity(object.kind(), object.meta()));
        }
        let occurrence = self.cluster.wrote(object);
        self.hear(occurrence.as_slice(), &mut applied.wakes);
    }

    fn apply_gone(&mut self, kind: Kind, meta: &Meta, applied: &mut Applied) {
        match kind {
            Kind::Pod => {
                let occurrences = self.cluster.remove_pod(&meta.uid);
                self.tell_of_pod(&meta.uid.as_ref().into(), &occurrences, applied);
            }
            Kind::Node => {
                let occurrence = self.cluster.remove_node(&meta.name);
                if occurrence.is_some() {
                    applied.deleted_nodes.push(meta.name.clone());
                }
                self.hear(occurrence.as_slice(), &mut applied.wakes);
            }
            other => {
                let occurrence = self.cluster.remove_object(other, &meta.namespace, &meta.name);
                self.hear(occurrence.as_slice(), &mut applied.wakes);
            }
        }
    }

    fn tell_of_pod(&mut self, uid: &Arc<str>, occurrences: &[Occurrence], applied: &mut Applied) {
        let gates_gone = |occurrence: &Occurrence| {
            matches!(occurrence, Occurrence::Pod { old: Some(old), new: Some(new), .. }
                if old.is_gated() && !new.is_gated())
        };
        match self.cluster.pods().get(uid) {
            Some(entry) => {
                if entry.node().is_some() {
                    self.parked.remove(uid);
                } else if occurrences.iter().any(gates_gone) {
                    let event = self.program.followed.release().gates_gone();
                    applied.wakes.push(Wake { uid: Arc::clone(uid), event });
                }
                applied.pods.push(self.change(entry));
            }
            None => {
                self.parked.remove(uid);
                let of_pod = |occurrence: &Occurrence| match occurrence {
                    Occurrence::Pod { old: Some(old), .. } => Some(Arc::clone(old)),
                    _ => None,
                };
                if let Some(pod) = occurrences.iter().find_map(of_pod) {
                    applied.pods.push(self.gone(&pod));
                }
            }
        }
        self.hear(occurrences, &mut applied.wakes);
    }

    fn gone(&self, pod: &Pod) -> PodChange {
        PodChange {
            state: PodState::Gone,
            uid: Arc::clone(&pod.uid),
            namespace: Arc::clone(pod.namespace()),
            name: Arc::clone(&pod.name),
            priority: pod.priority(),
            scheduler_name: Arc::clone(&pod.template.scheduler_name),
            gated: pod.is_gated(),
            node: Arc::clone(&self.empty),
            nominated_node: Arc::clone(&self.empty),
            created_ns: pod.created_seconds.unwrap_or(0).saturating_mul(1_000_000_000),
            generation: pod.generation,
        }
    }

    fn hear(&mut self, occurrences: &[Occurrence], wakes: &mut Vec<Wake>) {
        for occurrence in occurrences {
            self.parked.hear(occurrence, &self.program, &self.cluster, wakes);
            self.waiting.hear(occurrence, &self.program, wakes);
        }
    }

    /// Versions of one cluster are numbers that grow (comparable since 1.35, and ever so in etcd).
    fn note_version(&mut self, version: &str) {
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        if number(version) > number(&self.resource_version) {
            self.resource_version = version.into();
        }
    }

    /// What became of making room for a pod: who was evicted, and whether that was all. If it was
    /// not, the node is no longer held for the pod.
    pub fn settle_room(
        &mut self,
        uid: &str,
        evicted: &[Arc<str>],
        is_made: bool,
        applied: &mut Applied,
    ) {
        for victim in evicted {
            self.cluster.note_eviction(victim);
        }
        if !is_made {
            let occurrence = self.cluster.renounce(uid);
            self.hear(occurrence.as_slice(), &mut applied.wakes);
        }
    }

    /// What became of binds.
    pub fn settle(
        &mut self,
        outcomes: &[(Arc<str>, BindOutcome)],
        _now_ns: i64,
        applied: &mut Applied,
    ) {
        for (uid, outcome) in outcomes {
            let freed = self.cluster.settle_promises(uid);
            self.hear(&freed, &mut applied.wakes);
            match outcome {
                // The watch will confirm; until then the reservation stands.
                BindOutcome::Bound => {}
                BindOutcome::Failed => {
                    let occurrences = self.cluster.forget(uid);
                    self.hear(&occurrences, &mut applied.wakes);
                }
                BindOutcome::Gone => {
                    let occurrences = self.cluster.remove_pod(uid);
                    self.parked.remove(uid);
                    self.hear(&occurrences, &mut applied.wakes);
                }
            }
        }
    }
}
