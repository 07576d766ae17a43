//! Devices: which ones a node would give to the claims of a pod, chosen as kube-scheduler chooses them.
//!
//! Specification: the allocator of kube-scheduler (variant "incubating"). Depth first, the first
//! solution wins: claim by claim, request by request, device by device, in a fixed order of pools,
//! slices and devices. Where the rules of a policy score allocations, [`choose`] goes on with the search.
//! Pure: [`allocate`] reads the snapshot and writes nothing. The rule that asks is
//! `rules::dynamic_resources`.

mod alike;
mod allocated;
mod attempt;
mod capacity;
mod comparing;
mod constraints;
mod counted;
mod counters;
mod device_facts;
pub(crate) mod extended;
mod marks;
mod pools;
mod remembered;
mod requests;
mod result;
mod search;
mod selecting;
mod stock;
mod supply;
pub(crate) mod totals;
mod work;

use crate::model::{Allocation, ResourceClaim};
use crate::release::Followed;
use crate::snapshot::devices_in_use::InUseWithout;
use crate::snapshot::{Cluster, NodeView};

pub(crate) use allocated::Allocated;
pub(crate) use comparing::{Compared, Judge, Worth};
pub(crate) use counted::{Counted, Meant, counted};
pub(crate) use stock::Count;
pub(crate) use supply::{Place, Supply, supplies};
pub(crate) use work::{CONTAINER_RESOURCE, TooMuch, Work, of_selector};

/// What a node would give.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An allocation for each claim, in their order.
    Found(Vec<Allocation>),
    /// There is no solution.
    NoSolution,
    /// There is no solution, and a pool of the node contradicts itself.
    InvalidPools,
    /// The search needs more units than there are. Which part of a claim it got to; empty: none yet.
    TooMuch(String),
    /// The whole cycle fails, in kube-scheduler's words.
    Failed(String),
}

/// `namespace/name`, as kube-scheduler writes a claim.
pub(crate) fn key_of(claim: &ResourceClaim) -> String {
    format!("{}/{}", claim.meta.namespace, claim.meta.name)
}

/// How much of an allocation is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Which alternatives are chosen.
    Alternatives,
    /// All that is written.
    Written,
}

/// Finds devices of a node for claims that have none yet, as far as the units for it last. `in_use`:
/// what counts as in use.
pub(crate) fn allocate(
    claims: &[&ResourceClaim],
    given: (&Cluster, &InUseWithout),
    on: (NodeView<'_>, Followed),
    work: &mut Work,
    detail: Detail,
) -> Outcome {
    found(claims, given, on, work, (detail, None)).0
}

/// As [`allocate`], but of all allocations that the node can give the one that is worth most, as far as
/// the units last; where several are worth as much, the one that [`allocate`] would find earlier.
pub(crate) fn choose(
    claims: &[&ResourceClaim],
    given: (&Cluster, &InUseWithout),
    on: (NodeView<'_>, Followed),
    work: &mut Work,
    judge: &dyn Judge,
) -> (Outcome, Compared) {
    found(claims, given, on, work, (Detail::Written, Some(judge)))
}

fn found(
    claims: &[&ResourceClaim],
    given: (&Cluster, &InUseWithout),
    (node, followed): (NodeView<'_>, Followed),
    work: &mut Work,
    (detail, judge): (Detail, Option<&dyn Judge>),
) -> (Outcome, Compared) {
    let none = Compared::default();
    let cluster = given.0;
    let pools = match pools::gather(given, node, followed, work) {
        Ok(pools) => pools,
        Err(stop) => return (stopped(stop, String::new()), none),
    };
    let has_invalid = pools.iter().any(|pool| pool.state == pools::State::Invalid);
    let begun = attempt::Attempt::begin(claims, cluster, (node, followed), &pools, work);
    let mut attempt = match begun {
        Ok(attempt) => attempt,
        Err((stop, part)) => return (stopped(stop, part), none),
    };
    let outcome = match attempt.search() {
        Ok(true) => {
            let compared = judge.map(|judge| attempt.compare(judge)).unwrap_or_default();
            let outcome = match result::allocations(&attempt, detail) {
                Ok(found) => Outcome::Found(found),
                Err(why) => Outcome::Failed(why),
            };
            return (outcome, compared);
        }
        Ok(false) if has_invalid => Outcome::InvalidPools,
        Ok(false) => Outcome::NoSolution,
        Err(stop) => stopped(stop, attempt.part()),
    };
    (outcome, none)
}

fn stopped(stop: search::Stop, part: String) -> Outcome {
    match stop {
        search::Stop::TooMany => Outcome::Failed("allocation max size exceeded".to_owned()),
        search::Stop::TooMuch => Outcome::TooMuch(part),
        search::Stop::Fatal(why) => Outcome::Failed(why),
    }
}
