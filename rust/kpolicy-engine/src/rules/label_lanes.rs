//! Evaluates node selectors for all nodes at once: one lane for each slot.
//!
//! The answers are those of `node_selection`, computed by the values of a label instead of node by
//! node, because ids of values are side by side in memory and the labels of nodes are not. Lanes
//! without a node hold arbitrary values.

use crate::model::{Labels, NodeSelector, NodeSelectorTerm, Requirement, SelectorOperator};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::pod::NodeAffinity;
use crate::snapshot::{Cluster, Domains};

use super::node_selection::{can_be_parsed, fields_match};

/// Which nodes meet one of the terms.
pub(crate) fn selected(selector: &NodeSelector, cluster: &Cluster) -> Vec<bool> {
    let mut lanes = vec![false; cluster.nodes().slots()];
    for term in &selector.terms {
        let of_term = of_term(term, cluster);
        lanes.iter_mut().zip(of_term).for_each(|(lane, holds)| *lane |= holds);
    }
    lanes
}

/// Which nodes meet the node selector and the required affinity of a pod.
pub(crate) fn required(affinity: &NodeAffinity, cluster: &Cluster) -> Vec<bool> {
    let mut lanes = vec![true; cluster.nodes().slots()];
    if let Some(pairs) = &affinity.selector {
        keep_with_labels(pairs, cluster, &mut lanes);
    }
    if let Some(required) = &affinity.required {
        let selected = selected(required, cluster);
        lanes.iter_mut().zip(selected).for_each(|(lane, holds)| *lane &= holds);
    }
    lanes
}

/// Leaves the nodes that have all of these labels.
pub(crate) fn keep_with_labels(pairs: &Labels, cluster: &Cluster, lanes: &mut [bool]) {
    for (key, value) in pairs.iter() {
        if !lanes.contains(&true) {
            return;
        }
        let domains = cluster.nodes().domains(key);
        // A value that no node has is the id of none.
        let wanted = domains.find(value).unwrap_or(u32::MAX);
        Kept(lanes).meet(&domains, |id| id == wanted);
    }
}

/// Which nodes meet a term.
fn of_term(term: &NodeSelectorTerm, cluster: &Cluster) -> Vec<bool> {
    let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    let mut lanes = vec![!is_empty && can_be_parsed(term); cluster.nodes().slots()];
    if lanes.first() != Some(&true) {
        return lanes;
    }
    for requirement in &term.match_expressions {
        if !lanes.contains(&true) {
            return lanes;
        }
        meet(requirement, cluster, &mut Kept(&mut lanes));
    }
    if !term.match_fields.is_empty() {
        for view in cluster.nodes().iter() {
            if let Some(lane) = lanes.get_mut(view.slot.index()) {
                *lane = *lane && fields_match(term, &view.node.name);
            }
        }
    }
    lanes
}

/// Adds a weight to the cells of the nodes that meet a term.
pub(crate) fn add_where(
    term: &NodeSelectorTerm,
    weight: f64,
    cluster: &Cluster,
    cells: &mut [f64],
) {
    if let ([only], []) = (&*term.match_expressions, &*term.match_fields) {
        if can_be_parsed(term) {
            meet(only, cluster, &mut Weighed { cells, weight });
        }
        return;
    }
    for (cell, holds) in cells.iter_mut().zip(of_term(term, cluster)) {
        *cell += if holds { weight } else { 0.0 };
    }
}

/// What becomes of lanes by the value of one label.
trait Lanes {
    /// `holds` tells of the id of a value whether the requirement is met.
    fn meet(&mut self, domains: &Domains, holds: impl Fn(u32) -> bool);
}

/// Lanes that meet the requirement remain.
struct Kept<'a>(&'a mut [bool]);

impl Lanes for Kept<'_> {
    fn meet(&mut self, domains: &Domains, holds: impl Fn(u32) -> bool) {
        for (lane, id) in self.0.iter_mut().zip(domains.ids()) {
            *lane &= holds(*id);
        }
    }
}

/// Lanes that meet the requirement get a weight.
struct Weighed<'a> {
    cells: &'a mut [f64],
    weight: f64,
}

impl Lanes for Weighed<'_> {
    fn meet(&mut self, domains: &Domains, holds: impl Fn(u32) -> bool) {
        for (cell, id) in self.cells.iter_mut().zip(domains.ids()) {
            *cell += if holds(*id) { self.weight } else { 0.0 };
        }
    }
}

/// Asks a requirement for every lane. Values that a list names are looked up, for a label may have as
/// many values as there are nodes.
fn meet(requirement: &Requirement, cluster: &Cluster, lanes: &mut impl Lanes) {
    let domains = &*cluster.nodes().domains(&requirement.key);
    let listed = || requirement.values.iter().filter_map(|value| domains.find(value));
    match requirement.operator {
        SelectorOperator::Exists => lanes.meet(domains, |id| id != ABSENT),
        SelectorOperator::DoesNotExist => lanes.meet(domains, |id| id == ABSENT),
        SelectorOperator::In => match *listed().collect::<Vec<u32>>() {
            [] => lanes.meet(domains, |_| false),
            [only] => lanes.meet(domains, |id| id == only),
            ref ids => meet_listed(ids, true, domains, lanes),
        },
        SelectorOperator::NotIn => match *listed().collect::<Vec<u32>>() {
            [] => lanes.meet(domains, |_| true),
            [only] => lanes.meet(domains, |id| id != only),
            ref ids => meet_listed(ids, false, domains, lanes),
        },
        SelectorOperator::Gt | SelectorOperator::Lt | SelectorOperator::Invalid => {
            let values = (0_u32..).take(domains.len());
            let accepted: Vec<bool> =
                values.map(|id| requirement.accepts(domains.value(id))).collect();
            lanes.meet(domains, |id| accepted.get(id as usize).copied().unwrap_or(false));
        }
    }
}

fn meet_listed(ids: &[u32], if_listed: bool, domains: &Domains, lanes: &mut impl Lanes) {
    let mut accepted = vec![!if_listed; domains.len()];
    for id in ids {
        if let Some(place) = accepted.get_mut(*id as usize) {
            *place = if_listed;
        }
    }
    lanes.meet(domains, |id| accepted.get(id as usize).copied().unwrap_or(false));
}

#[cfg(test)]
mod tests {
    use super::{add_where, keep_with_labels, selected};
    use crate::model::{
        Labels, Meta, Node, NodeSelector, NodeSelectorTerm, Requirement, SelectorOperator,
    };
    use crate::rules::node_selection::{NAME_FIELD, selects, term_selects};
    use crate::snapshot::Cluster;

    const VALUES: [Option<&str>; 5] = [None, Some("a"), Some("b"), Some("7"), Some("")];

    fn cluster() -> Cluster {
        let mut cluster = Cluster::default();
        for (index, value) in VALUES.iter().enumerate() {
            let labels: Labels = value.iter().map(|value| ("k", *value)).collect();
            let meta = Meta { name: format!("n{index}").into(), labels, ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
        }
        cluster
    }

    fn requirement(key: &str, operator: SelectorOperator, values: &[&str]) -> Requirement {
        let values = values.iter().map(|value| (*value).into()).collect();
        Requirement { key: key.into(), operator, values }
    }

    #[test]
    fn every_lane_says_what_its_node_says() {
        use SelectorOperator::{DoesNotExist, Exists, Gt, In, Invalid, Lt, NotIn};
        let cluster = cluster();
        let wanted = [
            (In, &["a"][..]),
            (In, &["a", "b"]),
            (In, &["nowhere"]),
            (In, &[]),
            (NotIn, &["a"]),
            (NotIn, &["nowhere"]),
            (NotIn, &["", "a"]),
            (NotIn, &[]),
            (Exists, &[]),
            (DoesNotExist, &[]),
            (Gt, &["6"]),
            (Lt, &["6"]),
            (Gt, &["six"]),
            (Invalid, &["a"]),
        ];
        let fields: [Box<[Requirement]>; 3] = [
            [].into(),
            [requirement(NAME_FIELD, In, &["n1"])].into(),
            [requirement(NAME_FIELD, NotIn, &["n1"])].into(),
        ];
        let mut compared = 0;
        for (operator, values) in wanted {
            for match_fields in &fields {
                let term = NodeSelectorTerm {
                    match_expressions: [requirement("k", operator, values)].into(),
                    match_fields: match_fields.clone(),
                };
                let other = NodeSelectorTerm {
                    match_expressions: [requirement("k", In, &["b"])].into(),
                    match_fields: [].into(),
                };
                let mut cells = vec![0.5; VALUES.len()];
                add_where(&term, 3.0, &cluster, &mut cells);
                for view in cluster.nodes().iter() {
                    let labels = &view.node.object.meta.labels;
                    let holds = term_selects(&term, labels, &view.node.name);
                    let want = if holds { 3.5 } else { 0.5 };
                    assert_eq!(cells[view.slot.index()].to_bits(), f64::to_bits(want), "{term:?}");
                }
                let empty = NodeSelectorTerm::default();
                for terms in [vec![term.clone()], vec![term, other, empty], vec![]] {
                    let selector = NodeSelector { terms: terms.into() };
                    let lanes = selected(&selector, &cluster);
                    for view in cluster.nodes().iter() {
                        let labels = &view.node.object.meta.labels;
                        let want = selects(&selector, labels, &view.node.name);
                        assert_eq!(lanes[view.slot.index()], want, "{selector:?}");
                        compared += 1;
                    }
                }
            }
        }
        assert_eq!(compared, 14 * 3 * 3 * VALUES.len());
    }

    #[test]
    fn labels_are_all_wanted() {
        let cluster = cluster();
        let kept = |pairs: &[(&str, &str)]| {
            let mut lanes = vec![true; VALUES.len()];
            keep_with_labels(&pairs.iter().copied().collect(), &cluster, &mut lanes);
            lanes.iter().filter(|lane| **lane).count()
        };
        assert_eq!(kept(&[]), 5);
        assert_eq!(kept(&[("k", "a")]), 1);
        assert_eq!(kept(&[("k", "nowhere")]), 0);
        assert_eq!(kept(&[("k", "a"), ("absent", "x")]), 0);
    }
}
