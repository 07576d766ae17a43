//! Disruption budgets: which victims would exceed one.
//!
//! Specification: victims of one node share a budget, in order of importance, and every node starts
//! from full budgets; a pod that `status.disruptedPods` names is counted already; a selector that
//! is absent, empty or invalid selects no pod, and a pod without labels is selected by none.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::DisruptionBudget;
use crate::snapshot::{Cluster, Pod};

/// The budgets of a cluster, and whom they are known to mean.
#[derive(Debug)]
pub(super) struct Budgets<'a> {
    cluster: &'a Cluster,
    /// By the id of the pods' identity.
    meaning: FxHashMap<u64, Vec<&'a DisruptionBudget>>,
}

/// How many disruptions each budget still allows on one node, by its address.
type BudgetLeft = FxHashMap<*const DisruptionBudget, i64>;

impl<'a> Budgets<'a> {
    pub(super) fn of(cluster: &'a Cluster) -> Self {
        Self { cluster, meaning: FxHashMap::default() }
    }

    /// Parts victims into those that go beyond a budget and the others, both in their order.
    pub(super) fn part<'p>(
        &mut self,
        victims: Vec<&'p Arc<Pod>>,
    ) -> (Vec<&'p Arc<Pod>>, Vec<&'p Arc<Pod>>) {
        if self.cluster.objects().budgets.is_empty() {
            return (Vec::new(), victims);
        }
        let mut left = BudgetLeft::default();
        victims.into_iter().partition(|victim| self.takes_beyond(victim, &mut left))
    }

    fn takes_beyond(&mut self, victim: &Pod, left: &mut BudgetLeft) -> bool {
        let mut is_beyond = false;
        for budget in self.meaning(victim) {
            if is_disrupted(victim, budget) {
                continue;
            }
            let allowed = left
                .entry(std::ptr::from_ref(*budget))
                .or_insert_with(|| budget.disruptions_allowed.into());
            *allowed -= 1;
            is_beyond |= *allowed < 0;
        }
        is_beyond
    }

    fn meaning(&mut self, pod: &Pod) -> &[&'a DisruptionBudget] {
        let cluster = self.cluster;
        self.meaning.entry(pod.identity.id()).or_insert_with(|| {
            let budgets = cluster.objects().budgets.in_namespace(pod.namespace());
            budgets.map(AsRef::as_ref).filter(|budget| means(budget, pod)).collect()
        })
    }
}

fn means(budget: &DisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.selector.as_ref().filter(|selector| !selector.is_everything());
    !pod.labels().is_empty() && selector.is_some_and(|selector| selector.matches(pod.labels()))
}

fn is_disrupted(pod: &Pod, budget: &DisruptionBudget) -> bool {
    budget.disrupted_pods.binary_search_by(|name| name.as_ref().cmp(&pod.name)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Budgets;
    use crate::model::{
        self, DisruptionBudget, Meta, Object, Requirement, Selector, SelectorOperator,
    };
    use crate::snapshot::{Cluster, Pod};

    fn meta(namespace: &str, name: &str) -> Meta {
        let (namespace, name) = (namespace.into(), name.into());
        Meta { namespace, name, ..Meta::default() }
    }

    fn selects(key: &str, operator: SelectorOperator, values: &[&str]) -> Selector {
        let values = values.iter().map(|value| (*value).into()).collect();
        let requirement = Requirement { key: key.into(), operator, values };
        Selector { requirements: Box::new([requirement]) }
    }

    fn app(name: &str) -> Selector {
        selects("app", SelectorOperator::In, &[name])
    }

    fn budget(name: &str, selector: Selector, allowed: i32) -> DisruptionBudget {
        DisruptionBudget {
            meta: meta("red", name),
            selector: Some(selector),
            disruptions_allowed: allowed,
            disrupted_pods: Box::new([]),
        }
    }

    fn cluster(budgets: impl IntoIterator<Item = DisruptionBudget>) -> Cluster {
        let mut cluster = Cluster::default();
        for budget in budgets {
            cluster.set_object(Object::PodDisruptionBudget(Arc::new(budget)));
        }
        cluster
    }

    /// A pod's namespace, name and labels.
    type Written<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

    fn pods(cluster: &mut Cluster, pods: &[Written<'_>]) -> Vec<Arc<Pod>> {
        let rows = pods.iter().map(|(namespace, name, labels)| {
            let meta = Meta { labels: labels.iter().copied().collect(), ..meta(namespace, name) };
            cluster.row(model::Pod { meta, ..model::Pod::default() })
        });
        rows.collect()
    }

    fn webs(cluster: &mut Cluster, names: &[&str]) -> Vec<Arc<Pod>> {
        let labels = [("app", "web")];
        let rows: Vec<Written<'_>> = names.iter().map(|name| ("red", *name, &labels[..])).collect();
        pods(cluster, &rows)
    }

    /// Names of those beyond a budget.
    fn beyond(cluster: &Cluster, pods: &[Arc<Pod>]) -> Vec<String> {
        let (beyond, within) = Budgets::of(cluster).part(pods.iter().collect());
        assert_eq!(beyond.len() + within.len(), pods.len());
        beyond.iter().map(|pod| pod.name.as_ref().to_owned()).collect()
    }

    #[test]
    fn victims_of_a_node_share_a_budget_and_every_node_starts_from_a_full_one() {
        let mut cluster = cluster([budget("web", app("web"), 2)]);
        let pods = webs(&mut cluster, &["a", "b", "c", "d"]);
        assert_eq!(beyond(&cluster, &pods), ["c", "d"]);
        let mut budgets = Budgets::of(&cluster);
        for _ in 0..2 {
            assert_eq!(budgets.part(pods.iter().collect()).0.len(), 2);
        }
    }

    #[test]
    fn each_budget_that_means_a_pod_counts() {
        let mut cluster = cluster([budget("web", app("web"), 3), budget("tight", app("web"), 1)]);
        let pods = webs(&mut cluster, &["a", "b"]);
        assert_eq!(beyond(&cluster, &pods), ["b"]);
    }

    #[test]
    fn a_pod_that_is_disrupted_already_neither_takes_nor_exceeds() {
        let mut web = budget("web", app("web"), 1);
        web.disrupted_pods = Box::new(["a".into(), "b".into()]);
        let mut cluster = cluster([web]);
        let pods = webs(&mut cluster, &["a", "b", "c", "d"]);
        assert_eq!(beyond(&cluster, &pods), ["d"]);
    }

    #[test]
    fn some_budgets_and_some_pods_are_never_meant() {
        let absent = DisruptionBudget { selector: None, ..budget("absent", app("web"), 0) };
        let invalid = selects("app", SelectorOperator::Invalid, &["web"]);
        let mut cluster = cluster([
            absent,
            budget("empty", Selector::default(), 0),
            budget("invalid", invalid, 0),
            budget("not-db", selects("app", SelectorOperator::NotIn, &["db"]), 0),
        ]);
        let pods = pods(
            &mut cluster,
            &[
                ("red", "bare", &[]),
                ("red", "db", &[("app", "db")]),
                ("blue", "elsewhere", &[("app", "web")]),
                ("red", "meant", &[("tier", "front")]),
            ],
        );
        assert_eq!(beyond(&cluster, &pods), ["meant"]);
    }
}
