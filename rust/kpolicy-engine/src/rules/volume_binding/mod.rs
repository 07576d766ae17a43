//! `VolumeBinding`: volumes that a pod's claims have, can have, or can be given on a node.
//!
//! Contains the filter, and [`decide`], which says what must be bound and provisioned when a node
//! is chosen. Specification: a bound claim's volume must be reachable from the node; a claim that
//! waits for its first consumer takes the smallest volume that fits, or is provisioned there; any
//! other unbound claim keeps the pod from being placed at all. From 1.37 on it scores how
//! full the storage would be. Reads: claims, volumes, classes, `CSINode`s, `CSIDriver`s, storage capacities, node
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
mod score;

use crate::fields::{Fields, Refusals};
use crate::release::{Followed, Gate};

use super::resource_args;

pub use decide::{Bindings, decide};
pub(crate) use progress::progress;
use score::VolumeCapacity;

pub(crate) const NAME: &str = "VolumeBinding";

const BIND_TIMEOUT_SECONDS_DEFAULT: i64 = 600;
/// The less of the storage is used, the better.
const SHAPE_DEFAULT: [(i64, i64); 2] = [(0, 100), (100, 0)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VolumeBinding {
    /// How long the caller that binds waits until claims are bound.
    pub(crate) bind_timeout_seconds: i64,
}

/// The filter.
pub(crate) fn from_args(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<VolumeBinding> {
    let Args { bind_timeout_seconds, .. } = read(args, followed, refusals)?;
    Some(VolumeBinding { bind_timeout_seconds })
}

/// The score.
pub(crate) fn score_from_args(
    args: &mut Fields<'_>,
    followed: Followed,
    refusals: &mut Refusals,
) -> Option<VolumeCapacity> {
    let Args { shape, .. } = read(args, followed, refusals)?;
    Some(VolumeCapacity { shape })
}

/// The plugin's args, which filter and score share.
struct Args {
    bind_timeout_seconds: i64,
    shape: Box<[(i64, i64)]>,
}

/// A shape goes with scoring.
fn read(args: &mut Fields<'_>, followed: Followed, refusals: &mut Refusals) -> Option<Args> {
    let bind_timeout_seconds = args.integer_or(
        "bindTimeoutSeconds",
        BIND_TIMEOUT_SECONDS_DEFAULT,
        0..=i64::MAX,
        refusals,
    )?;
    let has_shape = followed.has(Gate::StorageCapacityScoring) && args.optional("shape").is_some();
    let shape =
        if has_shape { resource_args::shape(args, refusals)? } else { SHAPE_DEFAULT.into() };
    Some(Args { bind_timeout_seconds, shape })
}
