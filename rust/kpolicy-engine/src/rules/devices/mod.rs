//! Devices: which ones a node would give to the claims of a pod, chosen as kube-scheduler chooses them.
//!
//! Specification: the allocator of kube-scheduler (variant "incubating"). Depth first, the first
//! solution wins: claim by claim, request by request, device by device, in a fixed order of pools,
//! slices and devices. Pure: [`allocate`] reads the snapshot and writes nothing. The rule that asks is
//! `rules::dynamic_resources`.

mod attempt;
mod capacity;
mod constraints;
mod counters;
pub(crate) mod extended;
mod marks;
mod pools;
mod requests;
mod result;
mod search;
mod selecting;
mod supply;

use crate::model::{Allocation, ResourceClaim};
use crate::release::Followed;
use crate::snapshot::{Cluster, NodeView};

pub(crate) use supply::{Place, Supply, supplies};

/// What a node would give.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An allocation for each claim, in their order.
    Found(Vec<Allocation>),
    /// There is no solution.
    NoSolution,
    /// There is no solution, and a pool of the node contradicts itself.
    InvalidPools,
    /// The search took more steps than it may.
    TooLong,
    /// The whole cycle fails, in kube-scheduler's words.
    Failed(String),
}

/// `namespace/name`, as kube-scheduler writes a claim.
pub(crate) fn key_of(claim: &ResourceClaim) -> String {
    format!("{}/{}", claim.meta.namespace, claim.meta.name)
}

/// Finds devices of a node for claims that have none yet.
pub(crate) fn allocate(
    claims: &[&ResourceClaim],
    cluster: &Cluster,
    node: NodeView<'_>,
    followed: Followed,
) -> Outcome {
    let pools = match pools::gather(cluster, node, followed) {
        Ok(pools) => pools,
        Err(why) => return Outcome::Failed(format!("gather pool information: {why}")),
    };
    let has_invalid = pools.iter().any(|pool| pool.state == pools::State::Invalid);
    let mut attempt = match attempt::Attempt::begin(claims, cluster, node, followed, &pools) {
        Ok(attempt) => attempt,
        Err(stop) => return stopped(stop),
    };
    match attempt.search() {
        Ok(true) => match result::allocations(&attempt) {
            Ok(found) => Outcome::Found(found),
            Err(why) => Outcome::Failed(why),
        },
        Ok(false) if has_invalid => Outcome::InvalidPools,
        Ok(false) => Outcome::NoSolution,
        Err(stop) => stopped(stop),
    }
}

fn stopped(stop: search::Stop) -> Outcome {
    match stop {
        search::Stop::TooMany => Outcome::Failed("allocation max size exceeded".to_owned()),
        search::Stop::TooLong => Outcome::TooLong,
        search::Stop::Fatal(why) => Outcome::Failed(why),
    }
}
