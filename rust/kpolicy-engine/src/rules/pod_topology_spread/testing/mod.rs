//! Small clusters for the tests of rules that spread pods.

mod following;

use std::sync::Arc;

use crate::model::{self, Labels, Meta, Node, Selector, Service, SpreadConstraint};
use crate::rules::default_selector::of_labels;
use crate::rules::{Code, Feasible, Fitted, PreparedFilter, PreparedScore};
use crate::snapshot::{Cluster, Pod};

pub(crate) use following::{follows_filter, follows_score};

/// `"app=web,tier=front"`.
pub(crate) fn labels(text: &str) -> Labels {
    text.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

pub(crate) fn selector(text: &str) -> Selector {
    of_labels(&labels(text))
}

pub(crate) fn constraint(key: &str, hard: bool, max_skew: i32, selector: &str) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: key.into(),
        hard,
        label_selector: Some(self::selector(selector)),
        match_label_keys: Box::default(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    }
}

pub(crate) fn node(name: &str, pairs: &str) -> Node {
    let meta = Meta { name: name.into(), labels: labels(pairs), ..Meta::default() };
    Node { meta, ..Node::default() }
}

/// On no node if `node` is empty.
pub(crate) fn pod(name: &str, pairs: &str, node: &str) -> model::Pod {
    let meta = Meta {
        namespace: "ns".into(),
        name: name.into(),
        uid: name.into(),
        labels: labels(pairs),
        ..Meta::default()
    };
    model::Pod { meta, node_name: node.into(), ..model::Pod::default() }
}

pub(crate) fn spread_pod(pairs: &str, constraints: &[SpreadConstraint]) -> model::Pod {
    model::Pod { spread_constraints: constraints.into(), ..pod("new", pairs, "") }
}

pub(crate) fn service(name: &str, pairs: &str) -> model::Object {
    let meta = Meta { namespace: "ns".into(), name: name.into(), ..Meta::default() };
    model::Object::Service(Arc::new(Service { meta, selector: labels(pairs) }))
}

/// Nodes as `(name, labels)`; pods as `(labels, node)`.
pub(crate) fn cluster(nodes: &[(&str, &str)], pods: &[(&str, &str)]) -> Cluster {
    let mut cluster = Cluster::default();
    for (name, pairs) in nodes {
        cluster.set_node(node(name, pairs));
    }
    for (index, (pairs, on)) in pods.iter().enumerate() {
        cluster.set_pod(pod(&format!("old-{index}"), pairs, on));
    }
    cluster.settle_order();
    cluster
}

/// Verdicts in order of names: `+`, `-` (evicting may help) or `x`.
pub(crate) fn verdicts(prepared: &dyn PreparedFilter, cluster: &Cluster) -> String {
    let mut all = vec![Code::PASS; cluster.nodes().slots()];
    prepared.check_all(cluster, &mut all);
    let each = cluster.nodes().by_rank().iter().filter_map(|slot| cluster.nodes().view(*slot));
    each.map(|view| {
        let code = prepared.check(cluster, view);
        assert_eq!(all[view.slot.index()], code, "{}: all at once and one by one", view.node.name);
        match code {
            Code::PASS => '+',
            code => match prepared.describe(cluster, view, code).rejection {
                crate::rules::Rejection::Unschedulable => '-',
                _ => 'x',
            },
        }
    })
    .collect()
}

/// Raw and normalised scores in order of names, of nodes that are feasible.
pub(crate) fn scores(
    prepared: &mut dyn PreparedScore,
    cluster: &Cluster,
    is_feasible: impl Fn(&str) -> bool,
) -> Vec<(f64, i64)> {
    let mut mask = vec![false; cluster.nodes().slots()];
    for view in cluster.nodes().iter() {
        mask[view.slot.index()] = is_feasible(&view.node.name);
    }
    let feasible = Feasible { mask: &mask, count: mask.iter().filter(|has| **has).count() };
    prepared.see_feasible(cluster, feasible);
    let mut raw = vec![0.0; mask.len()];
    prepared.raw_all(cluster, &mut raw);
    let shown = raw.iter().zip(&mask).filter(|(_, has)| **has).map(|(raw, _)| *raw);
    let fitted = Fitted::over(shown);
    let mut whole = vec![0; mask.len()];
    prepared.normalize_all(cluster, feasible, &raw, &mut whole);
    let each = cluster.nodes().by_rank().iter().filter_map(|slot| cluster.nodes().view(*slot));
    each.filter(|view| mask[view.slot.index()])
        .map(|view| {
            let value = prepared.raw(cluster, view);
            assert_eq!(value.to_bits(), raw[view.slot.index()].to_bits(), "{}", view.node.name);
            let normalized = match prepared.normalization() {
                crate::rules::Normalization::Whole => whole[view.slot.index()],
                other => other.apply(&fitted, value),
            };
            (value, normalized)
        })
        .collect()
}

/// Puts a pod into the rows of a cluster without adding it.
pub(crate) fn row(cluster: &mut Cluster, pod: model::Pod) -> Arc<Pod> {
    cluster.row(pod)
}
