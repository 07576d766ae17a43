//! An index of the rules that taint devices by the pool that they name, kept in step with the objects.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{DeviceTaint, DeviceTaintRule, Object};

use super::objects::Replaced;

#[derive(Debug, Default)]
pub(crate) struct DeviceTaintRules {
    by_pool: FxHashMap<Box<str>, Vec<Arc<DeviceTaintRule>>>,
    /// Those that name no pool.
    elsewhere: Vec<Arc<DeviceTaintRule>>,
}

/// Rules that may taint the devices of a pool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules<'a> {
    of_pool: &'a [Arc<DeviceTaintRule>],
    elsewhere: &'a [Arc<DeviceTaintRule>],
}

impl<'a> Rules<'a> {
    pub(crate) fn len(self) -> usize {
        self.of_pool.len() + self.elsewhere.len()
    }

    /// The taints of a device of the pool.
    pub(crate) fn taints(
        self,
        driver: &str,
        device: &str,
    ) -> impl Iterator<Item = &'a DeviceTaint> {
        let means = |wanted: &Option<Box<str>>, have: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == have)
        };
        self.of_pool
            .iter()
            .chain(self.elsewhere)
            .filter(move |rule| means(&rule.driver, driver) && means(&rule.device, device))
            .map(|rule| &rule.taint)
    }
}

impl DeviceTaintRules {
    pub(crate) fn of_pool(&self, pool: &str) -> Rules<'_> {
        let of_pool = self.by_pool.get(pool).map_or(&[][..], Vec::as_slice);
        Rules { of_pool, elsewhere: &self.elsewhere }
    }

    /// Whether any rule names a pool.
    pub(super) fn name_pools(&self) -> bool {
        !self.by_pool.is_empty()
    }

    /// Whether any rule names this pool.
    pub(super) fn name_pool(&self, pool: &str) -> bool {
        self.by_pool.contains_key(pool)
    }

    /// Whether a rule that names no pool names a device.
    pub(super) fn name_devices(&self) -> bool {
        self.elsewhere.iter().any(|rule| rule.device.is_some())
    }

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if let Some(Object::DeviceTaintRule(old)) = &replaced.old {
            let forget = |rules: &mut Vec<Arc<DeviceTaintRule>>| {
                rules.retain(|have| have.meta.name != old.meta.name);
                rules.is_empty()
            };
            match &old.pool {
                Some(pool) => {
                    if self.by_pool.get_mut(pool).is_some_and(forget) {
                        self.by_pool.remove(pool);
                    }
                }
                None => {
                    forget(&mut self.elsewhere);
                }
            }
        }
        if let Some(Object::DeviceTaintRule(new)) = &replaced.new
            && new.has_selector
        {
            let rules = match &new.pool {
                Some(pool) => self.by_pool.entry(pool.clone()).or_default(),
                None => &mut self.elsewhere,
            };
            rules.push(Arc::clone(new));
        }
    }
}
