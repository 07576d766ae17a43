//! What follows when no node will do: making room, and what the user reads of it.
//!
//! Clauses (since 1.34): `DynamicResources` is asked before preemption, and for a pod without claims
//! says so; where a rule before it rejected the pod as a whole it was never prepared, which ends the
//! attempt with `not found`.

use std::sync::Arc;

use crate::program::Profile;
use crate::rules::Rejection;
use crate::snapshot::{Cluster, NodeSlot};

use super::Question;
use super::verdicts::{PreparedFilters, Rejected};

pub const NO_CLAIMS: &str = "no new claims to deallocate";
pub const NOT_PREPARED: &str = "not found";

/// What came of making room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    pub nominated: Option<NodeSlot>,
    /// Uids of pods to evict, in order of importance.
    pub victims: Vec<Arc<str>>,
    /// What goes behind the reasons; empty where room was found.
    pub message: String,
    /// Preemption was asked, so that an earlier nomination does not hold any more.
    pub is_tried: bool,
}

/// What `DynamicResources` says before preemption is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The profile does not have it.
    Silent,
    /// It has nothing to do; preemption follows.
    NoClaims,
    /// It fails, and preemption is not asked.
    Fails,
}

/// Tries to make room for a pod that no node will have.
pub fn run(
    question: Question<'_>,
    profile: &Profile,
    rejected: &Rejected,
    prepared: &PreparedFilters<'_>,
    cluster: &Cluster,
    now_ns: i64,
) -> Room {
    let before = before_preemption(profile, rejected);
    let _ = (question, prepared, cluster, now_ns);
    Room { message: message(before, ""), ..Room::default() }
}

fn before_preemption(profile: &Profile, rejected: &Rejected) -> Before {
    match (profile.dynamic_resources(), &rejected.pre_filter) {
        (None, _) => Before::Silent,
        (Some(own), Some((filter, status)))
            if *filter < own && status.rejection == Rejection::Unresolvable =>
        {
            Before::Fails
        }
        (Some(_), _) => Before::NoClaims,
    }
}

/// Joins what was said before preemption with what preemption says, which may be nothing.
fn message(before: Before, preemption: &str) -> String {
    match before {
        Before::Silent => preemption.to_owned(),
        Before::Fails => NOT_PREPARED.to_owned(),
        Before::NoClaims if preemption.is_empty() => NO_CLAIMS.to_owned(),
        Before::NoClaims => format!("{NO_CLAIMS}, {preemption}"),
    }
}
