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
mod supposed;

use std::sync::Arc;

use crate::fields::{Fields, Refusals, WRONG_TYPE};
use crate::release::Followed;
use crate::rules::expression::DeviceRules;

pub(crate) use device_score::DeviceScore;
pub(crate) use filter::is_concerned;
pub(crate) use looked::looked_at_by_count;
pub(crate) use pod_claims::pre_enqueue;
pub(crate) use post_filter::PostFilter;
pub(crate) use shown::{Shown, shown};
pub(crate) use supposed::are_devices_awaited;

pub(crate) const NAME: &str = "DynamicResources";

const BINDING_TIMEOUT_SECONDS_DEFAULT: i64 = 600;

#[derive(Debug, Clone)]
pub(crate) struct DynamicResources {
    /// How long devices may take until the pod can be bound.
    binding_timeout_seconds: i64,
    followed: Followed,
    pub(crate) policy: DevicePolicy,
}

/// What a policy says of devices beyond what kube-scheduler does.
#[derive(Debug, Clone, Default)]
pub struct DevicePolicy {
    /// Evicting pods frees the devices of claims that nobody else uses.
    pub(crate) frees_devices: bool,
    /// `None`: a node gives what the release's allocator finds first.
    pub(crate) rules: Option<Arc<DeviceRules>>,
    /// How many scores of the profile count devices behind resources.
    pub(crate) scores_that_count: u64,
}

impl Default for DynamicResources {
    fn default() -> Self {
        Self {
            binding_timeout_seconds: BINDING_TIMEOUT_SECONDS_DEFAULT,
            followed: Followed::default(),
            policy: DevicePolicy::default(),
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
    let binding_timeout_seconds = match seconds(binding) {
        _ if binding.is_empty() => BINDING_TIMEOUT_SECONDS_DEFAULT,
        Some(seconds) => seconds,
        None => {
            let message = format!("{binding:?} is no duration");
            refusals.add(WRONG_TYPE, &args.place_of("bindingTimeout"), message, "such as 600s");
            return None;
        }
    };
    let policy = DevicePolicy::default();
    Some(DynamicResources { binding_timeout_seconds, followed, policy })
}

/// A duration as Go writes it, such as `10m0s` or `1.5h`, in whole seconds; `None` where it is not one.
fn seconds(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 6] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60 * 1_000_000_000),
        ("h", 3600 * 1_000_000_000),
    ];
    let (mut nanos, mut rest) = (0_i64, text);
    loop {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at_checked(end)?;
        let (unit, size) = UNITS.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        nanos = nanos.checked_add(whole.parse::<i64>().ok()?.checked_mul(size)?)?;
        let mut place = size;
        for digit in fraction.bytes() {
            place /= 10;
            nanos = nanos.checked_add(i64::from(digit.checked_sub(b'0')?) * place)?;
        }
        rest = after.strip_prefix(unit)?;
        if rest.is_empty() {
            return Some(nanos / 1_000_000_000);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, expected) in [
            ("600s", 600),
            ("10m0s", 600),
            ("1.5h", 5400),
            ("1h2m3.5s", 3723),
            ("1500ms", 1),
            ("999999us", 0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "10", "s", "1.s5", "-1s", "1d", "99999999999h"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
