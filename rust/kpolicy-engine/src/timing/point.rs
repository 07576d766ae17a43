//! What is measured, and its outcome: labels of kube-scheduler's metrics.

use crate::rules::Rejection;

/// An extension point of kube-scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Preparing filters for a pod.
    PreFilter,
    /// Checking nodes.
    Filter,
    /// Looking for victims.
    PostFilter,
    /// Preparing scores for a pod.
    PreScore,
    /// Raw scores of nodes.
    Score,
    /// From raw scores to 0–100.
    Normalize,
}

impl Point {
    pub(crate) const ALL: [Self; 6] = [
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Normalize,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Normalize => "ScoreExtensionNormalize",
        }
    }

    pub(crate) fn is_of_scores(self) -> bool {
        matches!(self, Self::PreScore | Self::Score | Self::Normalize)
    }
}

/// The outcome of an extension point: kube-scheduler's status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusCode {
    /// It did its work.
    Success,
    /// It has nothing to say in this cycle.
    Skip,
    /// It rejected; evicting pods may help.
    Unschedulable,
    /// It rejected; evicting pods cannot help.
    Unresolvable,
    /// It failed.
    Error,
}

impl StatusCode {
    pub(crate) const ALL: [Self; 5] =
        [Self::Success, Self::Skip, Self::Unschedulable, Self::Unresolvable, Self::Error];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Skip => "Skip",
            Self::Unschedulable => Rejection::Unschedulable.name(),
            Self::Unresolvable => Rejection::Unresolvable.name(),
            Self::Error => Rejection::Error.name(),
        }
    }
}

impl From<Rejection> for StatusCode {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unschedulable => Self::Unschedulable,
            Rejection::Unresolvable => Self::Unresolvable,
            Rejection::Error | Rejection::TooMuch => Self::Error,
        }
    }
}
