//! What extenders left of the candidates.
//!
//! Owns what is still good of it when the answers are there, and picks one. Assumes that extenders
//! chose among candidates of [`super::candidates`], though they may name other victims on a node. A
//! node on which the pod would not fit once the named victims are gone is left out: evicting them
//! would be in vain. So is one with a victim that the policy does not let go. Must not know how extenders are unplaced.

use std::sync::Arc;

use super::dry_run::makes_room;
use super::victims::Evictable;
use super::{Attempt, Candidate, Unplaced, eligibility, pick};

/// What extenders said of the candidates.
#[derive(Debug, Clone, Default)]
pub struct Trimmed {
    /// `None`: there were none to ask about.
    pub candidates: Option<Vec<Arc<Candidate>>>,
    /// Why one that may not fail gave no answer; empty where all did.
    pub failure: String,
    /// Where it comes to nothing, they are to be asked anew: they were not asked about what there is
    /// now.
    pub is_stale: bool,
}

/// Picks among what is left.
pub fn among(unplaced: Unplaced<'_>, candidates: &[Arc<Candidate>], failure: &str) -> Attempt {
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
