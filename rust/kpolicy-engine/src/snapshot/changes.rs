//! How the snapshot changes: objects applied, pods assumed and forgotten.
//!
//! Every change keeps loads, columns, census and log in step and tells what happened.
//! Specification: a terminal pod is as good as deleted; a pod on an unknown node waits for it; what
//! the API server says of a pod's node supersedes an assumption, and what it says of an object a
//! promise.

use std::sync::Arc;

use crate::model;

use super::Cluster;
use super::log::Change;
use super::node::{NodeParts, NodeSlot};
use super::objects::Replaced;
use super::occurrence::Occurrence;
use super::pod::Pod;
use super::pods::{Place, PodEntry};

impl Cluster {
    /// Puts nodes in order of their names and of their zones, as a cycle does before it chooses among them.
    pub fn settle_order(&mut self) {
        self.nodes.settle();
    }

    /// Puts nodes in order of their names only: for explanations and for decisions that are only compared.
    pub(crate) fn settle_names(&mut self) {
        self.nodes.settle_names();
    }

    /// Adds or replaces a node; `None` if nothing that rules read differs.
    pub fn set_node(&mut self, object: model::Node) -> Option<Occurrence> {
        let new = Arc::new(self.tables.node(object));
        let old = self.nodes.find(&new.name).and_then(|slot| self.nodes.shared(slot));
        let parts = match &old {
            None => NodeParts::ALL,
            Some(old) => old.changed_parts(&new),
        };
        if parts.is_empty() {
            return None;
        }
        let slot = self.nodes.set(Arc::clone(&new))?;
        self.log.push(Change::Node(slot, parts));
        if old.is_none() {
            for pod in self.pods.waiting_for(&new.name) {
                self.put_on(slot, pod);
            }
        }
        Some(Occurrence::Node { old, new: Some(new), parts })
    }

    /// Deletes a node; its pods wait until a node of that name appears.
    pub fn remove_node(&mut self, name: &str) -> Option<Occurrence> {
        let (slot, node, pods) = self.nodes.remove(name)?;
        for pod in pods {
            self.census.take(slot, &pod);
            self.log.push(Change::PodTaken(slot, Arc::clone(&pod)));
            self.pods.wait(&node.name, pod);
        }
        self.log.push(Change::Node(slot, NodeParts::ALL));
        Some(Occurrence::Node { old: Some(node), new: None, parts: NodeParts::ALL })
    }

    /// What became of a pod that the API server showed. `None` if nothing did.
    pub fn set_pod(&mut self, object: model::Pod) -> Vec<Occurrence> {
        if object.phase.is_terminal() {
            return self.remove_pod(&object.meta.uid);
        }
        let new = self.row(object);
        if new.is_terminating {
            self.evictions.end(&new.uid);
        }
        let old = self.pods.get(&new.uid).cloned();
        if let Some(entry) = &old {
            self.release(entry, Some(&new));
        }
        let old_pod = old.as_ref().map(|entry| Arc::clone(&entry.pod));
        if new.node_name.is_empty() {
            self.set_waiting_pod(new, old)
        } else {
            let mut occurrences = self.leaves(&new, old.as_ref());
            self.nominations.remove(&new.uid);
            let was_on_node = old
                .as_ref()
                .is_some_and(|entry| matches!(entry.place, Place::On { is_assumed: false, .. }));
            let is_elsewhere =
                |entry: &PodEntry| entry.node().is_some_and(|node| **node != *new.node_name);
            let is_moved = old.as_ref().is_some_and(is_elsewhere);
            self.set_pod_on_node(Arc::clone(&new), old);
            if is_moved {
                occurrences.extend(self.leave_promises(&new.uid));
            }
            let old = old_pod.filter(|old| was_on_node && !is_moved && old.holds_like(&new));
            occurrences.push(Occurrence::Pod { old, new: Some(new), is_assigned: true });
            occurrences
        }
    }

    /// What becomes free when the API server shows a pod on a node: its room elsewhere, or what it held
    /// there beyond what it is now.
    fn leaves(&mut self, new: &Pod, old: Option<&PodEntry>) -> Vec<Occurrence> {
        let gone = |pod: &Arc<Pod>| {
            let old = Some(Arc::clone(pod));
            Occurrence::Pod { old, new: None, is_assigned: true }
        };
        let mut occurrences = self.settle_renounced(&new.uid);
        let Some(entry) = old else { return occurrences };
        match &entry.place {
            Place::On { node, held, is_assumed } => {
                let is_same = **node == *new.node_name
                    && if *is_assumed { held.asks_like(new) } else { held.holds_like(new) };
                if !is_same {
                    occurrences.push(gone(held));
                }
            }
            Place::Pending => {
                let held = self.nominations.node_of(&new.uid);
                let is_same =
                    |node: &Arc<str>| **node == *new.node_name && entry.pod.asks_like(new);
                if held.is_some_and(|node| !is_same(node)) {
                    occurrences.push(gone(&entry.pod));
                }
            }
        }
        occurrences
    }

    /// A decision can take the place of a nominated pod; wakes follow when the API server shows it.
    fn settle_renounced(&mut self, uid: &str) -> Vec<Occurrence> {
        let renounced = self.nominations.settle(uid);
        let of_pod = |pod| Occurrence::Pod { old: Some(pod), new: None, is_assigned: true };
        renounced.map(of_pod).into_iter().collect()
    }

    fn set_pod_on_node(&mut self, new: Arc<Pod>, old: Option<PodEntry>) {
        let node = Arc::clone(&new.node_name);
        let same = old.as_ref().and_then(|entry| match &entry.place {
            Place::On { node: have, held, .. } => {
                (*have == node && held.weighs_as(&new)).then_some(held)
            }
            Place::Pending => None,
        });
        if let Some(held) = same {
            // A bind confirmed, or a status that no rule reads: nothing is to be judged anew.
            match self.nodes.find(&node) {
                Some(slot) => self.nodes.replace(slot, held, &new),
                None => {
                    self.pods.stop_waiting(&node, &new.uid);
                    self.pods.wait(&node, Arc::clone(&new));
                }
            }
            let place = Place::On { node, held: Arc::clone(&new), is_assumed: false };
            self.pods.set(PodEntry { pod: new, place });
            return;
        }
        if let Some(entry) = &old {
            self.take_off(entry);
        }
        self.put(new, node);
    }

    fn set_waiting_pod(&mut self, new: Arc<Pod>, old: Option<PodEntry>) -> Vec<Occurrence> {
        let mut occurrences = self.settle_renounced(&new.uid);
        let old_pod = old.as_ref().map(|entry| Arc::clone(&entry.pod));
        let place = match old {
            // An update that does not know of our bind yet leaves the reservation as it is.
            Some(PodEntry { place: place @ Place::On { is_assumed: true, .. }, .. }) => place,
            Some(entry) => {
                if entry.node().is_some() {
                    self.take_off(&entry);
                    occurrences.extend(self.break_promises(&new.uid));
                    let old = Some(entry.frees());
                    occurrences.push(Occurrence::Pod { old, new: None, is_assigned: true });
                }
                Place::Pending
            }
            None => Place::Pending,
        };
        let is_pending = matches!(place, Place::Pending);
        self.pods.set(PodEntry { pod: Arc::clone(&new), place });
        if is_pending {
            self.renominate(&new, old_pod.as_deref(), &mut occurrences);
        }
        if let Some(old) = old_pod {
            occurrences.push(Occurrence::Pod {
                old: Some(old),
                new: Some(new),
                is_assigned: false,
            });
        }
        occurrences
    }

    /// Follows a pod's `status.nominatedNodeName`. kube-scheduler preserves its own nomination if
    /// neither the old nor the new object has one.
    fn renominate(&mut self, new: &Arc<Pod>, old: Option<&Pod>, out: &mut Vec<Occurrence>) {
        let had = old.is_some_and(|old| !old.nominated_node_name.is_empty());
        // kube-scheduler does so also if it gave up the nomination before the API server knew of
        // it.
        let was_changed =
            had && old.is_some_and(|old| old.nominated_node_name != new.nominated_node_name);
        let before = self.nominations.node_of(&new.uid).cloned();
        if !new.nominated_node_name.is_empty() {
            self.nominations.set(new, &new.nominated_node_name);
        } else if had {
            self.nominations.remove(&new.uid);
        } else if let Some(node) = &before {
            self.nominations.set(new, node);
        }
        let is_moved = before.is_some() && self.nominations.node_of(&new.uid) != before.as_ref();
        let is_another = before.is_some() && old.is_some_and(|old| !old.asks_like(new));
        if is_moved || was_changed || is_another {
            let old = Some(old.map_or_else(|| Arc::clone(new), |old| Arc::new(old.clone())));
            out.push(Occurrence::Pod { old, new: None, is_assigned: true });
        }
    }

    /// Deletes a pod and its nomination.
    pub fn remove_pod(&mut self, uid: &str) -> Vec<Occurrence> {
        let Some(entry) = self.pods.remove(uid) else { return Vec::new() };
        self.release(&entry, None);
        self.evictions.end(uid);
        let was_nominated = self.nominations.remove(uid);
        let is_assigned = was_nominated || entry.node().is_some();
        self.take_held(&entry);
        let mut occurrences = self.settle_renounced(uid);
        occurrences.extend(self.leave_promises(uid));
        occurrences.push(Occurrence::Pod { old: Some(entry.frees()), new: None, is_assigned });
        occurrences
    }

    /// What an entry holds is not needed any more, but for what it shares with the row in its place.
    pub(super) fn release(&mut self, entry: &PodEntry, new: Option<&Pod>) {
        self.tables.release(&entry.pod, new);
        if let Place::On { held, .. } = &entry.place
            && !Arc::ptr_eq(held, &entry.pod)
        {
            self.tables.release(held, new);
        }
    }

    /// Keeps room for a pending pod on a node, until it is confirmed, forgotten or superseded. There it
    /// has the annotations that its bind is going to write.
    pub(crate) fn assume(
        &mut self,
        uid: &str,
        slot: NodeSlot,
        annotations: &[(Box<str>, Box<str>)],
    ) -> bool {
        let Some(node) = self.nodes.view(slot).map(|view| Arc::clone(&view.node.name)) else {
            return false;
        };
        match self.pods.get(uid) {
            Some(PodEntry { pod, place: Place::Pending }) => {
                let pod = Arc::clone(pod);
                // On the node that was held for it, nothing becomes free for others.
                if self.nominations.node_of(uid) == Some(&node) {
                    self.nominations.remove(uid);
                } else {
                    self.nominations.renounce(&pod);
                }
                let held = self.tables.annotated(&pod, annotations);
                let place = Place::On { node, held: Arc::clone(&held), is_assumed: true };
                self.pods.set(PodEntry { pod, place });
                self.put_on(slot, held);
                true
            }
            _ => false,
        }
    }

    /// Gives up the room of an assumed pod, which is pending again.
    pub(crate) fn forget(&mut self, uid: &str) -> Vec<Occurrence> {
        let Some(entry) = self.pods.get(uid).filter(|entry| entry.is_assumed()).cloned() else {
            return Vec::new();
        };
        self.take_off(&entry);
        let mut occurrences = self.settle_renounced(uid);
        occurrences.extend(self.break_promises(uid));
        let pod = Arc::clone(&entry.pod);
        if !pod.nominated_node_name.is_empty() {
            self.nominations.set(&pod, &pod.nominated_node_name);
        }
        let old = Some(entry.frees());
        occurrences.push(Occurrence::Pod { old, new: None, is_assigned: true });
        occurrences
    }

    /// Takes a pod off its node to judge it as if it were not there; to be put back before anything
    /// else happens.
    pub(crate) fn lift(&mut self, uid: &str) -> Option<PodEntry> {
        let entry = self.pods.get(uid).filter(|entry| entry.node().is_some())?.clone();
        self.take_off(&entry);
        Some(entry)
    }

    /// As [`Cluster::lift`]; the pod is pending meanwhile, as if it had been placed nowhere.
    pub(crate) fn lift_as_pending(&mut self, uid: &str) -> Option<PodEntry> {
        let lifted = self.lift(uid)?;
        let pod = Arc::new(lifted.pod.unplaced());
        self.pods.set(PodEntry { pod, place: Place::Pending });
        Some(lifted)
    }

    /// Undoes [`Cluster::lift`].
    pub(crate) fn put_back(&mut self, entry: PodEntry) {
        if let Place::On { node, held, .. } = &entry.place {
            match self.nodes.find(node) {
                Some(slot) => self.put_on(slot, Arc::clone(held)),
                None => self.pods.wait(node, Arc::clone(held)),
            }
        }
        self.pods.set(entry);
    }

    /// Holds a node for a pending pod while preemption makes room; an empty name lets go.
    pub(crate) fn nominate(&mut self, uid: &str, node: &Arc<str>) {
        if let Some(PodEntry { pod, place: Place::Pending }) = self.pods.get(uid) {
            let pod = Arc::clone(pod);
            if self.nominations.node_of(uid) != Some(node) {
                self.nominations.renounce(&pod);
            }
            if !node.is_empty() {
                self.nominations.set(&pod, node);
            }
        }
    }

    /// Gives up what is held for a pending pod; whom that may help hears of it as of a pod deleted.
    pub(crate) fn renounce(&mut self, uid: &str) -> Option<Occurrence> {
        let pod = Arc::clone(&self.pods.get(uid)?.pod);
        let was_held = self.nominations.remove(uid);
        let was_renounced = self.nominations.settle(uid).is_some();
        (was_held || was_renounced).then_some(Occurrence::Pod {
            old: Some(pod),
            new: None,
            is_assigned: true,
        })
    }

    /// A pod is leaving, although the watch has not shown it yet.
    pub(crate) fn note_eviction(&mut self, uid: &Arc<str>) {
        if self.pods.get(uid).is_some_and(|entry| !entry.pod.is_terminating) {
            self.evictions.note(uid);
        }
    }

    pub(super) fn note_object(&mut self, replaced: Replaced) -> Occurrence {
        self.read_labels.follow_object(&replaced);
        self.follow_tenant(&replaced);
        self.log.push(Change::Object(replaced.kind));
        Occurrence::Object(replaced)
    }

    /// Puts a pod where the API server shows it.
    fn put(&mut self, pod: Arc<Pod>, node: Arc<str>) {
        let (slot, held) = (self.nodes.find(&node), Arc::clone(&pod));
        let place =
            Place::On { node: Arc::clone(&node), held: Arc::clone(&held), is_assumed: false };
        self.pods.set(PodEntry { pod, place });
        match slot {
            Some(slot) => self.put_on(slot, held),
            None => self.pods.wait(&node, held),
        }
    }

    fn put_on(&mut self, slot: NodeSlot, pod: Arc<Pod>) {
        self.nodes.put(slot, Arc::clone(&pod));
        self.census.put(slot, &pod);
        self.log.push(Change::PodPut(slot, pod));
    }

    /// Takes a pod off its node; it is pending then.
    pub(super) fn take_off(&mut self, entry: &PodEntry) {
        self.take_held(entry);
        self.pods.set(PodEntry { pod: Arc::clone(&entry.pod), place: Place::Pending });
    }

    fn take_held(&mut self, entry: &PodEntry) {
        let Place::On { node, held, .. } = &entry.place else { return };
        match self.nodes.find(node) {
            Some(slot) => {
                self.nodes.take(slot, &held.uid);
                self.census.take(slot, held);
                self.log.push(Change::PodTaken(slot, Arc::clone(held)));
            }
            None => self.pods.stop_waiting(node, &held.uid),
        }
    }
}
