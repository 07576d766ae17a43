//! Which profile serves a pod, by its scheduler name and its namespace.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Profile;

/// Positions of profiles.
#[derive(Debug, Default)]
pub(crate) struct Serving(FxHashMap<Arc<str>, Served>);

/// The profiles of one scheduler name.
#[derive(Debug, Default)]
struct Served {
    of_tenants: FxHashMap<Arc<str>, usize>,
    of_others: Option<usize>,
}

impl Serving {
    /// The profile of the pods of a scheduler name in a namespace.
    pub(crate) fn profile_of(&self, scheduler_name: &str, namespace: &str) -> Option<usize> {
        let served = self.0.get(scheduler_name)?;
        served.of_tenants.get(namespace).copied().or(served.of_others)
    }

    /// False if another profile serves some of its pods already.
    pub(super) fn add(&mut self, profile: &Profile, position: usize) -> bool {
        let served = self.0.entry(Arc::clone(&profile.scheduler_name)).or_default();
        match &profile.tenant {
            None => served.of_others.replace(position).is_none(),
            Some(tenant) => tenant.namespaces.iter().all(|namespace| {
                served.of_tenants.insert(Arc::clone(namespace), position).is_none()
            }),
        }
    }
}
