//! The message when a rule could not judge a pod, word for word as kube-scheduler writes it.

use crate::api::Verdict;
use crate::program::Profile;
use crate::rules::{PreparedScore, Rejection, ScoreProblem, Status};

use super::Rejected;

/// Why a cycle ends without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What the user reads.
    pub(crate) why: String,
    /// It takes more work than one decision may.
    pub(crate) is_too_much: bool,
}

impl Failure {
    pub(crate) fn verdict(&self) -> Verdict {
        if self.is_too_much { Verdict::SetAside } else { Verdict::Failed }
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { why, is_too_much: false }
    }
}

/// What comes of it where a filter could not judge.
pub(crate) fn filter_failure(profile: &Profile, filter: usize, status: Option<&Status>) -> Failure {
    if let Some(status) = status.filter(|status| status.rejection == Rejection::TooMuch) {
        return Failure { why: status.message(), is_too_much: true };
    }
    let name = profile.filters.get(filter).map_or("", |filter| filter.name.as_ref());
    let why = status.map(Status::message).unwrap_or_default();
    format!("running {name:?} filter plugin: {why}").into()
}

/// What the user reads where a rule could not judge the pod before any node was looked at.
pub(crate) fn pre_filter_failure(profile: &Profile, rejected: &Rejected) -> Option<Failure> {
    let (filter, status) = rejected.pre_filter.as_deref()?;
    let name = profile.filters.get(*filter).map_or("", |filter| filter.name.as_ref());
    (status.rejection == Rejection::Error)
        .then(|| format!("running PreFilter plugin {name:?}: {}", status.message()).into())
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
