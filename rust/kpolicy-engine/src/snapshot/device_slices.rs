//! An index of slices of devices by the node that they name and by pool, kept in step with the
//! objects.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Object, ResourceSlice};

use super::objects::Replaced;

type Slices = Vec<Arc<ResourceSlice>>;

#[derive(Debug, Default)]
pub(crate) struct DeviceSlices {
    by_node: FxHashMap<Box<str>, Slices>,
    /// Those that name no node.
    elsewhere: Slices,
    /// Those that name a node and have counters.
    counting: Slices,
    by_pool: FxHashMap<(Box<str>, Box<str>), Slices>,
}

impl DeviceSlices {
    /// Slices that may concern a node; with `all_counters` also those with counters of other nodes.
    pub(crate) fn for_node(
        &self,
        node: &str,
        all_counters: bool,
    ) -> impl Iterator<Item = &ResourceSlice> {
        let own = self.by_node.get(node).into_iter().flatten();
        let others = self
            .counting
            .iter()
            .filter(move |slice| all_counters && slice.place.node_name.as_deref() != Some(node));
        own.chain(&self.elsewhere).chain(others).map(AsRef::as_ref)
    }

    /// All slices of a pool, of every generation.
    pub(crate) fn in_pool(&self, driver: &str, pool: &str) -> &[Arc<ResourceSlice>] {
        self.by_pool.get(&(driver.into(), pool.into())).map_or(&[], Vec::as_slice)
    }

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if let Some(Object::ResourceSlice(old)) = &replaced.old {
            let forget = |slices: &mut Slices| {
                slices.retain(|have| have.meta.name != old.meta.name);
                slices.is_empty()
            };
            if let Some(node) = &old.place.node_name {
                forget(&mut self.counting);
                if self.by_node.get_mut(node).is_some_and(forget) {
                    self.by_node.remove(node);
                }
            } else {
                forget(&mut self.elsewhere);
            }
            let pool = (old.driver.clone(), old.pool.clone());
            if self.by_pool.get_mut(&pool).is_some_and(forget) {
                self.by_pool.remove(&pool);
            }
        }
        if let Some(Object::ResourceSlice(new)) = &replaced.new {
            match &new.place.node_name {
                Some(node) => {
                    self.by_node.entry(node.clone()).or_default().push(Arc::clone(new));
                    if !new.shared_counters.is_empty() {
                        self.counting.push(Arc::clone(new));
                    }
                }
                None => self.elsewhere.push(Arc::clone(new)),
            }
            let pool = (new.driver.clone(), new.pool.clone());
            self.by_pool.entry(pool).or_default().push(Arc::clone(new));
        }
    }
}
