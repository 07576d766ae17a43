//! What affinity terms of placed pods add to the decision about a pod that they may select, in units.

use crate::snapshot::{Cluster, Pod};

use super::prices::{COMPARING, PLACED_ROW, PLACED_TERM, PLACES_A_UNIT};

/// How many terms are compared with the pod, and what that takes. The pods that carry them are added up
/// by node, once for each topology key.
pub(super) fn terms_and_units(pod: &Pod, cluster: &Cluster) -> (usize, u64) {
    let (census, nodes) = (cluster.census(), cluster.nodes());
    let places = census.asking_places();
    if places == 0 {
        return (0, 0);
    }
    let found = census.found_about(&pod.identity);
    let keys = census.topology_keys(nodes);
    let product = |count: usize, price: u64| (count as u64).saturating_mul(price);
    let of_rows = found.rows.saturating_mul(nodes.len()).min(keys.all.saturating_mul(places));
    let of_all = keys.of_all.saturating_mul(nodes.len().min(places));
    let added = of_rows.saturating_add(of_all) / PLACES_A_UNIT;
    let units = product(found.terms, PLACED_TERM)
        .saturating_add(product(found.comparisons, COMPARING))
        .saturating_add(product(found.rows, PLACED_ROW))
        .saturating_add(added as u64);
    (found.terms, units)
}

#[cfg(test)]
mod tests {
    use crate::model::{
        Affinity, Labels, Meta, Node, Pod, PodAffinityTerm, Requirement, Selector, SelectorOperator,
    };
    use crate::rules::decision_work::DecisionWork;
    use crate::snapshot::Cluster;

    /// Units that a pod of namespace `d` is charged once this many pods are on nodes, each with as many terms.
    fn beside(pods: usize, terms: usize, term: impl Fn(usize, usize) -> PodAffinityTerm) -> u64 {
        let mut cluster = Cluster::default();
        let labels: Labels = [("zone", "z")].into_iter().collect();
        let meta = Meta { name: "n".into(), labels, ..Meta::default() };
        cluster.set_node(Node { meta, ..Node::default() });
        for pod in 0..pods {
            let anti_required = (0..terms).map(|index| term(pod, index)).collect();
            let affinity = Some(Affinity { anti_required, ..Affinity::default() }.into());
            let meta = Meta { uid: pod.to_string().into(), ..Meta::default() };
            cluster.set_pod(Pod { meta, node_name: "n".into(), affinity, ..Pod::default() });
        }
        let meta = Meta { namespace: "d".into(), ..Meta::default() };
        let row = cluster.row(Pod { meta, ..Pod::default() });
        let work = DecisionWork::of(&row, &cluster);
        assert_eq!(work.entries(), 0, "the spec of the pod has none");
        work.units()
    }

    #[test]
    fn different_terms_of_placed_pods_are_charged_and_terms_for_all_pods_are_not() {
        let everything = PodAffinityTerm {
            label_selector: Some(Selector::default()),
            namespace_selector: Some(Selector::default()),
            topology_key: "zone".into(),
            ..PodAffinityTerm::default()
        };
        let lacks = |key: usize| {
            let requirement = Requirement {
                key: format!("k{key}").into(),
                operator: SelectorOperator::DoesNotExist,
                values: Box::default(),
            };
            let label_selector = Some(Selector { requirements: [requirement].into() });
            PodAffinityTerm { label_selector, ..everything.clone() }
        };
        assert!(beside(50, 200, |_, _| everything.clone()) <= 1);
        let of_key = |key: usize| PodAffinityTerm {
            topology_key: key.to_string().into(),
            ..everything.clone()
        };
        assert!(beside(50, 200, |pod, term| of_key(pod * 200 + term)) <= 1);
        let different = |pods: usize| beside(pods, 200, |pod, term| lacks(pod * 200 + term));
        let (few, many) = (different(10), different(50));
        assert!(few >= 2_000 * 5, "{few} units");
        assert!((many * 9..=many * 11).contains(&(few * 50)), "{few} and {many} units");
        // Equal terms of different pods are compared once.
        let equal = beside(50, 200, |_, term| lacks(term));
        assert!(equal < few, "{equal} units");
    }
}
