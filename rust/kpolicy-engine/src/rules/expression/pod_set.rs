//! Sets of pods, on a node, in a domain or in the cluster: counted and summed, never copied.

use std::sync::Arc;

use kpolicy_cel::{Answer, Selector, Value};

use crate::intern::{Name, Shared};
use crate::model::OwnerReference;
use crate::resources::names;
use crate::snapshot::pod::Identity;
use crate::snapshot::{Cluster, Load, Pod};

use super::pod_facts::no_such_overload;

/// Which pods count: by labels and, where named, by namespaces.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    selector: Arc<Selector>,
    namespaces: Option<Vec<Arc<str>>>,
}

/// The pods of a namespace that have the same controller.
#[derive(Debug, Clone)]
pub(super) struct Controlled {
    namespace: Name,
    controller: Shared<OwnerReference>,
}

/// What is asked of a set: how many pods there are, or what they request together.
#[derive(Debug, Clone)]
pub(super) enum PodTotal {
    Count(Chosen),
    Sum {
        resource: Arc<str>,
        chosen: Option<Chosen>,
    },
    /// How many have the controller of a pod; none where that has none.
    OfController(Option<Controlled>),
}

impl PodTotal {
    /// How many pods a selector matches; the arguments are those of the fact.
    pub(super) fn count(args: &[Value]) -> Result<Self, Answer> {
        match args {
            [selector] => Ok(Self::Count(Chosen::of(selector, None)?)),
            [selector, namespaces] => Ok(Self::Count(Chosen::of(selector, Some(namespaces))?)),
            _ => Err(no_such_overload()),
        }
    }

    /// What pods request of a resource, all of them or those that a selector matches.
    pub(super) fn sum(args: &[Value]) -> Result<Self, Answer> {
        match args {
            [Value::String(resource)] => {
                Ok(Self::Sum { resource: Arc::clone(resource), chosen: None })
            }
            [Value::String(resource), selector] => Ok(Self::Sum {
                resource: Arc::clone(resource),
                chosen: Some(Chosen::of(selector, None)?),
            }),
            _ => Err(no_such_overload()),
        }
    }

    /// How many pods have the controller of this one.
    pub(super) fn of_controller(pod: &Pod) -> Self {
        let of = |controller: &Shared<OwnerReference>| Controlled {
            namespace: pod.namespace().clone(),
            controller: controller.clone(),
        };
        Self::OfController(pod.template.owner.as_ref().map(of))
    }

    /// Of one node.
    pub(super) fn on(&self, load: &Load) -> i64 {
        let pods = load.pods.iter();
        match self {
            Self::Count(chosen) => count(pods.filter(|pod| chosen.has(&pod.identity)).count()),
            Self::OfController(None) => 0,
            Self::OfController(Some(same)) => count(pods.filter(|pod| same.has(pod)).count()),
            Self::Sum { resource, chosen: None } => requested(load, resource),
            Self::Sum { resource, chosen: Some(chosen) } => pods
                .filter(|pod| chosen.has(&pod.identity))
                .fold(0, |sum: i64, pod| sum.saturating_add(of_pod(pod, resource))),
        }
    }

    /// Whether reading it of a node looks at each of its pods.
    pub(super) fn is_walked(&self) -> bool {
        !matches!(self, Self::Sum { chosen: None, .. })
    }

    /// As `PodTotal::on`, beyond what 64 bits can show.
    pub(super) fn on_wide(&self, load: &Load) -> i128 {
        load.pods.iter().map(|pod| i128::from(self.of_pod(pod))).sum()
    }

    /// What a pod adds.
    pub(super) fn of_pod(&self, pod: &Pod) -> i64 {
        match self {
            Self::Count(chosen) => chosen.has(&pod.identity).into(),
            Self::OfController(same) => same.as_ref().is_some_and(|same| same.has(pod)).into(),
            Self::Sum { resource, chosen } => {
                let is_chosen = chosen.as_ref().is_none_or(|chosen| chosen.has(&pod.identity));
                if is_chosen { of_pod(pod, resource) } else { 0 }
            }
        }
    }

    /// Of every node, by slot; slots without a node have 0.
    pub(super) fn by_slot(&self, cluster: &Cluster) -> Vec<i64> {
        let mut sums = vec![0_i64; cluster.nodes().slots()];
        match self {
            // A selector is matched once per identity, not once per pod.
            Self::Count(chosen) => {
                let rows = cluster.census().identities();
                for row in rows.filter(|row| chosen.has(&row.what)) {
                    for (slot, tally) in &row.by_node {
                        if let Some(cell) = sums.get_mut(slot.index()) {
                            *cell += i64::from(tally.pods);
                        }
                    }
                }
            }
            Self::OfController(same) => {
                let row = same.as_ref().and_then(|same| {
                    cluster.census().controlled_by(&same.namespace, &same.controller)
                });
                for (slot, tally) in row.into_iter().flat_map(|row| &row.by_node) {
                    if let Some(cell) = sums.get_mut(slot.index()) {
                        *cell = i64::from(tally.pods);
                    }
                }
            }
            Self::Sum { .. } => {
                for view in cluster.nodes().iter() {
                    if let Some(cell) = sums.get_mut(view.slot.index()) {
                        *cell = self.on(view.load);
                    }
                }
            }
        }
        sums
    }
}

impl Controlled {
    fn has(&self, pod: &Pod) -> bool {
        pod.template.owner.as_ref() == Some(&self.controller) && *pod.namespace() == self.namespace
    }
}

impl Chosen {
    fn of(selector: &Value, namespaces: Option<&Value>) -> Result<Self, Answer> {
        let Value::Selector(selector) = selector else { return Err(no_such_overload()) };
        let namespaces = match namespaces {
            None => None,
            Some(Value::List(names)) => {
                let text = |name: &Value| match name {
                    Value::String(text) => Ok(Arc::clone(text)),
                    _ => Err(no_such_overload()),
                };
                Some(names.iter().map(text).collect::<Result<_, _>>()?)
            }
            Some(_) => return Err(no_such_overload()),
        };
        Ok(Self { selector: Arc::clone(selector), namespaces })
    }

    fn has(&self, identity: &Identity) -> bool {
        self.namespaces.as_ref().is_none_or(|names| names.contains(&identity.namespace))
            && self.selector.matches(|key| identity.labels.get(key))
    }
}

fn count(pods: usize) -> i64 {
    i64::try_from(pods).unwrap_or(i64::MAX)
}

fn of_pod(pod: &Pod, resource: &str) -> i64 {
    if resource == names::PODS { 1 } else { pod.requests().held.get(resource) }
}

/// What all pods of a node request together.
pub(super) fn requested(load: &Load, resource: &str) -> i64 {
    if resource == names::PODS { count(load.pods.len()) } else { load.requested.get(resource) }
}
