//! Why a pod is better where it is than elsewhere: for each of the best other nodes the fewest rules
//! that decided it, and by how much.

use serde_json::{Map, Value, json};

use crate::cycle::reference::{self, AskedFilters, Fresh, Judgement, NodeJudgement};
use crate::program::Profile;
use crate::snapshot::NodeSlot;

use super::world::World;

/// With how many nodes it is compared.
const RUNNERS_UP_MAX: usize = 3;

/// `node`: where the pod is; otherwise `chosen` is where it would be placed.
pub(super) fn decided(
    world: &World<'_>,
    node: Option<&str>,
    chosen: Option<NodeSlot>,
) -> Map<String, Value> {
    let cluster = world.cluster();
    let own = node.map_or(chosen, |name| cluster.nodes().find(name));
    let mut told = Map::new();
    let name = |slot: NodeSlot| world.node_name(slot).map(|node| node.name.to_string());
    let named = node.map(str::to_owned).or_else(|| own.and_then(name));
    told.insert("node".into(), named.into());
    let Some(profile) = world.profile() else { return told };
    let mut fresh = Fresh::of(profile, &world.pod, cluster);
    let program = &*world.work.program;
    let judgement =
        reference::judge(&mut fresh, &world.pod, program, profile, cluster, AskedFilters::First);
    told.insert("feasible".into(), judgement.feasible.len().into());
    let judged = |slot: NodeSlot| judgement.nodes.iter().find(|other| other.slot == slot);
    let Some(here) = own.and_then(judged) else { return told };
    if let Some((filter, status)) = &here.filter {
        let rule = profile.filters.get(*filter).map(|rule| &*rule.name);
        told.insert("rejectedBy".into(), json!({"rule": rule, "reasons": status.reasons}));
        return told;
    }
    told.insert("total".into(), here.total.into());
    let others = runners_up(here.slot, &judgement).into_iter();
    let compared =
        others.filter_map(|other| Some(compared(here, other, &name(other.slot)?, profile)));
    told.insert("runnersUp".into(), compared.collect());
    told
}

/// The best other nodes; of equal ones the first by name.
fn runners_up(own: NodeSlot, judgement: &Judgement) -> Vec<&NodeJudgement> {
    let is_other =
        |node: &&NodeJudgement| node.slot != own && node.filter.is_none() && !node.is_outside;
    let mut others: Vec<&NodeJudgement> = judgement.nodes.iter().filter(is_other).collect();
    others.sort_by_key(|node| std::cmp::Reverse(node.total));
    others.truncate(RUNNERS_UP_MAX);
    others
}

/// `by` is how far ahead the pod's node is, less than nothing if the other is ahead. Without the rules
/// that are named, whichever is ahead would not be.
fn compared(here: &NodeJudgement, there: &NodeJudgement, name: &str, profile: &Profile) -> Value {
    let by = here.total - there.total;
    let mut differences: Vec<(i64, &str, i64, i64)> = Vec::new();
    for own in &here.scores {
        let Some(other) = there.scores.iter().find(|other| other.score == own.score) else {
            continue;
        };
        let rule = profile.scores.get(own.score).map_or("", |rule| &*rule.name);
        let ahead = (own.weighted - other.weighted) * by.signum();
        if ahead > 0 {
            differences.push((ahead, rule, own.weighted, other.weighted));
        }
    }
    differences.sort_by_key(|(ahead, rule, ..)| (std::cmp::Reverse(*ahead), *rule));
    let mut left = by.abs();
    let mut rules = Vec::new();
    for (ahead, rule, own, other) in differences {
        if left <= 0 {
            break;
        }
        left -= ahead;
        rules.push(json!({"rule": rule, "here": own, "there": other, "by": own - other}));
    }
    json!({"node": name, "total": there.total, "by": by, "rules": rules})
}
