//! Preemption of a profile: how far to search, which pods may be evicted, and which candidate is
//! chosen.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::rules::expression::{self, Limits, VictimRule};

use crate::fields::{Fields, OUT_OF_RANGE, Refusals, UNKNOWN, WRONG_TYPE};

/// What decides between candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The fewest victims beyond a disruption budget.
    FewestPdbViolations,
    /// The lowest priority of the most important victim.
    LowestMaxPriority,
    /// The smallest sum of the victims' priorities.
    SmallestPrioritySum,
    /// The fewest victims.
    FewestVictims,
    /// The latest start of that victim of highest priority which started first.
    LatestStart,
}

/// kube-scheduler's criteria in its order; a policy may name others.
pub const CRITERIA: [Criterion; 5] = [
    Criterion::FewestPdbViolations,
    Criterion::LowestMaxPriority,
    Criterion::SmallestPrioritySum,
    Criterion::FewestVictims,
    Criterion::LatestStart,
];

/// How many candidates are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enough {
    pub(crate) min_candidate_nodes_percentage: i64,
    /// kube-scheduler's `minCandidateNodesAbsolute`.
    pub min_candidate_nodes_absolute: i64,
}

/// How pods of a profile make room by evicting others.
#[derive(Debug)]
pub struct Preemption {
    /// When the search for candidates may stop.
    pub enough: Enough,
    /// Each counts where those before it tie; what is not listed does not count.
    pub(crate) order: Vec<Criterion>,
    /// `None`: every pod of lower priority may go.
    pub(crate) victims: Option<VictimRule>,
    /// Devices of claims that only victims use count as free.
    pub(super) frees_devices: bool,
    /// What looking for victims has taken so far.
    pub(crate) units: AtomicU64,
}

/// The inner `None`: the profile never evicts.
pub(super) fn read(
    mut fields: Fields<'_>,
    policies: &[Limits],
    refusals: &mut Refusals,
) -> Option<Option<Preemption>> {
    let policy = fields.text_or("policy", "LowerPriority", refusals);
    let percentage = fields.integer_or("minCandidateNodesPercentage", 10, 0..=100, refusals);
    let absolute =
        fields.integer_or("minCandidateNodesAbsolute", 100, 0..=i64::from(i32::MAX), refusals);
    let place = fields.place_of("policy");
    let order = read_order(&mut fields, refusals);
    let victims = read_victims(&mut fields, policies, refusals);
    let frees_devices = fields.flag_or("freesDevices", false, refusals);
    fields.finish(refusals);
    match policy? {
        "LowerPriority" => Some(Some(Preemption {
            enough: Enough {
                min_candidate_nodes_percentage: percentage?,
                min_candidate_nodes_absolute: absolute?,
            },
            order: order?,
            victims: victims?,
            frees_devices: frees_devices?,
            units: AtomicU64::new(0),
        })),
        "Never" => Some(None),
        other => {
            let message = format!("unknown preemption policy {other:?}");
            refusals.add(UNKNOWN, &place, message, "LowerPriority or Never");
            None
        }
    }
}

fn read_order(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Vec<Criterion>> {
    let place = fields.place_of("order");
    let Some(written) = fields.optional("order") else { return Some(CRITERIA.to_vec()) };
    let Some(names) = written.as_array() else {
        refusals.add(WRONG_TYPE, &place, "a list of criteria is wanted", "");
        return None;
    };
    if names.is_empty() || names.len() > CRITERIA.len() {
        let message = format!("{} criteria", names.len());
        refusals.add(OUT_OF_RANGE, &place, message, format!("1 to {}", CRITERIA.len()));
        return None;
    }
    let mut order = Vec::with_capacity(names.len());
    for name in names {
        let Some(criterion) = name.as_str().and_then(criterion) else {
            let hint = "fewestPdbViolations, lowestMaxPriority, smallestPrioritySum, fewestVictims or \
                        latestStart";
            refusals.add(UNKNOWN, &place, format!("unknown criterion {name}"), hint);
            return None;
        };
        order.push(criterion);
    }
    Some(order)
}

fn criterion(name: &str) -> Option<Criterion> {
    Some(match name {
        "fewestPdbViolations" => Criterion::FewestPdbViolations,
        "lowestMaxPriority" => Criterion::LowestMaxPriority,
        "smallestPrioritySum" => Criterion::SmallestPrioritySum,
        "fewestVictims" => Criterion::FewestVictims,
        "latestStart" => Criterion::LatestStart,
        _ => return None,
    })
}

fn read_victims(
    fields: &mut Fields<'_>,
    policies: &[Limits],
    refusals: &mut Refusals,
) -> Option<Option<VictimRule>> {
    let place = fields.place_of("victims");
    let Some(written) = fields.optional("victims") else { return Some(None) };
    let mut fields = Fields::of(written, place, refusals)?;
    let policy = super::profile::read_policy(&mut fields, policies.len(), refusals)?;
    let limits = policies.get(policy).copied().unwrap_or_default();
    let rule = expression::victims(&mut fields, &Arc::from(VICTIMS), limits, refusals);
    fields.finish(refusals);
    rule.map(Some)
}

/// What the rule is called where rules are counted.
const VICTIMS: &str = "preemption.victims";
