//! Resource arithmetic: what a pod asks for and what a node offers, as integers.
//!
//! Owns [`Amounts`], the names that are tracked, and the sums over containers. CPU is in
//! thousandths, everything else in whole units; quantities are summed exactly and rounded up once
//! per pod and resource. Must not know nodes' loads or any rule.

pub mod amounts;
pub mod names;
pub mod pod;

pub use amounts::{Allocatable, Amounts};
pub use pod::{NonZero, Requests};
