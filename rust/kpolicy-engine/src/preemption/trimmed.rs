//! The candidates that extenders left.
//!
//! Checks which of them are still valid when the answers arrive, and picks one. Extenders choose
//! among [`super::candidates`], but may name other victims on a node. A node is left out if the pod
//! would not fit after its victims are gone, or if the policy protects one of them.

use std::sync::Arc;

use super::dry_run::makes_room;
use super::victims::Evictable;
use super::{Attempt, Candidate, Unplaced, eligibility, pick};

/// The answers of extenders about the candidates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trimmed {
    /// `None`: there were none to ask about.
    pub(crate) candidates: Option<Vec<Arc<Candidate>>>,
    /// Why one that may not fail gave no answer; empty where all did.
    pub(crate) failure: String,
    /// Where it comes to nothing, they are to be asked anew: they were not asked about what there is
    /// now.
    pub(crate) is_stale: bool,
}

/// Picks among what is left.
pub(crate) fn among(
    unplaced: Unplaced<'_>,
    candidates: &[Arc<Candidate>],
    failure: &str,
) -> Attempt {
    if let Some(why) = eligibility::refusal(unplaced) {
        return Attempt::NotEligible(why);
    }
    if !failure.is_empty() {
        return Attempt::Failed(failure.to_owned());
    }
    let nodes = unplaced.cluster.nodes();
    let evictable = Evictable::of(unplaced);
    let is_good = |candidate: &&Arc<Candidate>| {
        let node = nodes.view(candidate.slot);
        let victims = &candidate.victims;
        node.is_some_and(|node| {
            evictable.allows(victims, node) && makes_room(unplaced, node, victims)
        })
    };
    let candidates: Vec<_> = candidates.iter().filter(is_good).cloned().collect();
    match pick::pick(&candidates, unplaced) {
        Some(chosen) => Attempt::Found { candidates, chosen },
        None => Attempt::NoneLeft,
    }
}
