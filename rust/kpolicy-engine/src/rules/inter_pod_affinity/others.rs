//! What affinity terms of pods on nodes add up to, for a pod that they mean.
//!
//! Terms that ask for the same topology come together, and one that no node has is passed over, so
//! that pods with thousands of terms cost the decisions of others little.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::snapshot::census::{Asking, AskingTerm, Row};
use crate::snapshot::{Cluster, Domains, NodeSlot};

use super::terms::{Incoming, means_incoming};

/// What terms of one row that mean the pod come to.
#[derive(Debug, Clone, Copy)]
struct FromRow<'a> {
    row: &'a Row<Asking>,
    terms: i64,
    weight: i64,
}

/// One topology key that terms ask for.
#[derive(Debug)]
pub(super) struct OfKey<'a> {
    pub key: &'a str,
    pub domains: Arc<Domains>,
    rows: Vec<FromRow<'a>>,
}

impl OfKey<'_> {
    /// The nodes where the pods are; for each how many terms there are, and the weights of these.
    pub(super) fn by_node(&self) -> impl Iterator<Item = (NodeSlot, i64, i64)> {
        self.rows.iter().flat_map(|from| {
            from.row.by_node.iter().map(|(slot, tally)| {
                let pods = i64::from(tally.pods);
                (*slot, from.terms.saturating_mul(pods), from.weight.saturating_mul(pods))
            })
        })
    }
}

/// The terms of pods on nodes that mean the incoming pod, by topology key. `weight_of` gives what a
/// term is worth, or `None` if it does not count.
pub(super) fn terms_against<'a>(
    incoming: Incoming<'a>,
    cluster: &'a Cluster,
    weight_of: impl Fn(&AskingTerm<'a>) -> Option<i64>,
) -> impl Iterator<Item = OfKey<'a>> {
    let mut by_key: BTreeMap<&'a str, Vec<FromRow<'a>>> = BTreeMap::new();
    cluster.census().terms_about(incoming.identity, |asking| {
        let AskingTerm { row, term, .. } = asking;
        let Some(weight) = weight_of(&asking) else { return };
        let key = term.topology_key.as_ref();
        if !cluster.nodes().any_has_label(key)
            || !means_incoming(term, &row.what.namespace, incoming)
        {
            return;
        }
        let rows = by_key.entry(key).or_default();
        match rows.last_mut() {
            Some(last) if std::ptr::eq(last.row, row) => {
                last.terms += 1;
                last.weight = last.weight.saturating_add(weight);
            }
            _ => rows.push(FromRow { row, terms: 1, weight }),
        }
    });
    by_key.into_iter().map(|(key, rows)| OfKey { key, domains: cluster.nodes().domains(key), rows })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::terms_against;
    use crate::model::{
        Affinity, Labels, Meta, Node, Pod, PodAffinityTerm, Requirement, Selector, SelectorOperator,
    };
    use crate::rules::inter_pod_affinity::InterPodAffinity;
    use crate::rules::inter_pod_affinity::terms::{Incoming, means_incoming};
    use crate::rules::{Filter, Score};
    use crate::snapshot::{self, Cluster};

    const RULE: InterPodAffinity =
        InterPodAffinity { hard_weight: 1, ignores_others_preferences: false };

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

    /// The index finds what a walk over all terms of all pods finds, also after pods left.
    #[test]
    fn terms_that_mean_a_pod_are_each_found_once() {
        let mut cluster = cluster();
        let terms = terms();
        for (index, terms) in terms.chunks(7).enumerate() {
            let affinity = Affinity { anti_required: terms.into(), ..Affinity::default() };
            place(&mut cluster, &format!("p{index}"), index % 20, affinity.clone());
            place(&mut cluster, &format!("gone-{index}"), (index + 1) % 20, affinity);
        }
        let placed = terms.chunks(7).count();
        (0..placed).for_each(|index| drop(cluster.remove_pod(&format!("gone-{index}"))));
        let mut compared = 0;
        for namespace in ["ns0", "ns1", "ns2", "elsewhere"] {
            for pairs in [&[][..], &[("app", "a")], &[("app", "v07"), ("tier", "x")]] {
                let pod = row(&mut cluster, namespace, pairs);
                let namespace_labels = labels(&[("t", "u")]);
                let incoming =
                    Incoming { identity: &pod.identity, namespace_labels: &namespace_labels };
                let mut found: BTreeMap<String, i64> = BTreeMap::new();
                for of_key in terms_against(incoming, &cluster, |_| Some(1)) {
                    let terms = of_key.by_node().map(|(_, terms, _)| terms).sum::<i64>();
                    found.insert(of_key.key.to_owned(), terms);
                }
                let mut walked: BTreeMap<String, i64> = BTreeMap::new();
                for view in cluster.nodes().iter() {
                    for other in &view.load.pods {
                        for term in &other.template.pod_affinity.anti_required {
                            let is_on_nodes = &*term.topology_key != "nobody-has-it";
                            if is_on_nodes && means_incoming(term, other.namespace(), incoming) {
                                *walked.entry(term.topology_key.to_string()).or_default() += 1;
                                compared += 1;
                            }
                        }
                    }
                }
                assert_eq!(found, walked, "{namespace} {pairs:?}");
            }
        }
        assert!(compared > 200, "{compared} terms mean a pod");
        (0..placed).for_each(|index| drop(cluster.remove_pod(&format!("p{index}"))));
        let pod = row(&mut cluster, "ns0", &[("app", "a")]);
        let mut left = 0;
        cluster.census().terms_about(&pod.identity, |_| left += 1);
        assert_eq!(left, 0, "what is gone is found no more");
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
        let mut about_others = 0;
        cluster.census().terms_about(&pod.identity, |asking| {
            about_others += usize::from(&*asking.term.topology_key == "zone");
        });
        assert_eq!(about_others, 0, "terms that ask for another label are not looked at");
    }
}
