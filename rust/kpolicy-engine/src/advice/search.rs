//! Finds suggestions: candidates from what each node has against the pod, the smallest first, and of
//! each kind the first that the cycle confirms, made as small as the cycle allows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::change::{Change, NodeName, Side};
use super::fixes::{self, Alternatives};
use super::room;
use super::standing::{NodeStanding, Standing};
use super::world::{Spent, World};

/// How many candidates of one kind are tried.
const TRIES_MAX: usize = 12;
/// On how many of the nearest nodes something is to be changed.
const NEAR_NODES_MAX: usize = 256;
/// On how many nodes it is worked out which pods would leave.
const ROOMS_MAX: usize = 12;
/// Of nodes with more pods it is not.
const PODS_MAX: usize = 500;
/// How many sets of changes one node gives rise to.
const ALTERNATIVES_MAX: usize = 16;
/// Nodes that more rules reject are too far away.
const RULES_MAX: usize = 3;

/// Changes that place the pod, none of which can be left out.
#[derive(Debug)]
pub(super) struct Suggestion {
    side: Side,
    changes: Vec<Change>,
    /// Where the pod is placed.
    node: String,
}

impl Suggestion {
    pub(super) fn to_json(&self) -> Value {
        json!({"of": self.side.name(), "kind": kind_of(&self.changes), "size": self.changes.len(),
               "changes": self.changes.iter().map(Change::to_json).collect::<Vec<_>>(),
               "node": self.node})
    }

    fn rank(&self) -> (usize, u64, Side, String) {
        let thousandths = self.changes.iter().map(Change::thousandths).sum();
        (self.changes.len(), thousandths, self.side, kind_of(&self.changes))
    }
}

/// By size, then by how much amounts change, then as they are told.
type Rank = (usize, u64, usize, String);
type Kinds = BTreeMap<String, BTreeMap<Rank, Vec<Change>>>;

/// The kinds of changes, each once.
fn kind_of(changes: &[Change]) -> String {
    let kinds: BTreeSet<&str> = changes.iter().map(Change::kind).collect();
    kinds.into_iter().collect::<Vec<_>>().join("+")
}

/// The smallest first. Fewer than there are where the decisions are used up.
pub(super) fn suggestions(standing: &Standing, world: &mut World<'_>) -> Vec<Suggestion> {
    let mut found = Vec::new();
    for (side, kinds) in [
        (Side::Pod, of_pod(standing, world)),
        (Side::Node, of_node(standing, world)),
        (Side::Policy, of_policy(standing, world)),
    ] {
        if of_side(side, kinds, world, &mut found).is_err() {
            break;
        }
    }
    found.sort_by_cached_key(Suggestion::rank);
    found
}

fn of_side(
    side: Side,
    kinds: Kinds,
    world: &mut World<'_>,
    found: &mut Vec<Suggestion>,
) -> Result<(), Spent> {
    let mut kinds: Vec<(String, BTreeMap<Rank, Vec<Change>>)> = kinds.into_iter().collect();
    kinds.sort_by(|(left, lefts), (right, rights)| {
        lefts.keys().next().cmp(&rights.keys().next()).then_with(|| left.cmp(right))
    });
    let mut known: Vec<BTreeSet<String>> = Vec::new();
    for (kind, candidates) in kinds {
        let sorts: BTreeSet<String> = kind.split('+').map(str::to_owned).collect();
        // What does with fewer sorts of changes is smaller.
        if known.iter().any(|smaller| smaller.is_subset(&sorts)) {
            continue;
        }
        for changes in candidates.into_values().take(TRIES_MAX) {
            if world.placed(&changes)?.is_none() {
                continue;
            }
            let changes = smallest(changes, world)?;
            let Some(slot) = world.placed(&changes)? else { continue };
            let sorts: BTreeSet<String> = kind_of(&changes).split('+').map(str::to_owned).collect();
            if known.iter().any(|smaller| smaller.is_subset(&sorts)) {
                break;
            }
            known.push(sorts);
            let node = world.node_name(slot).map(|node| node.name.to_string());
            found.push(Suggestion { side, changes, node: node.unwrap_or_default() });
            break;
        }
    }
    Ok(())
}

/// Without changes that are not needed, and with amounts as near to what they were as the cycle allows.
fn smallest(mut changes: Vec<Change>, world: &mut World<'_>) -> Result<Vec<Change>, Spent> {
    let mut position = 0;
    while changes.len() > 1 && position < changes.len() {
        let mut fewer = changes.clone();
        fewer.remove(position);
        if world.placed(&fewer)?.is_some() {
            // One that was needed before may not be needed now.
            changes = fewer;
            position = 0;
        } else {
            position += 1;
        }
    }
    for position in 0..changes.len() {
        let nearest = nearest_amount(&changes, position, world)?;
        if let (Some(amount), Some(change)) = (nearest, changes.get_mut(position)) {
            *change = change.with_amount(amount);
        }
    }
    Ok(changes)
}

/// The amount nearest to what it was with which the pod is placed, where one step nearer does not do.
fn nearest_amount(
    changes: &[Change],
    position: usize,
    world: &mut World<'_>,
) -> Result<Option<i64>, Spent> {
    let Some((from, to)) = changes.get(position).and_then(Change::amounts) else { return Ok(None) };
    let (from, to) = (i128::from(from), i128::from(to));
    let toward = (from - to).signum();
    // Distances from what it was; the pod is placed at the greatest, and not without a change.
    let whole = (from - to).abs();
    let does = |distance: i128, world: &mut World<'_>| -> Result<bool, Spent> {
        let Ok(amount) = i64::try_from(from - toward * distance) else { return Ok(false) };
        let mut tried = changes.to_vec();
        if let Some(change) = tried.get_mut(position) {
            *change = change.with_amount(amount);
        }
        Ok(world.placed(&tried)?.is_some())
    };
    let (mut fails, mut does_at) = (0, whole);
    if whole > 1 && !does(whole - 1, world)? {
        fails = whole - 1;
    }
    // What is near is found first, then what is between.
    let mut distance = 1;
    while fails < does_at - 1 && distance < does_at {
        if does(distance, world)? {
            does_at = distance;
            break;
        }
        fails = distance;
        distance *= 2;
    }
    while does_at - fails > 1 {
        let middle = fails + (does_at - fails) / 2;
        if does(middle, world)? { does_at = middle } else { fails = middle }
    }
    Ok(i64::try_from(from - toward * does_at).ok())
}

fn add(kinds: &mut Kinds, changes: Vec<Change>, place: usize) {
    let thousandths = changes.iter().map(Change::thousandths).sum();
    let own = kinds.entry(kind_of(&changes)).or_default();
    let last = own.last_key_value().filter(|_| own.len() >= TRIES_MAX);
    let is_beyond = |(size, amounts, at, _): &Rank| {
        (*size, *amounts, *at) < (changes.len(), thousandths, place)
    };
    // Of most nodes that is known without the text.
    if last.is_some_and(|(last, _)| is_beyond(last)) {
        return;
    }
    let text = changes.iter().map(|change| change.to_json().to_string()).collect();
    let rank = (changes.len(), thousandths, place, text);
    if own.len() < TRIES_MAX || own.last_key_value().is_some_and(|(last, _)| rank < *last) {
        own.insert(rank, changes);
    }
    if own.len() > TRIES_MAX {
        own.pop_last();
    }
}

/// One set of changes for each rule, in all combinations as far as there are few.
fn combined(of_rules: Vec<Alternatives>) -> Alternatives {
    let mut sets: Alternatives = vec![Vec::new()];
    for alternatives in of_rules {
        let mut longer = Vec::new();
        for set in &sets {
            for more in alternatives.iter().take(ALTERNATIVES_MAX) {
                longer.push([set.as_slice(), more.as_slice()].concat());
            }
        }
        longer.truncate(ALTERNATIVES_MAX);
        sets = longer;
    }
    sets.retain(|set| !set.is_empty());
    sets
}

/// A node that pods would have to leave.
struct Crowded<'a> {
    /// How many changes there would be at least.
    pods: usize,
    place: usize,
    node: &'a NodeStanding,
    name: NodeName,
    /// What else would be changed.
    with: Vec<Alternatives>,
}

fn near(node: &NodeStanding) -> bool {
    (1..=RULES_MAX).contains(&node.failing.len())
}

fn of_pod(standing: &Standing, world: &World<'_>) -> Kinds {
    let mut kinds = Kinds::new();
    for node in standing.nodes.iter().filter(|node| near(node)) {
        let of_rule = |(filter, _): &(usize, _)| {
            Some(fixes::of_pod(world.rule(*filter)?, node, world)).filter(|own| !own.is_empty())
        };
        let of_rules: Option<Vec<Alternatives>> = node.failing.iter().map(of_rule).collect();
        for changes in combined(of_rules.unwrap_or_default()) {
            // The same of all nodes.
            add(&mut kinds, changes, 0);
        }
    }
    kinds
}

fn of_node(standing: &Standing, world: &World<'_>) -> Kinds {
    let mut kinds = Kinds::new();
    let mut crowded = Vec::new();
    let nearest = standing.by_nearness().into_iter().filter(|node| near(node));
    for (place, node) in nearest.take(NEAR_NODES_MAX).enumerate() {
        let Some(name) = world.node_name(node.slot) else { continue };
        let rests = |filter: usize| standing.rests_on_pods.get(filter) == Some(&true);
        let (mut of_rules, mut left) = (Vec::new(), Vec::new());
        for (filter, _) in &node.failing {
            let own = world.rule(*filter).map(|rule| fixes::of_node(rule, &name, world));
            match own.filter(|own| !own.is_empty()) {
                Some(own) => of_rules.push(own),
                None => left.push(*filter),
            }
        }
        if left.is_empty() {
            for changes in combined(of_rules.clone()) {
                add(&mut kinds, changes, place);
            }
        }
        let is_only_crowded = node.failing.iter().all(|(filter, _)| rests(*filter));
        if is_only_crowded || (!left.is_empty() && left.into_iter().all(rests)) {
            let with = if is_only_crowded { Vec::new() } else { of_rules };
            let view = world.cluster().nodes().view(node.slot);
            let view = view.filter(|view| view.load.pods.len() <= PODS_MAX);
            let pods = view.map_or(usize::MAX, |view| room::estimate(node, view));
            crowded.push(Crowded {
                pods: pods.saturating_add(with.len()),
                place,
                node,
                name,
                with,
            });
        }
    }
    crowded.retain(|crowded| crowded.pods < usize::MAX);
    crowded.sort_by_key(|crowded| (crowded.pods, crowded.place));
    let prepared = standing.prepared();
    for Crowded { place, node, name, with, .. } in crowded.into_iter().take(ROOMS_MAX) {
        if world.is_spent() {
            break;
        }
        let Some(leaving) = room::room(node, &prepared, &name, world) else { continue };
        for changes in combined([with, vec![vec![leaving]]].concat()) {
            add(&mut kinds, changes, place);
        }
    }
    kinds
}

fn of_policy(standing: &Standing, world: &World<'_>) -> Kinds {
    let mut kinds = Kinds::new();
    let failing: BTreeSet<Vec<usize>> = standing
        .nodes
        .iter()
        .filter(|node| near(node))
        .map(|node| node.failing.iter().map(|(filter, _)| *filter).collect())
        .collect();
    for filters in failing {
        let of_rule = |filter: &usize| {
            let own = fixes::of_policy(*filter, world.rule(*filter)?);
            (!own.is_empty()).then_some(own)
        };
        let of_rules: Option<Vec<Alternatives>> = filters.iter().map(of_rule).collect();
        for changes in combined(of_rules.unwrap_or_default()) {
            add(&mut kinds, changes, 0);
        }
    }
    kinds
}
