//! Resource arithmetic: what a pod requests and what a node offers, as integers.
//!
//! Contains [`Amounts`], the names that are tracked, and the sums over containers. CPU is in
//! thousandths, everything else in whole units. Quantities are summed exactly and rounded up once
//! for each pod and resource.

pub(crate) mod amounts;
mod held;
pub(crate) mod names;
pub(crate) mod pod;
pub(crate) mod reduced;
mod sums;

pub(crate) use amounts::{Allocatable, Amounts};
pub(crate) use held::ResizeRule;
pub(crate) use pod::{NonZero, Requests, limits};
