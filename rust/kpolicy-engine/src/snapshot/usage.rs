//! What each tenant has of the cluster, and what it asks for beyond that; followed while a program
//! reads it.
//!
//! A tenant is a namespace, or all namespaces with the same value of one label. It has the requests of
//! its pods on nodes, assumed ones too, and of the pods that were *let go*: those that the queue handed
//! out and about which nothing is decided yet. So two pods of one batch never take the same room of a
//! quota.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::resources::{Amounts, names};

use super::pod::Pod;
use super::pods::{Place, PodEntry, Pods};

/// The sums of one tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TenantUse {
    /// What its pods on nodes request, and those that were let go.
    pub(crate) used: Amounts,
    /// How many these are.
    pub(crate) pods: i64,
    /// What its other pods request, which wait.
    pub(crate) asked: Amounts,
    /// How many these are.
    pub(crate) waiting: i64,
}

impl TenantUse {
    fn add(&mut self, other: &Self, sign: i64) {
        self.used.add(&other.used, sign);
        self.asked.add(&other.asked, sign);
        self.pods = self.pods.saturating_add(other.pods.saturating_mul(sign));
        self.waiting = self.waiting.saturating_add(other.waiting.saturating_mul(sign));
    }

    fn count(&mut self, pod: &Pod, holds: bool, sign: i64) {
        let (sum, count) = match holds {
            true => (&mut self.used, &mut self.pods),
            false => (&mut self.asked, &mut self.waiting),
        };
        sum.add(&pod.requests().fit, sign);
        *count = count.saturating_add(sign);
    }

    /// Of a resource, or of pods, by the name of the API.
    pub(crate) fn held(&self, resource: &str) -> i64 {
        if resource == names::PODS { self.pods } else { self.used.get(resource) }
    }

    /// What is asked for, by the same names.
    pub(crate) fn wanted(&self, resource: &str) -> i64 {
        if resource == names::PODS { self.waiting } else { self.asked.get(resource) }
    }

    fn is_empty(&self) -> bool {
        self.pods == 0 && self.waiting == 0
    }
}

/// Which namespaces are one tenant.
#[derive(Debug, Default)]
struct Tenants {
    /// The label whose values are the tenants; `None`: each namespace is one.
    label: Option<Box<str>>,
    by_namespace: FxHashMap<Arc<str>, Arc<str>>,
    /// A namespace without the label: its pods belong to the tenant without a name.
    unnamed: Arc<str>,
}

impl Tenants {
    fn of(&self, namespace: &Arc<str>) -> Arc<str> {
        match &self.label {
            None => Arc::clone(namespace),
            Some(_) => Arc::clone(self.by_namespace.get(namespace).unwrap_or(&self.unnamed)),
        }
    }
}

/// The sums of all tenants.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    tenants: Tenants,
    by_tenant: FxHashMap<Arc<str>, TenantUse>,
    total: TenantUse,
    /// Only where tenants are values of a label, so that a namespace can change its tenant.
    by_namespace: FxHashMap<Arc<str>, TenantUse>,
    /// Uids of pods that were let go.
    let_go: FxHashSet<Arc<str>>,
    changed: FxHashSet<Arc<str>>,
    are_moved: bool,
}

/// The sums without what was handed out and is not decided yet.
#[derive(Debug)]
pub(crate) struct Settled {
    /// Of the tenants whose pods were let go.
    own: FxHashMap<Arc<str>, TenantUse>,
    pub(crate) all: TenantUse,
}

impl Settled {
    /// `None`: the tenant's sums are those that `Usage` has.
    pub(crate) fn of(&self, tenant: &str) -> Option<&TenantUse> {
        self.own.get(tenant)
    }
}

/// What changed since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct UsageChanges {
    /// Tenants whose sums differ, in order.
    pub(crate) tenants: Vec<Arc<str>>,
    /// A namespace belongs to another tenant.
    pub(crate) are_moved: bool,
}

impl Usage {
    /// `values`: the label's value of each namespace that has it.
    pub(super) fn new(
        label: &str,
        values: impl Iterator<Item = (Arc<str>, Arc<str>)>,
        let_go: FxHashSet<Arc<str>>,
    ) -> Self {
        let label = (!label.is_empty()).then(|| label.into());
        let by_namespace = if label.is_some() { values.collect() } else { FxHashMap::default() };
        let tenants = Tenants { label, by_namespace, unnamed: "".into() };
        Self { tenants, let_go, ..Self::default() }
    }

    pub(super) fn into_let_go(self) -> FxHashSet<Arc<str>> {
        self.let_go
    }

    /// The label whose values are the tenants.
    pub(super) fn label(&self) -> Option<&str> {
        self.tenants.label.as_deref()
    }

    /// The tenant of a namespace; empty for a namespace that belongs to none.
    pub(crate) fn tenant(&self, namespace: &Arc<str>) -> Arc<str> {
        self.tenants.of(namespace)
    }

    /// `None`: it has nothing and asks for nothing.
    pub(crate) fn of(&self, tenant: &str) -> Option<&TenantUse> {
        self.by_tenant.get(tenant)
    }

    /// The sums of all tenants together.
    pub(crate) fn total(&self) -> &TenantUse {
        &self.total
    }

    /// The sums of the pod's tenant and of all tenants, as they are while the pod waits. `entry` is what
    /// counts of it now, which may have a node or have been let go.
    pub(crate) fn while_waiting(
        &self,
        pod: &Pod,
        entry: Option<&PodEntry>,
    ) -> (TenantUse, TenantUse) {
        let own = self.of(&self.tenant(pod.namespace())).cloned().unwrap_or_default();
        let change = |mut sums: TenantUse| {
            if let Some(entry) = entry {
                let (counted, holds) = self.counted(entry);
                sums.count(counted, holds, -1);
            }
            sums.count(pod, false, 1);
            sums
        };
        (change(own), change(self.total.clone()))
    }

    /// The sums as if the pods that were let go waited; `None`: none was let go.
    pub(crate) fn settled(&self, pods: &Pods) -> Option<Settled> {
        if self.let_go.is_empty() {
            return None;
        }
        let mut settled = Settled { own: FxHashMap::default(), all: self.total.clone() };
        for pod in self.let_go.iter().filter_map(|uid| Some(&pods.get(uid)?.pod)) {
            let tenant = self.tenant(pod.namespace());
            let now = || self.of(&tenant).cloned().unwrap_or_default();
            let own = settled.own.entry(Arc::clone(&tenant)).or_insert_with(now);
            for sums in [own, &mut settled.all] {
                sums.count(pod, true, -1);
                sums.count(pod, false, 1);
            }
        }
        Some(settled)
    }

    /// All tenants that have or ask for anything, in the order of names.
    pub(crate) fn in_order(&self) -> Vec<(&Arc<str>, &TenantUse)> {
        let mut all: Vec<_> = self.by_tenant.iter().collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }

    pub(crate) fn take_changes(&mut self) -> UsageChanges {
        let mut tenants: Vec<Arc<str>> = self.changed.drain().collect();
        tenants.sort_unstable();
        UsageChanges { tenants, are_moved: std::mem::take(&mut self.are_moved) }
    }

    /// A pod comes, or is somewhere else than the entry before it, which `takes` after this.
    pub(super) fn puts(&mut self, entry: &PodEntry) {
        self.count(entry, 1);
    }

    pub(super) fn takes(&mut self, entry: &PodEntry) {
        self.count(entry, -1);
    }

    /// The pod has a node, or is gone: that it was let go is over.
    pub(super) fn arrived(&mut self, uid: &str) {
        self.let_go.remove(uid);
    }

    /// The queue hands out a pending pod.
    pub(super) fn let_go(&mut self, pod: &Arc<Pod>) {
        if self.let_go.insert(Arc::clone(&pod.uid)) {
            self.add(pod, false, -1);
            self.add(pod, true, 1);
        }
    }

    /// It was decided about a pod that was let go, and it has no node.
    pub(super) fn came_back(&mut self, pod: &Arc<Pod>) {
        if self.let_go.remove(&pod.uid) {
            self.add(pod, true, -1);
            self.add(pod, false, 1);
        }
    }

    pub(crate) fn is_let_go(&self, uid: &str) -> bool {
        self.let_go.contains(uid)
    }

    /// The label of a namespace has another value; `None`: it has none.
    pub(super) fn relabel(&mut self, namespace: &Arc<str>, value: Option<&str>) {
        let old = self.tenant(namespace);
        match value {
            Some(value) => {
                self.tenants.by_namespace.insert(Arc::clone(namespace), value.into());
            }
            None => {
                self.tenants.by_namespace.remove(namespace);
            }
        }
        let new = self.tenant(namespace);
        if old == new {
            return;
        }
        self.are_moved = true;
        if let Some(sums) = self.by_namespace.get(namespace).cloned() {
            for (tenant, sign) in [(old, -1), (new, 1)] {
                self.add_sums(&tenant, |own| own.add(&sums, sign));
            }
        }
    }

    fn count(&mut self, entry: &PodEntry, sign: i64) {
        let (pod, holds) = self.counted(entry);
        self.add(pod, holds, sign);
    }

    /// The pod whose requests count, and whether its tenant has them.
    fn counted<'e>(&self, entry: &'e PodEntry) -> (&'e Pod, bool) {
        match &entry.place {
            Place::On { held, .. } => (&**held, true),
            Place::Pending => (&*entry.pod, self.let_go.contains(&entry.pod.uid)),
        }
    }

    fn add(&mut self, pod: &Pod, holds: bool, sign: i64) {
        let namespace: &Arc<str> = pod.namespace();
        if self.tenants.label.is_some() {
            let own = self.by_namespace.entry(Arc::clone(namespace)).or_default();
            own.count(pod, holds, sign);
            if own.is_empty() {
                self.by_namespace.remove(namespace);
            }
        }
        self.total.count(pod, holds, sign);
        let tenant = self.tenant(namespace);
        self.add_sums(&tenant, |own| own.count(pod, holds, sign));
    }

    fn add_sums(&mut self, tenant: &Arc<str>, change: impl FnOnce(&mut TenantUse)) {
        let own = self.by_tenant.entry(Arc::clone(tenant)).or_default();
        change(own);
        if own.is_empty() {
            self.by_tenant.remove(tenant);
        }
        if !self.changed.contains(tenant) {
            self.changed.insert(Arc::clone(tenant));
        }
    }
}
