//! `VolumeBinding`: volumes that a pod's claims have, can have, or can be given on a node.
//!
//! Contains the filter, and [`decide`], which says what must be bound and provisioned when a node
//! is chosen. Specification: a bound claim's volume must be reachable from the node; a claim that
//! waits for its first consumer takes the smallest volume that fits, or is provisioned there; any
//! other unbound claim keeps the pod from being placed at all. Scoring is behind an alpha gate and
//! absent. Reads: claims, volumes, classes, `CSINode`s, `CSIDriver`s, storage capacities, node
//! labels. What is decided for other pods counts, because what is promised to them is in the
//! snapshot (see [`Bindings::assumed`]).

mod bound;
mod candidates;
mod decide;
mod filter;
mod hints;
mod label_index;
mod needs;
mod progress;
mod provisioning;
mod reserve;

use crate::fields::{Fields, Refusals};

pub use decide::{Bindings, decide};
pub(crate) use progress::progress;

pub(crate) const NAME: &str = "VolumeBinding";

const BIND_TIMEOUT_SECONDS_DEFAULT: i64 = 600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VolumeBinding {
    /// How long the caller that binds waits until claims are bound.
    pub(crate) bind_timeout_seconds: i64,
}

pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<VolumeBinding> {
    let bind_timeout_seconds = args.integer_or(
        "bindTimeoutSeconds",
        BIND_TIMEOUT_SECONDS_DEFAULT,
        0..=i64::MAX,
        refusals,
    )?;
    Some(VolumeBinding { bind_timeout_seconds })
}
