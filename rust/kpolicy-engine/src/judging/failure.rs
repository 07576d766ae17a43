//! The message when a rule could not judge a pod, word for word as kube-scheduler writes it.

use crate::program::Profile;
use crate::rules::{PreparedScore, Rejection, ScoreProblem, Status};

use super::Rejected;

/// What the user reads where a filter could not judge.
pub(crate) fn filter_failure(profile: &Profile, filter: usize, status: Option<&Status>) -> String {
    let name = profile.filters.get(filter).map_or("", |filter| filter.name.as_ref());
    let why = status.map(Status::message).unwrap_or_default();
    format!("running {name:?} filter plugin: {why}")
}

/// What the user reads where a rule could not judge the pod before any node was looked at.
pub(crate) fn pre_filter_failure(profile: &Profile, rejected: &Rejected) -> Option<String> {
    let (filter, status) = rejected.pre_filter.as_deref()?;
    let name = profile.filters.get(*filter).map_or("", |filter| filter.name.as_ref());
    (status.rejection == Rejection::Error)
        .then(|| format!("running PreFilter plugin {name:?}: {}", status.message()))
}

/// What the user reads where a rule cannot score.
pub(crate) fn score_failure<'a>(
    profile: &Profile,
    scores: impl Iterator<Item = Option<&'a dyn PreparedScore>>,
) -> Option<String> {
    let mut rules = profile.scores.iter().zip(scores);
    rules.find_map(|(rule, prepared)| {
        Some(match prepared?.problem()? {
            ScoreProblem::PreScore(why) => {
                format!("running PreScore plugin {:?}: {why}", rule.name)
            }
            ScoreProblem::Score(why) => {
                format!("running Score plugins: plugin {:?} failed with: {why}", rule.name)
            }
        })
    })
}
