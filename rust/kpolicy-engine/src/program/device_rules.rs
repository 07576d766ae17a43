//! The rules of a profile that choose among the allocations of devices (`devices`).

use std::sync::Arc;

use crate::fields::{Fields, Refusals};
use crate::rules::dynamic_resources::DevicePolicy;
use crate::rules::expression::{self, DeviceRules, Limits};

use super::Profile;
use super::profile::{WEIGHT_MAX, read_policy};

/// The inner `None`: there are none.
pub(super) fn read(
    fields: &mut Fields<'_>,
    policies: &[Limits],
    refusals: &mut Refusals,
) -> Option<Option<Arc<DeviceRules>>> {
    let mut rules = Vec::new();
    for (place, item) in fields.list("devices", refusals)? {
        let mut fields = Fields::of(item, &place, refusals)?;
        let name: Arc<str> = fields.text("name", refusals)?.into();
        let weight = fields.integer("weight", 0..=WEIGHT_MAX, refusals)?;
        let policy = read_policy(&mut fields, policies.len(), refusals)?;
        let limits = policies.get(policy).copied().unwrap_or_default();
        rules.push(expression::device_rule(&mut fields, &name, (limits, weight), refusals)?);
        fields.finish(refusals);
    }
    Some((!rules.is_empty()).then(|| DeviceRules::new(rules).into()))
}

/// What looking for devices may take is shared with scores that count the devices behind resources.
pub(super) fn share(profile: &mut Profile, policy: DevicePolicy) {
    let scores = profile.scores.iter().filter(|score| score.counts_devices()).count();
    if scores == 0 {
        return;
    }
    let policy = DevicePolicy { scores_that_count: scores as u64, ..policy };
    profile.filters.iter_mut().for_each(|filter| filter.follow_policy_of_devices(&policy));
    profile.scores.iter_mut().for_each(|score| score.follow_policy_of_devices(&policy));
    if let Some(own) = &mut profile.devices {
        own.policy = policy;
    }
}
