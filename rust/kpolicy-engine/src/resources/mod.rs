//! Resource arithmetic: what a pod requests and what a node offers, as integers.
//!
//! Contains [`Amounts`], the names that are tracked, and the sums over containers. CPU is in
//! thousandths, everything else in whole units. Quantities are summed exactly and rounded up once
//! for each pod and resource.

pub mod amounts;
pub mod names;
pub mod pod;

pub use amounts::{Allocatable, Amounts};
pub use pod::{NonZero, Requests};
