//! `DynamicResources`: claims on devices, and extended resources behind which a class of devices stands.
//!
//! A policy may say by `devices.score` which of the allocations that a node can give is the best one.
//!
//! Specification: PreFilter finds the claims of the pod; Filter allocates, on each node, what they do
//! not have yet (`crate::devices`); the score prefers early alternatives of a request. Reads: claims,
//! classes, slices and taint rules of devices; node labels and allocatable resources. What is decided
//! for other pods counts, because the claims that are promised to them are in the snapshot.

mod alike;
mod choice;
mod device_score;
mod filter;
mod hints;
mod judging;
mod looked;
mod pod_claims;
mod post_filter;
mod reserve;
mod score;
mod shown;
mod state;

use std::sync::Arc;

use crate::fields::{Fields, Refusals};
use crate::release::Followed;
use crate::rules::expression::DeviceRules;

pub(crate) use device_score::DeviceScore;
pub(crate) use filter::is_concerned;
pub(crate) use pod_claims::pre_enqueue;
pub(crate) use post_filter::PostFilter;
pub(crate) use shown::{Shown, shown};

pub(crate) const NAME: &str = "DynamicResources";

const BINDING_TIMEOUT_SECONDS_DEFAULT: i64 = 600;

#[derive(Debug, Clone)]
pub(crate) struct DynamicResources {
    /// How long devices may take until the pod can be bound.
    binding_timeout_seconds: i64,
    followed: Followed,
    /// `None`: a node gives what the release's allocator finds first.
    pub(crate) rules: Option<Arc<DeviceRules>>,
}

impl DynamicResources {
    /// Lets these rules choose among the allocations that a node can give.
    pub(crate) fn choosing_by(self, rules: Option<&Arc<DeviceRules>>) -> Self {
        Self { rules: rules.cloned(), ..self }
    }
}

impl Default for DynamicResources {
    fn default() -> Self {
        Self {
            binding_timeout_seconds: BINDING_TIMEOUT_SECONDS_DEFAULT,
            followed: Followed::default(),
            rules: None,
        }
    }
}

/// `filterTimeout` is accepted: a search is bounded by its work here, and not by time.
pub(crate) fn from_args(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<DynamicResources> {
    args.optional("filterTimeout");
    let binding = args.text_or("bindingTimeout", "", refusals)?;
    let binding_timeout_seconds = seconds(binding).unwrap_or(BINDING_TIMEOUT_SECONDS_DEFAULT);
    Some(DynamicResources { binding_timeout_seconds, followed, rules: None })
}

/// A duration as Go writes it, such as `10m0s`, in whole seconds; `None` where it is not one.
fn seconds(text: &str) -> Option<i64> {
    let mut total = 0_i64;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        let (unit, after) = match after.strip_prefix("ms") {
            Some(after) => (0, after),
            None => match after.as_bytes().first()? {
                b'h' => (3600, after.get(1..)?),
                b'm' => (60, after.get(1..)?),
                b's' => (1, after.get(1..)?),
                _ => return None,
            },
        };
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        rest = after;
    }
    Some(total)
}
