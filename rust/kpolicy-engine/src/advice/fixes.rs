//! What could be changed so that one rule does not reject one node any more. Whether it is enough is
//! for the cycle to say.

use crate::model::{Effect, Labels, Requirement, SelectorOperator, Toleration, TolerationOperator};
use crate::resources::names;
use crate::rules::node_selection::{NAME_FIELD, can_be_parsed};
use crate::rules::tolerations::Operators;
use crate::rules::{
    FilterRule, inter_pod_affinity, node_affinity, node_label, node_resources_fit,
    node_unschedulable, pod_topology_spread, service_affinity, taint_toleration,
};
use crate::snapshot::{Node, NodeView};

use super::change::{Change, Constant, Constraint, Dropped, NodeName};
use super::labels;
use super::parts;
use super::standing::{NodeStanding, untolerated};
use super::world::{CORDON_KEY, World};

/// Of how many numbers of a rule others are tried.
const CONSTANTS_MAX: usize = 4;
/// A number beyond those that expressions compare with; the search goes back from there.
const FAR: i64 = 1 << 50;

/// Sets of changes of which each may do.
pub(super) type Alternatives = Vec<Vec<Change>>;

/// Of the pod.
pub(super) fn of_pod(
    rule: &FilterRule,
    standing: &NodeStanding,
    world: &World<'_>,
) -> Alternatives {
    let Some(view) = world.cluster().nodes().view(standing.slot) else { return Vec::new() };
    match rule.builtin() {
        Some(node_resources_fit::NAME) => lower_requests(standing, world),
        Some(taint_toleration::NAME) => tolerate(view, world),
        Some(node_affinity::NAME) => ask_less(view.node, world),
        Some(pod_topology_spread::NAME) => without_each(Constraint::Spread, world),
        Some(inter_pod_affinity::NAME) => {
            let mut each = without_each(Constraint::Affinity, world);
            each.extend(without_each(Constraint::AntiAffinity, world));
            each
        }
        None => {
            let mut each = labels::of_pod(rule, world);
            each.extend(lower_as_far_as_can_be(world));
            each
        }
        Some(_) => Vec::new(),
    }
}

/// Of the node, its pods apart.
pub(super) fn of_node(rule: &FilterRule, slot: &NodeName, world: &World<'_>) -> Alternatives {
    let Some(view) = world.cluster().nodes().view(slot.slot) else { return Vec::new() };
    match rule.builtin() {
        Some(taint_toleration::NAME) => untaint(view, slot, world),
        Some(node_unschedulable::NAME) => vec![vec![Change::Uncordon { node: slot.clone() }]],
        Some(node_affinity::NAME) => label(view.node, slot, world),
        None => labels::of_node(rule, slot, world),
        Some(_) => Vec::new(),
    }
}

/// Of the policy. Rules that keep what a pod's own spec asks for, and what the kubelet would refuse, are
/// not to be given up.
pub(super) fn of_policy(filter: usize, rule: &FilterRule) -> Alternatives {
    match rule.builtin() {
        None | Some(node_label::NAME | service_affinity::NAME) => {
            let mut each = vec![vec![Change::Rule { filter, name: rule.name.clone() }]];
            let compared = rule.compared().into_iter().take(CONSTANTS_MAX);
            let constants = compared.filter_map(|own| Constant::of(filter, &rule.name, own));
            for own in constants {
                for to in [-FAR, FAR].into_iter().filter(|to| *to != own.from) {
                    each.push(vec![Change::Constant(Constant { to, ..own.clone() })]);
                }
            }
            each
        }
        Some(_) => Vec::new(),
    }
}

fn lower_requests(standing: &NodeStanding, world: &World<'_>) -> Alternatives {
    let mut changes = Vec::new();
    for short in &standing.short {
        let resource = &*short.resource;
        // Nothing at all is no request to suggest.
        if resource == names::PODS || short.free <= 0 || !parts::may_lower(&world.pod, resource) {
            return Vec::new();
        }
        let (from, to) = (short.asked, short.free);
        changes.push(Change::Request { resource: resource.into(), from, to });
    }
    if changes.is_empty() { Vec::new() } else { vec![changes] }
}

/// What an expression makes of a request is not known: the cycle finds how much may stay.
fn lower_as_far_as_can_be(world: &World<'_>) -> Alternatives {
    let asked = &world.pod.requests().fit;
    let usual = [names::CPU, names::MEMORY, names::EPHEMERAL_STORAGE];
    let scalars = asked.scalars.iter().map(|(name, _)| &***name);
    let lowered = usual.into_iter().chain(scalars).filter_map(|resource| {
        let from = asked.get(resource);
        (from > 1 && parts::may_lower(&world.pod, resource))
            .then(|| vec![Change::Request { resource: resource.into(), from, to: 1 }])
    });
    lowered.collect()
}

fn tolerate(view: NodeView<'_>, world: &World<'_>) -> Alternatives {
    let taints = untolerated(&view.node.taints, &world.pod, operators(world));
    let toleration = |taint: &crate::model::Taint| {
        // Whoever cordons a node wants no pods on it.
        (&*taint.key != CORDON_KEY).then(|| {
            let (key, value) = (taint.key.clone(), taint.value.clone());
            let (operator, effect) = (TolerationOperator::Equal, Some(taint.effect));
            Change::Toleration(Toleration { key, operator, value, effect })
        })
    };
    let changes: Option<Vec<Change>> = taints.map(toleration).collect();
    changes.filter(|changes| !changes.is_empty()).into_iter().collect()
}

fn untaint(view: NodeView<'_>, node: &NodeName, world: &World<'_>) -> Alternatives {
    let taints = untolerated(&view.node.taints, &world.pod, operators(world));
    // A field that a controller follows: the taint comes and goes with it.
    let of_cordon = |key: &str, effect: Effect| {
        key == CORDON_KEY && effect == Effect::NoSchedule && view.node.object.unschedulable
    };
    let left = taints.filter(|taint| !of_cordon(&taint.key, taint.effect));
    let changes: Vec<Change> =
        left.map(|taint| Change::Untaint { node: node.clone(), taint: taint.clone() }).collect();
    vec![changes]
}

fn operators(world: &World<'_>) -> Operators {
    Operators::of(world.work.program.followed)
}

/// Node affinity without what this node does not have. Of several terms the one that lacks least.
fn ask_less(node: &Node, world: &World<'_>) -> Alternatives {
    let mut changes: Vec<Change> = selector_misses(node, world)
        .map(|(key, value)| Change::Selector { key: key.into(), value: value.into() })
        .collect();
    let Some(misses) = term_misses(node, world) else { return Vec::new() };
    changes.extend(misses.into_iter().map(Change::Requirement));
    if changes.is_empty() { Vec::new() } else { vec![changes] }
}

/// Labels that the node selector and a term of the node affinity ask of this node.
fn label(node: &Node, name: &NodeName, world: &World<'_>) -> Alternatives {
    let set = |key: &str, value: Option<&str>| Change::NodeLabel {
        node: name.clone(),
        key: key.into(),
        value: value.map(Into::into),
    };
    let mut changes: Vec<Change> =
        selector_misses(node, world).map(|(key, value)| set(key, Some(value))).collect();
    let Some(misses) = term_misses(node, world) else { return Vec::new() };
    for Dropped { is_field, requirement, .. } in &misses {
        match wanted(requirement).filter(|_| !is_field) {
            Some(Wanted::Value(value)) => changes.push(set(&requirement.key, Some(&value))),
            Some(Wanted::Absence) => changes.push(set(&requirement.key, None)),
            None => return Vec::new(),
        }
    }
    if changes.is_empty() { Vec::new() } else { vec![changes] }
}

/// What a label has to be for a requirement.
enum Wanted {
    Value(Box<str>),
    Absence,
}

/// `None`: no label meets it.
fn wanted(requirement: &Requirement) -> Option<Wanted> {
    let bound = || requirement.values.first().and_then(|bound| bound.parse::<i64>().ok());
    let beside = |by: i64| Some(Wanted::Value(bound()?.checked_add(by)?.to_string().into()));
    match requirement.operator {
        SelectorOperator::In => requirement.values.first().cloned().map(Wanted::Value),
        SelectorOperator::Exists => Some(Wanted::Value("".into())),
        SelectorOperator::NotIn | SelectorOperator::DoesNotExist => Some(Wanted::Absence),
        SelectorOperator::Gt => beside(1),
        SelectorOperator::Lt => beside(-1),
        SelectorOperator::Invalid => None,
    }
}

fn selector_misses<'a>(
    node: &'a Node,
    world: &'a World<'_>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let selector = world.pod.template.node_affinity.selector.iter();
    let labels = &node.object.meta.labels;
    selector.flat_map(Labels::iter).filter(|(key, value)| labels.get(key) != Some(value))
}

/// The requirements of a term that the node does not meet, of the term with the fewest. `None`: no
/// term can be met.
fn term_misses(node: &Node, world: &World<'_>) -> Option<Vec<Dropped>> {
    let Some(required) = &world.pod.template.node_affinity.required else {
        return Some(Vec::new());
    };
    let labels = &node.object.meta.labels;
    let misses = |(term, own): (usize, &crate::model::NodeSelectorTerm)| {
        if !can_be_parsed(own) || (own.match_expressions.is_empty() && own.match_fields.is_empty())
        {
            return None;
        }
        let of_labels = own.match_expressions.iter().enumerate();
        let of_labels = of_labels.filter(|(_, requirement)| !requirement.matches(labels));
        let of_fields = own.match_fields.iter().enumerate();
        let of_fields = of_fields.filter(|(_, requirement)| !names_it(requirement, &node.name));
        let dropped = |is_field: bool| {
            move |(position, requirement): (usize, &Requirement)| {
                let requirement = requirement.clone();
                Dropped { term, is_field, position, requirement }
            }
        };
        Some(of_labels.map(dropped(false)).chain(of_fields.map(dropped(true))).collect::<Vec<_>>())
    };
    required.terms.iter().enumerate().filter_map(misses).min_by_key(Vec::len)
}

fn names_it(requirement: &Requirement, name: &str) -> bool {
    requirement.key.as_ref() == NAME_FIELD && requirement.accepts(Some(name))
}

/// The pod without one of its constraints of a sort, each by itself.
fn without_each(sort: Constraint, world: &World<'_>) -> Alternatives {
    let template = &world.pod.template;
    let affinity = &template.pod_affinity;
    let keys: Vec<Option<Box<str>>> = match sort {
        Constraint::Spread => {
            let hard = template.spread.iter();
            hard.map(|own| own.hard.then(|| own.topology_key.clone())).collect()
        }
        Constraint::Affinity => {
            affinity.required.iter().map(|own| Some(own.topology_key.clone())).collect()
        }
        Constraint::AntiAffinity => {
            affinity.anti_required.iter().map(|own| Some(own.topology_key.clone())).collect()
        }
    };
    let each = keys.into_iter().enumerate();
    let each =
        each.filter_map(|(position, key)| Some(Change::Constraint { sort, position, key: key? }));
    each.map(|change| vec![change]).collect()
}
