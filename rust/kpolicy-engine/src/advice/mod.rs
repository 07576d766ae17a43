//! Advice: which nodes are nearest to taking a pod, and the smallest changes of the pod, of a node or
//! of the policy that would place it.
//!
//! Nothing is suggested from a formula: each suggestion is a world in which the cycle decides the pod
//! again, with the change made and everything else as it is. A suggestion is only given if the pod is
//! placed there, and is not placed any more if one of its changes is left out or an amount is one
//! unit smaller. The search is bounded by a number of decisions. It changes the snapshot and the
//! program for the time of a decision, and puts back what it changed.

mod change;
mod decided;
mod fixes;
mod labels;
mod nearest;
mod parts;
mod room;
mod search;
mod standing;
mod world;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::judging::Tie;
use crate::message::NO_NODES;
use crate::program::Program;
use crate::rules::decision_work::DecisionWork;
use crate::rules::scheduling_gates;
use crate::snapshot::{Cluster, Pod};
use crate::threads::Threads;
use crate::waiting::held_now;

use standing::Standing;
use world::World;

/// What advice rests on besides its pod. The cluster and the program are as before when it is given.
pub(crate) struct Advising<'a> {
    pub(crate) program: &'a mut Program,
    pub(crate) cluster: &'a mut Cluster,
    pub(crate) tie: Tie,
    pub(crate) threads: &'a Threads,
}

/// All of the advice on a pod but its name; nothing of a pod that no profile serves. `node`: where the
/// pod is; it is judged as if it were not there.
pub(crate) fn advice(
    pod: &Arc<Pod>,
    node: Option<&str>,
    work: Advising<'_>,
) -> Option<Map<String, Value>> {
    let profile = work.program.profile_of(pod)?;
    let nodes = work.cluster.nodes().len();
    let mut told = Map::new();
    told.insert("nodes".into(), nodes.into());
    if node.is_none()
        && let Some((rule, reason)) = held_back(pod, profile, work.program, work.cluster)
    {
        told.insert("situation".into(), "held".into());
        told.insert("heldBy".into(), json!({"rule": rule, "reason": reason}));
        return Some(told);
    }
    if nodes == 0 {
        told.insert("situation".into(), "noNodes".into());
        told.insert("message".into(), NO_NODES.into());
        return Some(told);
    }
    let excessive = DecisionWork::of(pod, work.cluster);
    if excessive.is_excessive() {
        told.insert("situation".into(), "setAside".into());
        told.insert("message".into(), excessive.to_string().into());
        return Some(told);
    }
    let mut world = World::of(pod, profile, work);
    let chosen = world.placed_as_it_is();
    if node.is_some() || chosen.is_some() {
        let situation = if node.is_some() { "placed" } else { "fits" };
        told.insert("situation".into(), situation.into());
        told.extend(decided::decided(&world, node, chosen));
        return Some(told);
    }
    told.insert("situation".into(), "fitsNowhere".into());
    let standing = Standing::of(&world);
    told.insert("nearest".into(), nearest::nearest(&standing, &world));
    told.insert("rejectedBy".into(), nearest::by_rule(&standing, &world));
    let found = search::suggestions(&standing, &mut world);
    told.insert("suggestions".into(), found.iter().map(search::Suggestion::to_json).collect());
    told.insert("decisions".into(), world.decisions().into());
    told.insert("isComplete".into(), (!world.is_spent()).into());
    Some(told)
}

/// What keeps a pod from being tried at all, and why.
fn held_back(
    pod: &Arc<Pod>,
    profile: usize,
    program: &Program,
    cluster: &Cluster,
) -> Option<(String, String)> {
    if let Some(status) = scheduling_gates::gate(pod) {
        return Some((scheduling_gates::NAME.to_owned(), status.message()));
    }
    let own = program.profiles.get(profile)?;
    if let Some(status) = own.claims_not_ready(pod, cluster) {
        return Some((crate::rules::dynamic_resources::NAME.to_owned(), status.message()));
    }
    let (hold, why) = held_now(pod, profile, program, cluster)?;
    Some((hold.to_string(), why.to_string()))
}
