//! The fewest pods that would have to leave a node, by the filters that rest on its pods.
//!
//! All pods that may go are taken off, then put back one after the other as long as the pod still
//! fits: in the order of preemption, which keeps the important ones, and with those that hold least
//! first, which leaves few to go. Daemons and static pods are not taken: they would come back.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::judging::{Forks, HypotheticalNode, PreparedFilters, ahead_of};
use crate::snapshot::{NodeView, Pod};

use super::change::{Change, NodeName};
use super::standing::{NodeStanding, Short, held};
use super::world::World;

/// Owners whose pods belong to their node.
const BOUND_OWNERS: [&str; 2] = ["DaemonSet", "Node"];

fn may_leave(pod: &Pod) -> bool {
    let owner = pod.template.owner.as_ref().map(|owner| &*owner.kind);
    !owner.is_some_and(|kind| BOUND_OWNERS.contains(&kind))
}

/// At least how many pods have to leave, as far as resources say.
pub(super) fn estimate(standing: &NodeStanding, view: NodeView<'_>) -> usize {
    let needed = standing.short.iter().map(|short| needed(short, view)).max();
    needed.unwrap_or(1)
}

fn needed(short: &Short, view: NodeView<'_>) -> usize {
    let leaving = view.load.pods.iter().filter(|pod| may_leave(pod));
    let mut amounts: Vec<i64> = leaving.map(|pod| held(pod, &short.resource)).collect();
    amounts.sort_unstable_by_key(|amount| Reverse(*amount));
    let mut free = short.free;
    let mut count = 0;
    for amount in amounts {
        if free >= short.asked {
            return count;
        }
        free = free.saturating_add(amount);
        count += 1;
    }
    if free >= short.asked { count } else { usize::MAX }
}

/// The pods that would leave, as changes; nothing where no pod helps.
pub(super) fn room(
    standing: &NodeStanding,
    prepared: &PreparedFilters<'_>,
    name: &NodeName,
    world: &World<'_>,
) -> Option<Vec<Change>> {
    let view = world.cluster().nodes().view(standing.slot)?;
    let ahead = ahead_of(&world.pod, &view.node.name, world.work.program, world.cluster());
    let forks = Forks::of(prepared);
    let mut empty = HypotheticalNode::without(view, may_leave, forks, world.cluster());
    ahead.into_iter().for_each(|pod| empty.put(pod));
    if empty.rejection_by_pods().is_some() {
        return None;
    }
    let mut pods: Vec<&Arc<Pod>> = view.load.pods.iter().filter(|pod| may_leave(pod)).collect();
    let by_importance = |pod: &Arc<Pod>| {
        (Reverse(pod.priority()), pod.start_seconds.unwrap_or(i64::MAX), Arc::clone(&pod.uid))
    };
    pods.sort_by_cached_key(|pod| by_importance(pod));
    let kept_by_importance = leaving(&empty, &pods);
    pods.sort_by_key(|pod| share(pod, &standing.short));
    let smallest_first = leaving(&empty, &pods);
    let fewest = match smallest_first.len() < kept_by_importance.len() {
        true => smallest_first,
        false => kept_by_importance,
    };
    let gone = |pod: &Arc<Pod>| Change::Removal { node: name.clone(), pod: Arc::clone(pod) };
    let mut fewest: Vec<Change> = fewest.into_iter().map(gone).collect();
    fewest.sort_by_cached_key(|change| change.to_json().to_string());
    (!fewest.is_empty()).then_some(fewest)
}

/// Who cannot be put back, of pods in the order in which that is tried.
fn leaving<'p>(empty: &HypotheticalNode<'_>, pods: &[&'p Arc<Pod>]) -> Vec<&'p Arc<Pod>> {
    let mut node = empty.fork();
    let mut gone = Vec::new();
    for pod in pods {
        node.put(pod);
        if node.rejection_by_pods().is_some() {
            node.take(pod);
            gone.push(*pod);
        }
    }
    gone
}

/// The largest share that a pod holds of what is short, in millionths of what is asked.
fn share(pod: &Pod, short: &[Short]) -> i128 {
    let share = |short: &Short| {
        i128::from(held(pod, &short.resource)) * 1_000_000 / i128::from(short.asked.max(1))
    };
    short.iter().map(share).max().unwrap_or(0)
}
