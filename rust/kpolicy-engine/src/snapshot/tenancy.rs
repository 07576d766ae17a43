//! Keeps the sums of tenants in step with namespaces and with the pods that the queue hands out.

use std::sync::Arc;

use crate::model::{Namespace, Object};

use super::Cluster;
use super::objects::Replaced;
use super::usage::{Usage, UsageChanges};

impl Cluster {
    /// What each tenant has; `None`: no program reads it.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.pods.usage()
    }

    pub(crate) fn take_usage_changes(&mut self) -> UsageChanges {
        self.pods.take_usage_changes()
    }

    /// Keeps the sums of tenants from now on, or no longer. The label is the one whose values are the
    /// tenants; empty: each namespace is one.
    pub(crate) fn follow_usage(&mut self, label: Option<&str>) {
        let Some(label) = label else {
            self.pods.drop_usage();
            return;
        };
        let value = |namespace: &Arc<Namespace>| {
            let value = namespace.meta.labels.get(label)?;
            Some((namespace.meta.name.as_ref().into(), value.into()))
        };
        let values: Vec<(Arc<str>, Arc<str>)> =
            self.objects.namespaces.iter().filter_map(value).collect();
        self.pods.follow_usage(label, values.into_iter());
    }

    /// The queue hands out a pod: its tenant has what it requests from now on.
    pub(crate) fn let_go(&mut self, uid: &str) {
        self.pods.let_go(uid);
    }

    /// Nothing is to be decided about the pod any more. If it has no node, its tenant gets back what it
    /// requests.
    pub(crate) fn came_back(&mut self, uid: &str) {
        self.pods.came_back(uid);
    }

    pub(super) fn follow_tenant(&mut self, replaced: &Replaced) {
        let Some(usage) = self.pods.usage_mut() else { return };
        let Some(label) = usage.label().map(Box::<str>::from) else { return };
        let shown = replaced.new.as_ref().or(replaced.old.as_ref());
        let Some(Object::Namespace(namespace)) = shown else { return };
        let is_there = replaced.new.is_some();
        let value = namespace.meta.labels.get(&label).filter(|_| is_there);
        usage.relabel(&namespace.meta.name.as_ref().into(), value);
    }
}
