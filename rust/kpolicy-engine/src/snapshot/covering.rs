//! The disruption budgets that cover pods, found once for all pods with the same labels.
//!
//! What is found holds until a budget changes. It is bounded by [`IDENTITIES_MAX`].

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::model::{DisruptionBudget, Kind};

use super::objects::{Replaced, Store};
use super::pod::Pod;

/// So many kinds of pods are remembered; then all are found anew.
const IDENTITIES_MAX: usize = 1 << 16;
/// What comparing labels with a selector takes in units, and as much again for each requirement.
const COMPARING: u64 = 2;
/// Finding the budgets of one pod takes at most about a millisecond.
const UNITS_MAX: u64 = 100_000;

type Budgets = Arc<[Arc<DisruptionBudget>]>;

#[derive(Debug, Default)]
pub(crate) struct Covering {
    /// By the id of the pods' identity, which is never used again; `None` where finding takes too long.
    known: Mutex<FxHashMap<u64, Option<Budgets>>>,
}

impl Covering {
    /// The budgets that cover a pod, in order of their names; otherwise the units that are too few for
    /// comparing all of its namespace.
    pub(crate) fn of(&self, pod: &Pod, all: &Store<DisruptionBudget>) -> Result<Budgets, u64> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= IDENTITIES_MAX {
            known.clear();
        }
        let found = known.entry(pod.identity.id()).or_insert_with(|| found(pod, all));
        found.clone().ok_or(UNITS_MAX)
    }

    pub(super) fn follow(&mut self, replaced: &Replaced) {
        if replaced.kind == Kind::PodDisruptionBudget {
            self.known.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

fn found(pod: &Pod, all: &Store<DisruptionBudget>) -> Option<Budgets> {
    let mut left = UNITS_MAX;
    let mut budgets = Vec::new();
    for budget in all.in_namespace(pod.namespace()) {
        let requirements = budget.selector.as_ref().map_or(0, |own| own.requirements.len() as u64);
        left = left.checked_sub(COMPARING.saturating_mul(requirements + 1))?;
        if budget.selector.as_ref().is_some_and(|selector| selector.matches(pod.labels())) {
            budgets.push(Arc::clone(budget));
        }
    }
    Some(budgets.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::model::{
        self, DisruptionBudget, Kind, Meta, Object, Requirement, Selector, SelectorOperator,
    };
    use crate::snapshot::{Cluster, Pod};

    fn meta(namespace: &str, name: &str) -> Meta {
        Meta { namespace: namespace.into(), name: name.into(), ..Meta::default() }
    }

    fn pod(cluster: &mut Cluster, app: &str) -> Pod {
        let labels = [("app", app)].into_iter().collect();
        let meta = Meta { labels, ..meta("red", "p") };
        Pod::clone(&cluster.row(model::Pod { meta, ..model::Pod::default() }))
    }

    fn app(name: &str) -> Selector {
        let (key, values) = ("app".into(), [name.into()].into());
        let requirement = Requirement { key, operator: SelectorOperator::In, values };
        Selector { requirements: [requirement].into() }
    }

    fn cover(cluster: &mut Cluster, namespace: &str, name: &str, selector: Option<Selector>) {
        let meta = meta(namespace, name);
        let budget = DisruptionBudget { meta, selector, ..DisruptionBudget::default() };
        cluster.set_object(Object::PodDisruptionBudget(Arc::new(budget)));
    }

    fn covering(cluster: &Cluster, pod: &Pod) -> Vec<String> {
        let objects = cluster.objects();
        let found = objects.covering.of(pod, &objects.budgets).unwrap_or_default();
        found.iter().map(|budget| budget.meta.name.to_string()).collect()
    }

    #[test]
    fn budgets_of_the_namespace_that_select_the_pod_cover_it_until_they_change() {
        let mut cluster = Cluster::default();
        let web = pod(&mut cluster, "web");
        assert!(covering(&cluster, &web).is_empty());
        cover(&mut cluster, "red", "web", Some(app("web")));
        cover(&mut cluster, "red", "all", Some(Selector::default()));
        cover(&mut cluster, "red", "none", None);
        cover(&mut cluster, "blue", "elsewhere", Some(app("web")));
        assert_eq!(covering(&cluster, &web), ["all", "web"]);
        let db = pod(&mut cluster, "db");
        assert_eq!(covering(&cluster, &db), ["all"]);
        cover(&mut cluster, "red", "all", Some(app("db")));
        assert_eq!(covering(&cluster, &web), ["web"]);
        cluster.remove_object(Kind::PodDisruptionBudget, "red", "web");
        assert!(covering(&cluster, &web).is_empty());
    }

    #[test]
    fn more_than_can_be_compared_is_no_answer() {
        let mut cluster = Cluster::default();
        let web = pod(&mut cluster, "web");
        let requirements = app("web").requirements.iter().cycle().take(60_000).cloned().collect();
        cover(&mut cluster, "red", "long", Some(Selector { requirements }));
        let objects = cluster.objects();
        assert_eq!(objects.covering.of(&web, &objects.budgets), Err(super::UNITS_MAX));
    }
}
