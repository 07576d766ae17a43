//! The tenant of a profile: the namespaces whose pods it serves, and which policies are the tenant's.
//!
//! Such a profile has all rules of the operator and, after them, those of one tenant.

use std::sync::Arc;

use crate::fields::{CONFLICT, Fields, Refusals};

/// What the rules of all tenants are called together.
pub(crate) const RULES: &str = "tenants";

#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) name: Arc<str>,
    pub(crate) namespaces: Vec<Arc<str>>,
    /// Policies of the program from this position on are the tenant's, as far as this profile has
    /// rules of them.
    pub(crate) policies_from: usize,
    /// How the names of the tenant's rules begin.
    prefix: String,
}

impl Tenant {
    /// Whether a rule of the profile is the tenant's, by its name.
    pub(crate) fn has(&self, rule: &str) -> bool {
        rule.starts_with(&self.prefix)
    }
}

pub(super) fn read(
    mut fields: Fields<'_>,
    policies: usize,
    refusals: &mut Refusals,
) -> Option<Tenant> {
    let name = fields.text("name", refusals);
    let namespaces = fields.texts("namespaces", refusals);
    let last = i64::try_from(policies).unwrap_or(i64::MAX);
    let from = fields.integer("policiesFrom", 0..=last, refusals);
    let place = fields.place().to_owned();
    fields.finish(refusals);
    let (name, namespaces) = (name?, namespaces?);
    if name.is_empty() {
        refusals.add(CONFLICT, &place, "a tenant has a name", "");
        return None;
    }
    Some(Tenant {
        name: name.into(),
        namespaces: namespaces.into_iter().map(Arc::from).collect(),
        policies_from: usize::try_from(from?).ok()?,
        prefix: format!("{name}/"),
    })
}
