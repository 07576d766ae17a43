//! The nodes nearest to taking a pod, and which rule rejects how many.

use serde_json::{Map, Value, json};

use super::change::quantity;
use super::standing::{NodeStanding, Short, Standing};
use super::world::World;

/// How many nodes are named.
const NEAREST_MAX: usize = 5;

pub(super) fn nearest(standing: &Standing, world: &World<'_>) -> Value {
    let nodes = standing.by_nearness().into_iter().take(NEAREST_MAX);
    nodes.filter_map(|node| told(node, standing, world)).collect()
}

/// How many nodes each rule rejects, whether or not others reject them too.
pub(super) fn by_rule(standing: &Standing, world: &World<'_>) -> Value {
    let mut counts = Map::new();
    let filters = standing.nodes.iter().flat_map(|node| &node.failing);
    for name in filters.filter_map(|(filter, _)| Some(&*world.rule(*filter)?.name)) {
        let before = counts.get(name).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(name.to_owned(), (before + 1).into());
    }
    counts.into()
}

fn told(node: &NodeStanding, standing: &Standing, world: &World<'_>) -> Option<Value> {
    let rule = |(filter, code): &(usize, _)| {
        let reasons = standing.reasons(node.slot, *filter, *code, world.cluster());
        Some(json!({"rule": &*world.rule(*filter)?.name, "reasons": reasons}))
    };
    let rules: Vec<Value> = node.failing.iter().filter_map(rule).collect();
    let mut told = json!({"node": &*world.node_name(node.slot)?.name, "rules": rules});
    if let (false, Some(told)) = (node.short.is_empty(), told.as_object_mut()) {
        told.insert("short".into(), node.short.iter().map(short_of).collect());
    }
    Some(told)
}

fn short_of(short: &Short) -> Value {
    let Short { resource, asked, free } = short;
    json!({"resource": resource, "asked": quantity(resource, *asked),
           "free": quantity(resource, (*free).max(0))})
}
