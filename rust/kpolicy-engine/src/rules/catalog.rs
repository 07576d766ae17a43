//! Finds built-ins by kube-scheduler's names for them.
//!
//! The table is in `rules/mod.rs`, beside the modules. Plugins that neither filter nor score
//! (`SchedulingGates`, `PrioritySort`, `DefaultBinder`) are not rules: gates and order hold always.

use crate::fields::{Fields, Refusals};
use crate::release::Followed;

use super::{BUILT_INS, Filter, Score};

/// Reads the arguments of a filter. `None`: the refusals say why.
pub(crate) type MakeFilter =
    fn(&mut Fields<'_>, Followed, &mut Refusals) -> Option<Box<dyn Filter>>;
/// Reads the arguments of a score. `None`: the refusals say why.
pub(crate) type MakeScore = fn(&mut Fields<'_>, Followed, &mut Refusals) -> Option<Box<dyn Score>>;

/// A plugin of kube-scheduler that filters, scores, or both.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// kube-scheduler's name of the plugin.
    pub name: &'static str,
    filter: Option<MakeFilter>,
    score: Option<MakeScore>,
    filters_in: fn(Followed) -> bool,
    scores_in: fn(Followed) -> bool,
    /// Whether the default profile of kube-scheduler has it.
    pub is_default: bool,
    /// Its weight in the default profile; 0 if it does not score there.
    pub weight: i64,
}

impl BuiltIn {
    /// A plugin of the default profile.
    pub(super) const fn of_default(name: &'static str) -> Self {
        Self { is_default: true, ..Self::optional(name) }
    }

    /// A plugin that a policy must ask for.
    pub(super) const fn optional(name: &'static str) -> Self {
        Self {
            name,
            filter: None,
            score: None,
            filters_in: |_| true,
            scores_in: |_| true,
            is_default: false,
            weight: 0,
        }
    }

    pub(super) const fn filter(self, make: MakeFilter) -> Self {
        Self { filter: Some(make), ..self }
    }

    pub(super) const fn score(self, make: MakeScore) -> Self {
        Self { score: Some(make), ..self }
    }

    pub(super) const fn weight(self, weight: i64) -> Self {
        Self { weight, ..self }
    }

    /// It filters in some of the releases only, or behind a feature gate.
    pub(super) const fn filters_where(self, holds: fn(Followed) -> bool) -> Self {
        Self { filters_in: holds, ..self }
    }

    /// It scores in some of the releases only, or behind a feature gate.
    pub(super) const fn scores_where(self, holds: fn(Followed) -> bool) -> Self {
        Self { scores_in: holds, ..self }
    }

    /// Whether the plugin can filter.
    pub fn filters(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether the plugin can score.
    pub fn scores(&self) -> bool {
        self.score.is_some()
    }
}

fn named(name: &str) -> Option<&'static BuiltIn> {
    BUILT_INS.iter().find(|built_in| built_in.name == name)
}

/// The reader of a filter's arguments by the plugin's name; `None` if it does not filter.
pub fn filter(name: &str) -> Option<MakeFilter> {
    named(name)?.filter
}

/// The reader of a score's arguments by the plugin's name; `None` if it does not score.
pub fn score(name: &str) -> Option<MakeScore> {
    named(name)?.score
}

/// Whether a plugin filters in what the program follows; where it does not, its entry counts for
/// nothing, as in kube-scheduler.
pub(crate) fn filters_in(name: &str, followed: Followed) -> bool {
    named(name).is_none_or(|built_in| (built_in.filters_in)(followed))
}

/// As [`filters_in`], for scores.
pub(crate) fn scores_in(name: &str, followed: Followed) -> bool {
    named(name).is_none_or(|built_in| (built_in.scores_in)(followed))
}

/// Names that filter, in order of name.
pub fn filter_names() -> Vec<&'static str> {
    sorted(BuiltIn::filters)
}

/// Names that score, in order of name.
pub fn score_names() -> Vec<&'static str> {
    sorted(BuiltIn::scores)
}

fn sorted(is_wanted: fn(&BuiltIn) -> bool) -> Vec<&'static str> {
    let wanted = BUILT_INS.iter().filter(|built_in| is_wanted(built_in));
    let mut names: Vec<&str> = wanted.map(|built_in| built_in.name).collect();
    names.sort_unstable();
    names
}
