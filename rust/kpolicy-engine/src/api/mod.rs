//! The engine's public vocabulary: what goes in (objects, outcomes) and what comes out (pod changes,
//! wakes, decisions).
//!
//! All values are flat, so that `kpolicy-py` can turn them into tuples.
//!
//! [`crate::Engine`] has the functions.

mod applied;
mod comparison;
mod decision;
mod extenders;
mod opinion;
mod statistics;
mod stopwatch;
mod volumes;
mod waiting;

pub use crate::model::{Event, Kind, Object};
pub use applied::{Applied, PodChange, PodState, Wake};
pub use comparison::{COMPARISONS, Comparison};
pub use decision::{Batch, BindOutcome, Decision, ScheduledUnit, Verdict, Victim};
pub use extenders::{
    CandidateNode, Candidates, Filtered, KeptNode, Located, RefusedNode, RemainingCandidate,
    RemainingCandidates,
};
pub use opinion::{Acted, Labelled, Opinion};
pub use statistics::{RuleStatistics, Statistics, TenantStatistics};
pub use stopwatch::{Still, Stopwatch};
pub use volumes::{
    AwaitedVolume, BoundAnnotation, ClaimRelease, ClaimWork, PreBindWrite, VolumeProgress,
    VolumeWork,
};
pub use waiting::{Entered, HeldPod, NextPods, QueueFault};

/// Why something was refused. `place` is a JSON path of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A code of `fields`, which says what sort of fault it is.
    pub code: &'static str,
    /// A JSON path of the program, such as `$.profiles[0]`.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What would be right; may be empty.
    pub hint: String,
}
