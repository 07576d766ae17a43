//! The work that one decision may take, in units, and what a pod's spec asks of it.
//!
//! Contains the bounds, and the sum for each part of a spec that built-ins walk for every node, and for
//! the affinity of placed pods. It rests on the pod, the size of the cluster, the label keys of its nodes
//! and the affinity of placed pods, not on what is cached, so that a pod is set aside or judged whatever
//! was asked before. The prices are in `rules/prices.rs`.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::{Labels, NodeSelectorTerm, PodAffinityTerm, Requirement, SpreadConstraint};
use crate::snapshot::{Cluster, Pod};

use super::claim_work::{asks_for_devices, of_claims};
use super::placed_terms;
use super::prices::{
    AFFINITY_TERM, CONSTRAINT, CONTAINER, LABEL_KEY, PAIR, PORT, REQUIREMENT, SCALAR, TERM,
    TOLERATION, VOLUME, of_selector,
};
use super::selectable_identities::SelectableIdentities;

/// What a decision may take on each node: half for the pod's spec, half for the expressions of its
/// profile (`rules/expression/allowance.rs`).
pub const UNITS_A_NODE: u64 = 1_000;
/// Small clusters are allowed as much as one of so many nodes.
const NODES_MIN: usize = 5_000;
/// How many decisions of the dearest kind one call of the engine may take.
const DECISIONS_A_CALL: u64 = 10;

/// What one decision may take in a cluster of so many nodes.
pub fn units_max(nodes: usize) -> u64 {
    (nodes.max(NODES_MIN) as u64).saturating_mul(UNITS_A_NODE)
}

/// What a pod's spec may ask for, of what one decision may take.
fn spec_units_max(nodes: usize) -> u64 {
    units_max(nodes) / 2
}

/// The most that finding devices may take on one node.
const DEVICE_UNITS_MAX: u64 = 500_000;

/// What finding devices may take on each of so many nodes, of what one decision may take: half of it,
/// shared by nodes in powers of two, so that their shares change rarely.
pub(super) fn units_of_devices(nodes: usize) -> u64 {
    let all = units_max(0) / 2;
    let shared = all / (nodes.max(1) as u64).next_power_of_two();
    shared.clamp(UNITS_A_NODE / 2, DEVICE_UNITS_MAX)
}

/// What finding out why nodes were rejected may take, of what one decision may take: as much as the
/// expressions of a profile may.
pub(crate) fn reasons_units_max(nodes: usize) -> u64 {
    units_max(nodes) / 4
}

/// After so many units a call hands back the pods that it has not decided.
pub fn work_per_call(nodes: usize) -> u64 {
    units_max(nodes).saturating_mul(DECISIONS_A_CALL)
}

/// What a search for victims may take for each placed pod, besides what a decision may take: each of
/// them may have to be taken off its node and put back, in kube-scheduler too.
const UNITS_A_PLACED_POD: u64 = 150;

/// What a search for victims may take among so many nodes, with so many pods on them.
pub fn search_units_max(nodes: usize, placed: usize) -> u64 {
    let for_pods = (placed as u64).saturating_mul(UNITS_A_PLACED_POD);
    units_max(nodes).saturating_add(for_pods)
}

/// A part of a pod's spec and what judging it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    field: &'static str,
    entries: usize,
    units: u64,
}

/// What judging a pod takes besides the expressions of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionWork {
    parts: [Part; 11],
    /// Affinity terms of placed pods that may mean the pod.
    of_placed: Part,
    units_max: u64,
}

impl DecisionWork {
    /// The work of a pod in the present cluster.
    pub fn of(pod: &Pod, cluster: &Cluster) -> Self {
        let work = Self::counted(pod, cluster, &mut SelectableIdentities::of(pod, cluster));
        if !work.is_excessive() {
            return work;
        }
        Self::counted(pod, cluster, &mut SelectableIdentities::of(pod, cluster).with_selectors())
    }

    fn counted<'a>(
        pod: &'a Pod,
        cluster: &'a Cluster,
        selectable: &mut SelectableIdentities<'_>,
    ) -> Self {
        let template = &pod.template;
        let nodes = cluster.nodes().len() as u64;
        let own_identities = cluster.census().identities_in(pod.namespace()).len() as u64;
        let on_nodes = |entries: usize, price: u64| product(entries, price.saturating_mul(nodes));
        let affinity = &template.node_affinity;
        let mut keys = LabelKeys { cluster, seen: BTreeSet::new() };
        let pairs = affinity.selector.as_ref().map_or(0, |pairs| pairs.iter().count());
        let pair_keys = affinity.selector.iter().flat_map(Labels::iter).map(|(key, _)| key);
        let own_pairs = on_nodes(pairs, PAIR).saturating_add(keys.units(pair_keys));
        let required = affinity.required.as_ref().map_or(&[][..], |selector| &selector.terms);
        let node_terms = || required.iter().chain(affinity.preferred.iter().map(|(_, term)| term));
        let requirements = node_terms().flat_map(|term| &term.match_expressions);
        let own_requirements = sum(node_terms().map(|term| of_term(term, nodes)))
            .saturating_add(keys.units(requirements.map(|requirement| &*requirement.key)));
        let pod_affinity = &template.pod_affinity;
        let mut of_terms = |plain: &'a [PodAffinityTerm],
                            weighted: &'a [(i32, PodAffinityTerm)]| {
            let terms = || plain.iter().chain(weighted.iter().map(|(_, term)| term));
            let of_keys = keys.units(terms().map(|term| &*term.topology_key));
            sum(terms().map(|term| of_affinity_term(term, nodes, selectable)))
                .saturating_add(of_keys)
        };
        let own_affinity = of_terms(&pod_affinity.required, &pod_affinity.preferred);
        let own_anti = of_terms(&pod_affinity.anti_required, &pod_affinity.anti_preferred);
        let constraints = template.spread.iter();
        let own_constraints =
            sum(constraints.clone().map(|each| of_constraint(each, nodes, own_identities)))
                .saturating_add(keys.units(constraints.map(|each| &*each.topology_key)));
        let scalars = template.requests.fit.scalars.len();
        let containers = template.containers.init.len() + template.containers.regular.len();
        let parts = [
            part("spec.nodeSelector", pairs, own_pairs),
            part(
                "spec.affinity.nodeAffinity",
                required.len() + affinity.preferred.len(),
                own_requirements,
            ),
            part(
                "spec.affinity.podAffinity",
                pod_affinity.required.len() + pod_affinity.preferred.len(),
                own_affinity,
            ),
            part(
                "spec.affinity.podAntiAffinity",
                pod_affinity.anti_required.len() + pod_affinity.anti_preferred.len(),
                own_anti,
            ),
            part("spec.topologySpreadConstraints", template.spread.len(), own_constraints),
            part(
                "spec.tolerations",
                template.tolerations.len(),
                on_nodes(template.tolerations.len(), TOLERATION),
            ),
            part("spec.containers[].resources", scalars, on_nodes(scalars, SCALAR)),
            part("spec.containers", containers, on_nodes(containers, CONTAINER)),
            part(
                "spec.containers[].ports",
                template.ports.len(),
                on_nodes(template.ports.len(), PORT),
            ),
            part("spec.resourceClaims", template.resource_claims.len(), of_claims(pod, cluster)),
            part("spec.volumes", template.volumes.len(), on_nodes(template.volumes.len(), VOLUME)),
        ];
        let nodes = cluster.nodes().len();
        // Who asks for devices leaves them half of it.
        let units_max = match asks_for_devices(pod, cluster) {
            true => spec_units_max(nodes) / 2,
            false => spec_units_max(nodes),
        };
        let (terms, units) = placed_terms::terms_and_units(pod, cluster);
        let of_placed = part("affinity terms of placed pods that may select the pod", terms, units);
        Self { parts, of_placed, units_max }
    }

    /// Units of work of a decision about the pod, summed over the parts of its spec and what placed pods
    /// add.
    pub fn units(&self) -> u64 {
        sum(self.all().map(|part| part.units))
    }

    fn all(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain([&self.of_placed])
    }

    /// How many entries the parts of its spec have together.
    pub fn entries(&self) -> u64 {
        sum(self.parts.iter().map(|part| part.entries as u64))
    }

    /// Whether it takes more than one decision may.
    pub fn is_excessive(&self) -> bool {
        self.units() > self.units_max
    }
}

/// Names the part that takes most.
impl fmt::Display for DecisionWork {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(part) = self.all().max_by_key(|part| part.units) else { return Ok(()) };
        let is_of_placed = std::ptr::eq(part, &raw const self.of_placed);
        let (owner, verb) = if is_of_placed { ("", "take") } else { ("the pod's ", "takes") };
        let Part { field, entries, .. } = part;
        let (units, units_max) = (self.units(), self.units_max);
        write!(out, "{owner}{field} ({entries} entries) {verb} more work than one decision may: ")?;
        write!(out, "{units} units of {units_max}")
    }
}

/// The label keys of nodes that a pod names: each is charged once, in the part that names it first.
struct LabelKeys<'a> {
    cluster: &'a Cluster,
    seen: BTreeSet<&'a str>,
}

impl<'a> LabelKeys<'a> {
    /// What the columns of those of these keys take that were not charged before. A key that no node
    /// has takes none.
    fn units(&mut self, keys: impl Iterator<Item = &'a str>) -> u64 {
        let nodes = self.cluster.nodes();
        let new = keys.filter(|key| nodes.any_has_label(key) && self.seen.insert(key));
        product(new.count(), LABEL_KEY.saturating_mul(nodes.len() as u64))
    }
}

fn part(field: &'static str, entries: usize, units: u64) -> Part {
    Part { field, entries, units }
}

fn product(entries: usize, units: u64) -> u64 {
    (entries as u64).saturating_mul(units)
}

fn sum(units: impl Iterator<Item = u64>) -> u64 {
    units.fold(0, u64::saturating_add)
}

/// Values are found by halving their list.
fn of_requirement(requirement: &Requirement) -> u64 {
    let halvings = u64::BITS - (requirement.values.len() as u64).leading_zeros();
    REQUIREMENT + u64::from(halvings)
}

fn of_term(term: &NodeSelectorTerm, nodes: u64) -> u64 {
    let requirements = term.match_expressions.iter().chain(&term.match_fields);
    sum(requirements.map(of_requirement)).saturating_add(TERM).saturating_mul(nodes)
}

fn of_affinity_term(
    term: &PodAffinityTerm,
    nodes: u64,
    selectable: &mut SelectableIdentities<'_>,
) -> u64 {
    let naming = u64::from(usize::BITS - term.namespaces.len().leading_zeros());
    let by_namespace = of_selector(term.namespace_selector.as_ref()).saturating_add(naming);
    let namespaces = selectable.cluster.census().namespaces_count() as u64;
    let by_labels = of_selector(term.label_selector.as_ref());
    nodes
        .saturating_mul(AFFINITY_TERM)
        .saturating_add(namespaces.saturating_mul(by_namespace))
        .saturating_add(selectable.count(term).saturating_mul(by_labels))
}

fn of_constraint(constraint: &SpreadConstraint, nodes: u64, identities: u64) -> u64 {
    let selector = of_selector(constraint.label_selector.as_ref())
        .saturating_add(product(constraint.match_label_keys.len(), of_selector(None)));
    nodes.saturating_mul(CONSTRAINT).saturating_add(identities.saturating_mul(selector))
}

#[cfg(test)]
mod tests {
    use super::{DecisionWork, UNITS_A_NODE, of_selector, units_max};
    use crate::model::{
        Affinity, Labels, Meta, Namespace, Node, Object, Pod, PodAffinityTerm, Requirement,
        Selector, SelectorOperator,
    };
    use crate::snapshot::Cluster;

    fn with_pairs(pairs: usize) -> Pod {
        let labels: Labels = (0..pairs).map(|pair| (format!("key-{pair:05}"), "x")).collect();
        Pod { node_selector: Some(labels), ..Pod::default() }
    }

    #[test]
    fn a_pod_that_asks_too_much_of_every_node_is_named_by_its_largest_part() {
        let mut cluster = Cluster::default();
        for index in 0..100 {
            let meta = Meta { name: format!("n{index}").into(), ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
        }
        let ordinary = cluster.row(with_pairs(20));
        assert!(!DecisionWork::of(&ordinary, &cluster).is_excessive());
        let hostile = cluster.row(with_pairs(32_000));
        let work = DecisionWork::of(&hostile, &cluster);
        assert!(work.is_excessive());
        assert_eq!(
            work.to_string(),
            "the pod's spec.nodeSelector (32000 entries) takes more work than one decision \
             may: 16000000 units of 2500000"
        );
    }

    #[test]
    fn the_bound_grows_with_the_nodes_beyond_5000() {
        assert_eq!(units_max(10), units_max(5_000));
        assert_eq!(units_max(20_000), 20_000 * UNITS_A_NODE);
    }
    /// Pods of many kinds in each of ten namespaces, of which half are selected by a label.
    fn with_pods() -> Cluster {
        let mut cluster = Cluster::default();
        let meta = Meta { name: "n".into(), ..Meta::default() };
        cluster.set_node(Node { meta, ..Node::default() });
        for namespace in 0..10 {
            let name: Box<str> = format!("ns{namespace}").into();
            let labels: Labels = [("half", (namespace % 2).to_string())].into_iter().collect();
            let meta = Meta { name: name.clone(), labels, ..Meta::default() };
            cluster
                .set_object(Object::Namespace(Namespace { meta, ..Namespace::default() }.into()));
            for kind in 0..100 {
                let labels: Labels = [("kind", kind.to_string())].into_iter().collect();
                let uid = format!("{name}-{kind}").into();
                let meta = Meta { namespace: name.clone(), uid, labels, ..Meta::default() };
                cluster.set_pod(Pod { meta, node_name: "n".into(), ..Pod::default() });
            }
        }
        cluster
    }

    fn units_of_terms(terms: usize, term: &PodAffinityTerm, cluster: &mut Cluster) -> u64 {
        let anti_required = (0..terms).map(|_| term.clone()).collect();
        let affinity = Affinity { anti_required, ..Affinity::default() };
        let meta = Meta { namespace: "ns1".into(), ..Meta::default() };
        let pod = Pod { meta, affinity: Some(affinity.into()), ..Pod::default() };
        let row = cluster.row(pod);
        DecisionWork::of(&row, cluster).units()
    }

    #[test]
    fn only_pods_of_namespaces_that_a_term_selects_are_counted() {
        let mut cluster = with_pods();
        let everything = Selector::default();
        let own = PodAffinityTerm {
            label_selector: Some(everything.clone()),
            ..PodAffinityTerm::default()
        };
        let two =
            PodAffinityTerm { namespaces: ["ns3".into(), "ns4".into()].into(), ..own.clone() };
        let half = Requirement {
            key: "half".into(),
            operator: SelectorOperator::In,
            values: ["0".into()].into(),
        };
        let half = Selector { requirements: [half].into() };
        let half = PodAffinityTerm { namespace_selector: Some(half), ..own.clone() };
        let all = PodAffinityTerm { namespace_selector: Some(everything.clone()), ..own.clone() };
        let mut units =
            |terms: usize, term: &PodAffinityTerm| units_of_terms(terms, term, &mut cluster);
        let of_kind = of_selector(Some(&everything));
        let besides = |units: u64, kinds: u64| units - kinds * of_kind;
        assert!(besides(units(1, &own), 100) < 100);
        assert!(besides(units(1, &two), 200) < 100);
        assert!(besides(units(1, &all), 1_000) < 100);
        // Which namespaces a selector means is only looked at where it decides.
        assert!(besides(units(1, &half), 1_000) < 100);
        let many = units(2_000, &half);
        assert!((2_000 * 500 * of_kind..2_000 * 600 * of_kind).contains(&many), "{many}");
    }
}
