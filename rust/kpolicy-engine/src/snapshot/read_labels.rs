//! Which labels of pods any selector in the snapshot may read, and a pod as selectors see it.
//!
//! Selectors are those of the affinity and the spreading of all pods that ever were, on nodes or not,
//! of services and of controllers. Keys are only added: a pod that is not there any more most likely
//! has others alike. Two pods of a namespace that are seen alike meet the same selectors, now and for as
//! long as no key is added; what is seen names how many keys there were.

use rustc_hash::FxHashMap;

use crate::model::{Object, Selector};

use super::objects::Replaced;
use super::pod::Pod;

/// With more keys than that, all labels of a pod count, so that nobody can fill the memory with keys.
const KEYS_MAX: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct ReadLabels {
    /// With a number for each.
    keys: FxHashMap<Box<str>, u64>,
    are_too_many: bool,
}

impl ReadLabels {
    /// How many keys are read; `None` where all labels of a pod count.
    pub(crate) fn count(&self) -> Option<usize> {
        (!self.are_too_many).then_some(self.keys.len())
    }

    /// The labels of a pod that are read: the number of the key, and the value.
    pub(crate) fn of<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = (u64, &'a str)> {
        let labels = pod.labels().iter();
        labels.filter_map(|(key, value)| Some((*self.keys.get(key)?, value)))
    }

    /// Follows a pod that is new, or may have become another.
    pub(super) fn follow_pod(&mut self, pod: &Pod) {
        let affinity = &pod.template.pod_affinity;
        let required = affinity.required.iter().chain(&affinity.anti_required);
        let preferred = affinity.preferred.iter().chain(&affinity.anti_preferred);
        for term in required.chain(preferred.map(|(_, term)| term)) {
            self.add_selector(term.label_selector.as_ref());
        }
        for constraint in pod.template.spread.iter() {
            self.add_selector(constraint.label_selector.as_ref());
            constraint.match_label_keys.iter().for_each(|key| self.add(key));
        }
    }

    pub(super) fn follow_object(&mut self, replaced: &Replaced) {
        match &replaced.new {
            Some(Object::Service(service)) => {
                service.selector.iter().for_each(|(key, _)| self.add(key));
            }
            Some(
                Object::ReplicationController(controller)
                | Object::ReplicaSet(controller)
                | Object::StatefulSet(controller),
            ) => self.add_selector(controller.selector.as_ref()),
            _ => {}
        }
    }

    fn add_selector(&mut self, selector: Option<&Selector>) {
        let requirements = selector.into_iter().flat_map(|selector| &selector.requirements);
        requirements.for_each(|requirement| self.add(&requirement.key));
    }

    fn add(&mut self, key: &str) {
        if self.are_too_many || self.keys.contains_key(key) {
            return;
        }
        if self.keys.len() == KEYS_MAX {
            self.are_too_many = true;
            self.keys = FxHashMap::default();
            return;
        }
        let number = self.keys.len() as u64;
        self.keys.insert(key.into(), number);
    }
}
