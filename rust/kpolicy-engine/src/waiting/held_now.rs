//! What the rules of the queue say of a pod that waits, by itself and as of now.

use std::sync::Arc;

use serde_json::Value;

use crate::program::Program;
use crate::rules::expression::{
    ClusterTotals, DomainSums, OrderRule, PodWorld, QueueWorld, TenantView, Waited,
};
use crate::snapshot::{Cluster, Pod};

/// The name of the hold that would hold it, and why.
pub(crate) fn held_now(
    pod: &Pod,
    profile: usize,
    program: &Program,
    cluster: &Cluster,
) -> Option<(Arc<str>, Arc<str>)> {
    let holds = &program.profiles.get(profile)?.holds;
    if holds.is_empty() {
        return None;
    }
    asked_now(pod, cluster, |world| {
        holds.iter().find_map(|hold| Some((Arc::clone(hold.name()), hold.holds(world).why?)))
    })
}

/// What the parts of all holds and of the order give, as `explain` has it of other rules.
pub(crate) fn seen_now(
    pod: &Pod,
    profile: usize,
    program: &Program,
    cluster: &Cluster,
) -> Vec<Value> {
    let holds = program.profiles.get(profile).map_or(&[][..], |own| &own.holds);
    let order = program.queue.as_ref().and_then(|queue| queue.order.as_ref());
    if holds.is_empty() && order.is_none() {
        return Vec::new();
    }
    asked_now(pod, cluster, |world| {
        let of_holds = holds.iter().map(|hold| hold.seen(world));
        of_holds.chain(order.map(|order: &OrderRule| order.seen(world))).collect()
    })
}

/// The pod has not waited at all yet. What it has already, because it is being tried or is on a node,
/// counts as asked for, as it does when the queue asks.
fn asked_now<T>(pod: &Pod, cluster: &Cluster, ask: impl FnOnce(&QueueWorld<'_>) -> T) -> T {
    let mut totals = ClusterTotals::default();
    totals.follow(cluster);
    let sums = DomainSums::default();
    let usage = cluster.usage();
    let waiting = usage.map(|usage| usage.while_waiting(pod, cluster.pods().get(&pod.uid)));
    let tenant = TenantView::of_pod(pod, usage, &totals);
    ask(&QueueWorld {
        pod: PodWorld { pod, cluster },
        tenant: match &waiting {
            Some((own, all)) => tenant.with_sums(own, all),
            None => tenant,
        },
        waited: Waited::default(),
        sums: &sums,
    })
}
