//! What affinity terms of pods on nodes add up to, for a pod that they mean.
//!
//! Terms that ask for the same topology come together, and one that no node has is passed over, so
//! that pods with thousands of terms cost the decisions of others little.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::snapshot::census::{AskingRow, Demand};
use crate::snapshot::{Cluster, Domains, NodeSlot};

use super::terms::{Incoming, means_by_names};

/// How many terms count, and their weights together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Worth {
    pub terms: i64,
    pub weight: i64,
}

impl Worth {
    fn plus(self, other: Self) -> Self {
        Self {
            terms: self.terms.saturating_add(other.terms),
            weight: self.weight.saturating_add(other.weight),
        }
    }
}

/// One topology key that terms ask for.
#[derive(Debug)]
pub(super) struct OfKey<'a> {
    pub key: &'a str,
    pub domains: Arc<Domains>,
    demands: Demands<'a>,
}

#[derive(Debug, Default)]
struct Demands<'a> {
    /// What one pod of each row comes to.
    by_row: FxHashMap<AskingRow, Worth>,
    /// What terms that mean every pod demand.
    of_all: Option<&'a BTreeMap<NodeSlot, Demand>>,
}

impl OfKey<'_> {
    /// The nodes where the pods are, one of them as often as rows have pods there; for each how many
    /// terms there are, and the weights of these.
    pub(super) fn by_node(
        &self,
        cluster: &Cluster,
        worth_of: impl Fn(Demand) -> Worth,
    ) -> impl Iterator<Item = (NodeSlot, Worth)> {
        let census = cluster.census();
        let of_rows = self.demands.by_row.iter().flat_map(|(row, worth)| {
            let nodes = census.asking(*row).into_iter().flat_map(|row| &row.by_node);
            nodes.map(|(slot, tally)| {
                let pods = i64::from(tally.pods);
                let (terms, weight) =
                    (worth.terms.saturating_mul(pods), worth.weight.saturating_mul(pods));
                (*slot, Worth { terms, weight })
            })
        });
        let of_all = self.demands.of_all.into_iter().flatten();
        of_rows.chain(of_all.map(move |(slot, demand)| (*slot, worth_of(*demand))))
    }
}

/// The terms of pods on nodes that mean the incoming pod, by topology key. `worth_of` gives what counts
/// of a demand.
pub(super) fn terms_against<'a>(
    incoming: Incoming<'a>,
    cluster: &'a Cluster,
    worth_of: impl Fn(Demand) -> Worth,
) -> impl Iterator<Item = OfKey<'a>> {
    let (census, nodes) = (cluster.census(), cluster.nodes());
    let mut by_key: BTreeMap<&'a str, Demands<'a>> = BTreeMap::new();
    for asking in census.terms_about(incoming.identity) {
        let key = asking.term.topology_key.as_ref();
        if worth_of(asking.together).terms == 0
            || !nodes.any_has_label(key)
            || !means_by_names(asking.term, incoming)
        {
            continue;
        }
        let by_row = &mut by_key.entry(key).or_default().by_row;
        for (row, demand) in asking.rows() {
            let worth = worth_of(demand);
            if worth.terms > 0 {
                let sum = by_row.entry(row).or_default();
                *sum = sum.plus(worth);
            }
        }
    }
    for (key, by_node) in census.demands_of_all(nodes, |demand| worth_of(demand).terms > 0) {
        by_key.entry(key).or_default().of_all = Some(by_node);
    }
    by_key.into_iter().map(|(key, demands)| OfKey { key, domains: nodes.domains(key), demands })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Worth, terms_against};
    use crate::model::{
        Affinity, Labels, Meta, Node, Pod, PodAffinityTerm, Requirement, Selector, SelectorOperator,
    };
    use crate::release::NamespaceSelectors;
    use crate::rules::inter_pod_affinity::InterPodAffinity;
    use crate::rules::inter_pod_affinity::terms::{Incoming, means_incoming};
    use crate::rules::{Filter, Score};
    use crate::snapshot::census::Demand;
    use crate::snapshot::{self, Cluster};

    const RULE: InterPodAffinity = InterPodAffinity {
        hard_weight: 1,
        ignores_others_preferences: false,
        selectors: NamespaceSelectors::ByLabels,
    };

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().copied().collect()
    }

    fn cluster() -> Cluster {
        let mut cluster = Cluster::default();
        for index in 0..20 {
            let zone = format!("z{}", index % 3);
            let labels = labels(&[("zone", &zone), ("rack", "r")]);
            let meta = Meta { name: format!("n{index}").into(), labels, ..Meta::default() };
            cluster.set_node(Node { meta, ..Node::default() });
        }
        cluster
    }

    fn place(cluster: &mut Cluster, name: &str, node: usize, affinity: Affinity) {
        let meta = Meta {
            namespace: format!("ns{}", node % 3).into(),
            name: name.into(),
            uid: name.into(),
            ..Meta::default()
        };
        let node_name = format!("n{node}").into();
        cluster.set_pod(Pod { meta, node_name, affinity: Some(affinity.into()), ..Pod::default() });
    }

    fn row(cluster: &mut Cluster, namespace: &str, pairs: &[(&str, &str)]) -> snapshot::Pod {
        let meta = Meta { namespace: namespace.into(), labels: labels(pairs), ..Meta::default() };
        (*cluster.row(Pod { meta, ..Pod::default() })).clone()
    }

    fn selector(requirements: &[(&str, SelectorOperator, &[&str])]) -> Selector {
        let requirement =
            |(key, operator, values): &(&str, SelectorOperator, &[&str])| Requirement {
                key: (*key).into(),
                operator: *operator,
                values: values.iter().map(|value| (*value).into()).collect(),
            };
        Selector { requirements: requirements.iter().map(requirement).collect() }
    }

    /// Terms with every kind of selector and of namespaces.
    fn terms() -> Vec<PodAffinityTerm> {
        use SelectorOperator::{DoesNotExist, Exists, In, NotIn};
        let many: Vec<String> = (0..40).map(|value| format!("v{value:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let selectors = [
            None,
            Some(selector(&[])),
            Some(selector(&[("app", In, &["a"])])),
            Some(selector(&[("app", In, &["a", "b"]), ("tier", In, &["x"])])),
            Some(selector(&[("app", In, &[])])),
            Some(selector(&[("app", NotIn, &["a"])])),
            Some(selector(&[("tier", Exists, &[]), ("app", In, &many)])),
            Some(selector(&[("tier", DoesNotExist, &[])])),
        ];
        let namespaces: [&[&str]; 4] = [&[], &["ns0"], &["ns0", "ns1"], &["ns9"]];
        let namespace_selectors = [None, Some(selector(&[])), Some(selector(&[("t", In, &["u"])]))];
        let mut terms = Vec::new();
        for label_selector in &selectors {
            for names in namespaces {
                for namespace_selector in &namespace_selectors {
                    for key in ["zone", "rack", "nobody-has-it"] {
                        terms.push(PodAffinityTerm {
                            label_selector: label_selector.clone(),
                            namespaces: names.iter().map(|name| (*name).into()).collect(),
                            namespace_selector: namespace_selector.clone(),
                            topology_key: key.into(),
                        });
                    }
                }
            }
        }
        terms
    }

    /// Each term is in some lists of some pods.
    fn affinity(index: usize, terms: &[PodAffinityTerm]) -> Affinity {
        let weighted = |weight: i32, is_there: bool| {
            let terms = terms.iter().filter(|_| is_there);
            terms.map(|term| (weight, term.clone())).collect()
        };
        Affinity {
            anti_required: terms.into(),
            pod_required: terms.iter().take(index % 3).cloned().collect(),
            pod_preferred: weighted(3, index.is_multiple_of(2)),
            anti_preferred: weighted(5, index % 4 < 2),
            ..Affinity::default()
        }
    }

    /// Every term counts, those that are required without a weight.
    fn in_all(demand: Demand) -> Worth {
        let terms = demand.required + demand.anti_required + demand.preferences;
        Worth { terms, weight: demand.weight }
    }

    /// Compares what is found for some pods with a walk over all terms; gives how many terms mean them.
    fn compare_with_a_walk(cluster: &mut Cluster) -> usize {
        let mut compared = 0;
        for namespace in ["ns0", "ns1", "ns2", "elsewhere"] {
            for pairs in [&[][..], &[("app", "a")], &[("app", "v07"), ("tier", "x")]] {
                let pod = row(cluster, namespace, pairs);
                let namespace_labels = labels(&[("t", "u")]);
                let incoming =
                    Incoming { identity: &pod.identity, namespace_labels: &namespace_labels };
                let mut found: BTreeMap<String, (i64, i64)> = BTreeMap::new();
                for of_key in terms_against(incoming, cluster, in_all) {
                    let worth = of_key.by_node(cluster, in_all).map(|(_, worth)| worth);
                    let worth = worth.fold(Worth::default(), Worth::plus);
                    found.insert(of_key.key.to_owned(), (worth.terms, worth.weight));
                }
                let mut walked: BTreeMap<String, (i64, i64)> = BTreeMap::new();
                for view in cluster.nodes().iter() {
                    for other in &view.load.pods {
                        let affinity = &other.template.pod_affinity;
                        let required = affinity.required.iter().chain(&affinity.anti_required);
                        let liked = affinity.preferred.iter().map(|(weight, term)| (*weight, term));
                        let avoided = affinity.anti_preferred.iter();
                        let avoided = avoided.map(|(weight, term)| (-weight, term));
                        let all = required.map(|term| (0, term)).chain(liked).chain(avoided);
                        for (weight, term) in all {
                            let is_on_nodes = &*term.topology_key != "nobody-has-it";
                            if is_on_nodes && means_incoming(term, other.namespace(), incoming) {
                                let sum = walked.entry(term.topology_key.to_string()).or_default();
                                *sum = (sum.0 + 1, sum.1 + i64::from(weight));
                                compared += 1;
                            }
                        }
                    }
                }
                assert_eq!(found, walked, "{namespace} {pairs:?}");
            }
        }
        compared
    }

    /// The index finds what a walk over all terms of all pods finds, also after pods left.
    #[test]
    fn terms_that_mean_a_pod_are_each_found_once() {
        let mut cluster = cluster();
        let terms = terms();
        let affinities: Vec<Affinity> =
            terms.chunks(7).enumerate().map(|(index, terms)| affinity(index, terms)).collect();
        for (index, affinity) in affinities.iter().enumerate() {
            place(&mut cluster, &format!("p{index}"), index % 20, affinity.clone());
            place(&mut cluster, &format!("gone-{index}"), (index + 1) % 20, affinity.clone());
        }
        let placed = affinities.len();
        (0..placed).for_each(|index| drop(cluster.remove_pod(&format!("gone-{index}"))));
        let mut compared = compare_with_a_walk(&mut cluster);
        // What was asked once follows the pods that come and go.
        for (index, affinity) in affinities.iter().enumerate().step_by(3) {
            cluster.remove_pod(&format!("p{}", index + 1));
            place(&mut cluster, &format!("p{index}-late"), index % 20, affinity.clone());
        }
        compared += compare_with_a_walk(&mut cluster);
        assert!(compared > 200, "{compared} terms mean a pod");
        for index in 0..placed {
            cluster.remove_pod(&format!("p{index}"));
            cluster.remove_pod(&format!("p{index}-late"));
        }
        let pod = row(&mut cluster, "ns0", &[("app", "a")]);
        assert_eq!(cluster.census().terms_about(&pod.identity).count(), 0, "none is left");
        let all = cluster.census().demands_of_all(cluster.nodes(), |_| true);
        assert_eq!(all.count(), 0, "none is left");
    }

    /// Pods with a thousand terms each, for a key of its own each, or about others.
    #[test]
    fn placed_pods_with_many_terms_cost_the_decisions_of_others_little() {
        use SelectorOperator::In;
        const TERMS: usize = 1_000;
        let mut cluster = cluster();
        for index in 0..6 {
            let of_key = |term: usize| PodAffinityTerm {
                label_selector: Some(selector(&[])),
                namespace_selector: Some(selector(&[])),
                topology_key: format!("k{index}-{term}").into(),
                ..PodAffinityTerm::default()
            };
            let of_others = |term: usize| PodAffinityTerm {
                label_selector: Some(selector(&[("app", In, &[&format!("a{term}")])])),
                topology_key: "zone".into(),
                ..of_key(term)
            };
            let affinity = Affinity {
                anti_required: (0..TERMS).map(of_key).collect(),
                pod_preferred: (0..TERMS).map(|term| (1, of_key(term))).collect(),
                pod_required: (0..TERMS).map(of_others).collect(),
                ..Affinity::default()
            };
            place(&mut cluster, &format!("p{index}"), index, affinity);
        }
        let pod = row(&mut cluster, "ns0", &[("app", "web")]);
        // Versions of columns count how often any was asked for.
        let columns_asked =
            |cluster: &Cluster, probe: &str| cluster.nodes().domains(probe).version();
        let before = columns_asked(&cluster, "before");
        assert!(Filter::prepare(&RULE, &pod, &cluster).is_some());
        assert!(Score::prepare(&RULE, &pod, &cluster).is_some());
        let asked = columns_asked(&cluster, "after") - before;
        assert!(asked <= 2, "{asked} columns were asked for");
        let about = cluster.census().terms_about(&pod.identity).count();
        assert_eq!(
            about, 0,
            "terms that ask for another label, or for all pods, are not looked at"
        );
    }
}
