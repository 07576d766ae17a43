//! Objects that decisions rely on before the API server shows them, for example volumes promised to
//! claims.
//!
//! The object in the snapshot is the promised one; what the API server showed last is kept beside
//! it. A promise ends when the API server shows a new version of the object, or when the last pod
//! that holds it gives it up. It never ends by time. The allocation of a claim on devices is written
//! in two steps: until the second one shows, its promise stands.
//!
//! A pod that is deleted or bound elsewhere gives up what was promised to it only once its
//! reservation is settled: until then its claims may still be written, and their devices would be
//! given to another pod too. kube-scheduler gives them up in Unreserve, not at the pod's deletion.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Meta, Object, PersistentVolume, PersistentVolumeClaim, ResourceClaim};

use super::Cluster;
use super::objects::Replaced;
use super::occurrence::Occurrence;

/// Kind, namespace and name.
pub(super) type ObjectKey = (Kind, Box<str>, Box<str>);

pub(super) fn key_of(kind: Kind, meta: &Meta) -> ObjectKey {
    (kind, meta.namespace.clone(), meta.name.clone())
}

#[derive(Debug)]
struct Promise {
    /// As the API server showed it last; `None`: it has no such object yet.
    confirmed: Option<Object>,
    holders: Vec<Arc<str>>,
}

#[derive(Debug, Default)]
pub(crate) struct Promises {
    by_object: BTreeMap<ObjectKey, Promise>,
    /// The holders whose reservation is not settled.
    unsettled: FxHashMap<Arc<str>, PodIs>,
}

/// Whether the pod of an unsettled reservation left its node meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PodIs {
    There,
    Gone,
}

impl Promises {
    pub(crate) fn len(&self) -> usize {
        self.by_object.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_object.is_empty()
    }

    /// One holder more, if the object is promised.
    pub(super) fn join(&mut self, key: &ObjectKey, uid: &Arc<str>) -> bool {
        let Some(promise) = self.by_object.get_mut(key) else { return false };
        if !promise.holders.contains(uid) {
            promise.holders.push(Arc::clone(uid));
        }
        true
    }

    pub(super) fn make(&mut self, key: ObjectKey, confirmed: Option<Object>, uid: &Arc<str>) {
        self.by_object.insert(key, Promise { confirmed, holders: vec![Arc::clone(uid)] });
    }

    pub(super) fn confirmed(&self, key: &ObjectKey) -> Option<&Object> {
        self.by_object.get(key)?.confirmed.as_ref()
    }

    /// Whether an object is promised that the API server does not have.
    pub(super) fn is_only_promised(&self, key: &ObjectKey) -> bool {
        self.by_object.get(key).is_some_and(|promise| promise.confirmed.is_none())
    }

    /// The API server shows a new state, and the promise stands.
    pub(super) fn confirm(&mut self, key: &ObjectKey, confirmed: Object) {
        if let Some(promise) = self.by_object.get_mut(key) {
            promise.confirmed = Some(confirmed);
        }
    }

    pub(super) fn end(&mut self, key: &ObjectKey) {
        self.by_object.remove(key);
    }

    /// From now on what is promised to this pod may be written, until its reservation is settled.
    fn begin(&mut self, uid: &Arc<str>) {
        self.unsettled.insert(Arc::clone(uid), PodIs::There);
    }

    /// A pod left. Returns whether it holds its promises until its reservation is settled.
    fn leave(&mut self, uid: &str) -> bool {
        let unsettled = self.unsettled.get_mut(uid);
        unsettled.map(|pod| *pod = PodIs::Gone).is_some()
    }

    /// Nothing is written for this pod any more. Returns whether it left meanwhile.
    fn settle(&mut self, uid: &str) -> bool {
        self.unsettled.remove(uid) == Some(PodIs::Gone)
    }

    /// The API server's versions of objects that no pod holds any more.
    fn give_up(&mut self, uid: &str) -> Vec<(ObjectKey, Option<Object>)> {
        self.unsettled.remove(uid);
        let mut freed = Vec::new();
        self.by_object.retain(|key, promise| {
            promise.holders.retain(|holder| **holder != *uid);
            if promise.holders.is_empty() {
                freed.push((key.clone(), promise.confirmed.clone()));
            }
            !promise.holders.is_empty()
        });
        freed
    }
}

impl Cluster {
    /// Lets objects stand as they are going to be once a pod is bound, so that other pods see them
    /// so. `relied_on` are those that must stay as they are, promised or not.
    pub(crate) fn promise(
        &mut self,
        uid: &Arc<str>,
        objects: Vec<Object>,
        relied_on: &[(Kind, Meta)],
    ) {
        if !(objects.is_empty() && relied_on.is_empty()) {
            self.promises.begin(uid);
        }
        for (kind, meta) in relied_on {
            self.promises.join(&key_of(*kind, meta), uid);
        }
        for object in objects {
            let key = key_of(object.kind(), object.meta());
            if self.promises.join(&key, uid) {
                continue;
            }
            let Some(replaced) = self.objects.set(object) else { continue };
            if replaced.old != replaced.new {
                self.promises.make(key, replaced.old.clone(), uid);
                self.note_object(replaced);
            }
        }
    }

    /// Keeps an object of another kind than pods and nodes.
    pub fn set_object(&mut self, object: Object) -> Option<Occurrence> {
        if self.written.overtakes(object.kind(), object.meta()) {
            return None;
        }
        let key = (!self.promises.is_empty()).then(|| key_of(object.kind(), object.meta()));
        if let Some(key) = &key {
            if self.is_still_promised(key, &object) {
                self.promises.confirm(key, object);
                return None;
            }
            self.end_stand_in(&object);
        }
        let replaced = self.objects.set(object)?;
        if let Some((confirmed, key)) =
            key.and_then(|key| Some((self.promises.confirmed(&key)?, key)))
        {
            if replaced.new.as_ref() == Some(confirmed) {
                // Said before: the promise stands.
                replaced.old.and_then(|own| self.objects.set(own));
                return None;
            }
            self.promises.end(&key);
        }
        (replaced.old != replaced.new).then(|| self.note_object(replaced))
    }

    /// Deletes an object of another kind; `None` if it is not there.
    pub fn remove_object(&mut self, kind: Kind, namespace: &str, name: &str) -> Option<Occurrence> {
        let replaced = self.objects.remove(kind, namespace, name)?;
        let key = (kind, namespace.into(), name.into());
        self.promises.end(&key);
        self.written.forget(&key);
        Some(self.note_object(replaced))
    }

    /// Namespace and name of all objects of a kind (not of pods, which go by uid).
    pub(crate) fn object_keys(&self, kind: Kind) -> Vec<(Box<str>, Box<str>)> {
        match kind {
            Kind::Node => {
                self.nodes.iter().map(|view| ("".into(), view.node.name.as_ref().into())).collect()
            }
            _ => {
                let mut keys = self.objects.keys(kind);
                keys.retain(|(namespace, name)| {
                    let key = (kind, namespace.clone(), name.clone());
                    !self.promises.is_only_promised(&key)
                });
                keys
            }
        }
    }

    /// A volume as the API server showed it last, whatever is promised.
    pub(crate) fn confirmed_volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        match self.confirmed(Kind::PersistentVolume, "", name) {
            Some(Object::PersistentVolume(volume)) => Some(volume),
            _ => self.objects.volumes.get("", name),
        }
    }

    /// As [`Cluster::told_volume`].
    pub(crate) fn confirmed_claim(
        &self,
        namespace: &str,
        name: &str,
    ) -> Option<&Arc<PersistentVolumeClaim>> {
        match self.confirmed(Kind::PersistentVolumeClaim, namespace, name) {
            Some(Object::PersistentVolumeClaim(claim)) => Some(claim),
            _ => self.objects.claims.get(namespace, name),
        }
    }

    /// A claim on devices as the API server showed it last, if something else is promised of it.
    pub(crate) fn confirmed_resource_claim(
        &self,
        namespace: &str,
        name: &str,
    ) -> Option<&Arc<ResourceClaim>> {
        match self.confirmed(Kind::ResourceClaim, namespace, name) {
            Some(Object::ResourceClaim(claim)) => Some(claim),
            _ => None,
        }
    }

    /// Whether a new state of a claim leaves the allocation standing that is promised: another one was
    /// not written. Otherwise its devices would be free between two writes.
    pub(super) fn is_still_promised(&self, key: &ObjectKey, new: &Object) -> bool {
        let Object::ResourceClaim(new) = new else { return false };
        let (_, namespace, name) = key;
        let promised = self.objects.resource_claims.get(namespace, name);
        let is_known = self.promises.confirmed(key).is_some();
        is_known
            && new.allocation.is_none()
            && promised.is_some_and(|promised| {
                promised.allocation.is_some() && promised.meta.uid == new.meta.uid
            })
    }

    /// The claim that was made for the extended resources of a pod takes the place of its stand-in.
    pub(super) fn end_stand_in(&mut self, new: &Object) {
        let Object::ResourceClaim(claim) = new else { return };
        if !claim.is_for_extended_resources() || claim.allocation.is_none() {
            return;
        }
        let Some(owner) = &claim.owner else { return };
        let name = ResourceClaim::stand_in_name(&owner.uid);
        let key = (Kind::ResourceClaim, claim.meta.namespace.clone(), name.into());
        if self.promises.is_only_promised(&key) {
            self.promises.end(&key);
            if let Some(replaced) = self.objects.remove(key.0, &key.1, &key.2) {
                self.note_object(replaced);
            }
        }
    }

    fn confirmed(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Object> {
        self.promises.confirmed(&(kind, namespace.into(), name.into()))
    }

    /// A pod is deleted, or is on another node than it was placed on.
    pub(super) fn leave_promises(&mut self, uid: &str) -> Vec<Occurrence> {
        if self.promises.leave(uid) { Vec::new() } else { self.break_promises(uid) }
    }

    /// The reservation of a pod has ended: nothing is written for it any more.
    pub(crate) fn settle_promises(&mut self, uid: &str) -> Vec<Occurrence> {
        if self.promises.settle(uid) { self.break_promises(uid) } else { Vec::new() }
    }

    /// Gives up what was promised to a pod: objects that no other pod counts on are again as the API
    /// server has them.
    pub(super) fn break_promises(&mut self, uid: &str) -> Vec<Occurrence> {
        let freed = self.promises.give_up(uid);
        let before =
            freed.into_iter().filter_map(|((kind, namespace, name), confirmed)| match confirmed {
                Some(object) => self.objects.set(object),
                None => self.objects.remove(kind, &namespace, &name),
            });
        let replaced: Vec<Replaced> = before.collect();
        replaced.into_iter().map(|replaced| self.note_object(replaced)).collect()
    }
}
