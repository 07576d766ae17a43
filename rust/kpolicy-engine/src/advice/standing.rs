//! What every node has against the pod, as the rules of its profile say one by one.

use std::sync::Arc;

use crate::cycle::reference::Fresh;
use crate::judging::{PreparedFilters, ahead_of, nominated};
use crate::model::Taint;
use crate::program::Profile;
use crate::resources::{Amounts, names};
use crate::rules::{Code, FilterRule, PreparedFilter, Stage, node_resources_fit};
use crate::snapshot::{Cluster, NodeSlot, NodeView, Pod};

use super::world::World;

/// A node and the rules that reject it, by position, in order. None of them is empty.
#[derive(Debug)]
pub(super) struct NodeStanding {
    pub(super) slot: NodeSlot,
    pub(super) failing: Vec<(usize, Code)>,
    pub(super) short: Vec<Short>,
}

/// A resource of which the node has too little, in the unit in which it is compared.
#[derive(Debug, Clone)]
pub(super) struct Short {
    pub(super) resource: Box<str>,
    pub(super) asked: i64,
    /// May be less than nothing.
    pub(super) free: i64,
}

/// A rule rejects the pod before it is asked about nodes, or leaves the node out.
pub(super) const BEFORE: Code = Code::reject(1);

#[derive(Debug)]
pub(super) struct Standing {
    fresh: Fresh,
    /// In the order of names.
    pub(super) nodes: Vec<NodeStanding>,
    /// By filter, whether putting pods on a node or taking them off may change what it says of it.
    pub(super) rests_on_pods: Vec<bool>,
    /// By filter, whether it was asked about nodes.
    asked: Vec<bool>,
}

impl Standing {
    pub(super) fn of(world: &World<'_>) -> Self {
        let Some(profile) = world.profile() else { return Self::nothing() };
        let fresh = Fresh::of(profile, &world.pod, world.cluster());
        let (mut nodes, mut rests_on_pods, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        let prepared = fresh.prepared();
        let columns = columns(&prepared, world.cluster());
        for filter in &prepared {
            let checks = filter.is_some_and(|own| matches!(own.stage(), Stage::Check));
            asked.push(checks);
            rests_on_pods.push(checks && filter.is_some_and(PreparedFilter::rests_on_pods));
        }
        for view in in_order(world.cluster()) {
            let mut failing = Vec::new();
            for (filter, column) in columns.iter().enumerate() {
                let code = column.code(view);
                if !code.passes() {
                    failing.push((filter, code));
                }
            }
            let ahead = ahead_of(&world.pod, &view.node.name, world.work.program, world.cluster());
            if failing.is_empty() {
                let found = nominated::with_pods(view.slot, &ahead, &prepared, world.cluster());
                failing.extend(found.map(|found| (found.filter, found.code)));
            }
            let short =
                if fits(profile, &failing) { Vec::new() } else { short(world, view, &ahead) };
            nodes.push(NodeStanding { slot: view.slot, failing, short });
        }
        Self { fresh, nodes, rests_on_pods, asked }
    }

    fn nothing() -> Self {
        let (nodes, rests_on_pods, asked) = (Vec::new(), Vec::new(), Vec::new());
        Self { fresh: Fresh::default(), nodes, rests_on_pods, asked }
    }

    pub(super) fn prepared(&self) -> PreparedFilters<'_> {
        self.fresh.prepared()
    }

    /// What a rule says of a node, in its own words.
    pub(super) fn reasons(
        &self,
        slot: NodeSlot,
        filter: usize,
        code: Code,
        cluster: &Cluster,
    ) -> Vec<String> {
        let prepared = self.prepared();
        let rule = prepared.get(filter).copied().flatten();
        let (Some(rule), Some(view)) = (rule, cluster.nodes().view(slot)) else {
            return Vec::new();
        };
        let status = match rule.stage() {
            Stage::Reject(status) => status.clone(),
            Stage::Check | Stage::Skip if self.asked.get(filter) == Some(&true) => {
                rule.describe(cluster, view, code)
            }
            Stage::Check | Stage::Skip => return Vec::new(),
        };
        status.reasons.iter().map(ToString::to_string).collect()
    }

    /// The nodes nearest to fitting first: by the number of rules, then by how much is short.
    pub(super) fn by_nearness(&self) -> Vec<&NodeStanding> {
        let mut nodes: Vec<&NodeStanding> = self.nodes.iter().collect();
        nodes.sort_by_cached_key(|node| (node.failing.len(), node.lack()));
        nodes
    }
}

impl NodeStanding {
    /// The largest share of what is asked that is short, in millionths.
    fn lack(&self) -> i128 {
        let share = |short: &Short| {
            let missing = i128::from(short.asked) - i128::from(short.free.max(0));
            missing.max(0) * 1_000_000 / i128::from(short.asked.max(1))
        };
        self.short.iter().map(share).max().unwrap_or(0)
    }
}

/// What a rule says of all nodes.
enum Column<'a> {
    Passes,
    Rejects,
    Codes(Vec<Code>, Option<&'a crate::rules::NodeNames>),
}

impl Column<'_> {
    fn code(&self, node: NodeView<'_>) -> Code {
        match self {
            Self::Passes => Code::PASS,
            Self::Rejects => BEFORE,
            Self::Codes(codes, only) => {
                let code = codes.get(node.slot.index()).copied().unwrap_or_default();
                let is_outside = only.is_some_and(|names| !names.contains(&*node.node.name));
                if code.passes() && is_outside { BEFORE } else { code }
            }
        }
    }
}

fn columns<'a>(prepared: &PreparedFilters<'a>, cluster: &Cluster) -> Vec<Column<'a>> {
    let column = |filter: Option<&'a dyn PreparedFilter>| {
        let Some(filter) = filter else { return Column::Passes };
        match filter.stage() {
            Stage::Skip => Column::Passes,
            Stage::Reject(_) => Column::Rejects,
            Stage::Check => {
                cluster.progress().beat();
                let mut codes = vec![Code::PASS; cluster.nodes().slots()];
                filter.check_all(cluster, &mut codes);
                Column::Codes(codes, filter.only_nodes())
            }
        }
    };
    prepared.iter().copied().map(column).collect()
}

fn in_order(cluster: &Cluster) -> impl Iterator<Item = NodeView<'_>> {
    cluster.nodes().by_rank().iter().filter_map(|slot| cluster.nodes().view(*slot))
}

fn fits(profile: &Profile, failing: &[(usize, Code)]) -> bool {
    let is_fit = |filter: usize| {
        let rule = profile.filters.get(filter);
        rule.and_then(FilterRule::builtin) == Some(node_resources_fit::NAME)
    };
    !failing.iter().any(|(filter, _)| is_fit(*filter))
}

/// What the node has too little of, with the pods nominated to it.
fn short(world: &World<'_>, view: NodeView<'_>, ahead: &[&Arc<Pod>]) -> Vec<Short> {
    let mut held = view.load.requested.clone();
    ahead.iter().for_each(|pod| held.add(&pod.requests().held, 1));
    let (asked, has) = (&world.pod.requests().fit, &view.node.allocatable);
    let mut short = Vec::new();
    let mut judge = |resource: &str, asked: i64, has: i64, held: i64| {
        let free = has.saturating_sub(held);
        if asked > 0 && asked > free {
            short.push(Short { resource: resource.into(), asked, free });
        }
    };
    let pods = i64::try_from(view.load.pods.len() + ahead.len()).unwrap_or(i64::MAX);
    judge(names::PODS, 1, has.pods, pods);
    for name in [names::CPU, names::MEMORY, names::EPHEMERAL_STORAGE] {
        judge(name, asked.get(name), has.amounts.get(name), held.get(name));
    }
    for (name, amount) in &asked.scalars {
        judge(name, *amount, has.amounts.scalar(name), held.scalar(name));
    }
    short
}

/// How much pods of a node hold of a resource.
pub(super) fn held(pod: &Pod, resource: &str) -> i64 {
    let amounts: &Amounts = &pod.requests().held;
    if resource == names::PODS { 1 } else { amounts.get(resource) }
}

/// The taints that keep the pod from a node.
pub(super) fn untolerated<'a>(
    taints: &'a [Taint],
    pod: &'a Pod,
    operators: crate::rules::tolerations::Operators,
) -> impl Iterator<Item = &'a Taint> {
    taints.iter().filter(move |taint| {
        let tolerated = |own| crate::rules::tolerations::tolerates(own, taint, operators);
        taint.effect.is_hard() && !pod.template.tolerations.iter().any(tolerated)
    })
}
