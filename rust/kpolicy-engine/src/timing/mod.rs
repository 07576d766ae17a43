//! How long rules and stages take, by kube-scheduler's names: the stages of every cycle
//! (`Stages`), and single rules in every tenth cycle (`Meter`).
//!
//! Both end up in histograms ([`Timings`]) that outlive a program. Time comes from the caller's
//! stopwatch. No decision depends on any of it.

mod histogram;
mod meter;
mod point;
mod stages;
mod timings;

pub(crate) use meter::{Meter, Metered, Taken, Tally, Unmetered};
pub use point::{Point, StatusCode};
pub(crate) use stages::{Lasted, Stages};
pub use timings::{Series, Timings};

/// One cycle out of so many is looked at rule by rule (kube-scheduler: each with a chance of a tenth).
pub const SAMPLED_OF: u64 = 10;
/// Names of rules, and of profiles, that have histograms of their own; what comes beyond is added up.
pub(crate) const NAMES_MAX: usize = 512;
