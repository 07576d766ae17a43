//! What pods demand of others by one term: how often they carry it, in which lists and with which weights.

use crate::model::PodAffinityTerm;
use crate::snapshot::pod::PodAffinity;

/// How often a term is in each list of an affinity, and its weights where it is only preferred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) required: i64,
    pub(crate) anti_required: i64,
    /// How often it is a preference, for or against being near.
    pub(crate) preferences: i64,
    /// The weights of these together; those of anti-affinity count as negative.
    pub(crate) weight: i64,
}

impl Demand {
    /// Both together, the other one as often as `times` says.
    #[must_use]
    pub(super) fn plus(self, other: Self, times: i64) -> Self {
        let sum = |own: i64, other: i64| own.saturating_add(other.saturating_mul(times));
        Self {
            required: sum(self.required, other.required),
            anti_required: sum(self.anti_required, other.anti_required),
            preferences: sum(self.preferences, other.preferences),
            weight: sum(self.weight, other.weight),
        }
    }
}

/// Each term of an affinity, with what it demands by itself.
pub(super) fn terms_of(
    affinity: &PodAffinity,
) -> impl Iterator<Item = (&PodAffinityTerm, Demand)> + '_ {
    let required = Demand { required: 1, ..Demand::default() };
    let anti_required = Demand { anti_required: 1, ..Demand::default() };
    let preferred = |weight: i64| Demand { preferences: 1, weight, ..Demand::default() };
    let all_required = affinity.required.iter().map(move |term| (term, required));
    let all_anti = affinity.anti_required.iter().map(move |term| (term, anti_required));
    let liked = affinity.preferred.iter();
    let liked = liked.map(move |(weight, term)| (term, preferred(i64::from(*weight))));
    let avoided = affinity.anti_preferred.iter();
    let avoided = avoided.map(move |(weight, term)| (term, preferred(-i64::from(*weight))));
    all_required.chain(all_anti).chain(liked).chain(avoided)
}
