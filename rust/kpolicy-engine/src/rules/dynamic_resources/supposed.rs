//! What pods that are put on a node or taken from it for the sake of argument mean for its devices.
//!
//! Only where preemption frees devices (`spec.preemption.freesDevices`): kube-scheduler takes devices
//! for in use whoever leaves. A claim is given up once nobody uses it any more: all pods that it is
//! reserved for are taken away, and neither the pod in question nor one that is put here uses it. Pods
//! that are nominated to the node get devices before the pod in question.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashSet;

use crate::heap::HeapBytes;
use crate::model::{ClaimSource, Consumer, ResourceClaim};
use crate::rules::decision_work::units_of_devices;
use crate::rules::devices::{Detail, Work};
use crate::rules::node_selection;
use crate::snapshot::devices_in_use::InUseWithout;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::DynamicResources;
use super::alike::Answer;
use super::filter::is_concerned;
use super::state::State;

/// Pods that are put and taken, and what follows for claims.
#[derive(Debug, Clone, Default)]
pub(super) struct Supposed {
    /// Pods that are taken away, by uid.
    gone: FxHashSet<Arc<str>>,
    /// The claims that are given up for that.
    given_up: Vec<Arc<ResourceClaim>>,
    pub(super) in_use: InUseWithout,
    /// What pods that are put here need, which get theirs first.
    pub(super) ahead: Vec<Ahead>,
    spent: Spent,
}

#[derive(Debug, Clone)]
pub(super) struct Ahead {
    uid: Arc<str>,
    pub(super) state: Arc<State>,
}

/// Units that answers have taken. A copy has taken none.
#[derive(Debug, Default)]
struct Spent(AtomicU64);

impl Clone for Spent {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Supposed {
    /// Whether the devices are those that they are without it.
    pub(super) fn is_nothing(&self) -> bool {
        self.given_up.is_empty() && self.ahead.is_empty()
    }

    /// What answers have taken since this was asked last.
    pub(super) fn take_units(&self) -> u64 {
        self.spent.0.swap(0, Ordering::Relaxed)
    }

    /// Pods that need devices of the node before the others, as it is.
    pub(super) fn with_ahead<'a>(
        pods: impl Iterator<Item = &'a Arc<Pod>>,
        rule: &DynamicResources,
        cluster: &Cluster,
    ) -> Self {
        let ahead = pods.filter_map(|pod| Ahead::of(pod, rule, cluster)).collect();
        Self { ahead, ..Self::default() }
    }

    fn is_given_up(&self, claim: &ResourceClaim) -> Option<usize> {
        self.given_up.iter().position(|own| is_same(own, claim))
    }

    fn is_to_be_given_up(&self, claim: &ResourceClaim, own: &[Arc<ResourceClaim>]) -> bool {
        let ahead = self.ahead.iter().flat_map(|ahead| ahead.state.claims.iter());
        claim.allocation.is_some()
            && !claim.reserved_for.is_empty()
            && claim.reserved_for.iter().all(|user| is_pod(user) && self.gone.contains(&*user.uid))
            && !own.iter().chain(ahead).any(|used| is_same(used, claim))
    }

    /// Follows what pods are there for the claims of one. `own`: those of the pod in question.
    fn follow(&mut self, pod: &Pod, own: &[Arc<ResourceClaim>], cluster: &Cluster) {
        let held = &cluster.objects().devices_in_use;
        for claim in claims_of(pod, cluster) {
            let Some(allocation) = &claim.allocation else { continue };
            match (self.is_given_up(claim), self.is_to_be_given_up(claim, own)) {
                (None, true) => {
                    self.in_use.count(allocation, held, false);
                    self.given_up.push(Arc::clone(claim));
                }
                (Some(place), false) => {
                    self.in_use.count(allocation, held, true);
                    self.given_up.swap_remove(place);
                }
                _ => {}
            }
        }
        if self.given_up.is_empty() {
            self.in_use = InUseWithout::default();
        }
    }
}

impl Ahead {
    /// `None`: it needs no devices, or cannot have any as things are.
    fn of(pod: &Arc<Pod>, rule: &DynamicResources, cluster: &Cluster) -> Option<Self> {
        let state = is_concerned(pod).then(|| State::of(rule, pod, cluster).ok()?).flatten()?;
        Some(Self { uid: Arc::clone(&pod.uid), state: state.into() })
    }
}

impl State {
    /// A pod is put on the node.
    pub(super) fn put(&mut self, pod: &Arc<Pod>, rule: &DynamicResources, cluster: &Cluster) {
        if !is_concerned(pod) {
            return;
        }
        if !self.supposed.gone.remove(&pod.uid) {
            self.supposed.ahead.extend(Ahead::of(pod, rule, cluster));
        }
        self.supposed.follow(pod, &self.claims, cluster);
    }

    /// A pod is taken away: the other way round.
    pub(super) fn take(&mut self, pod: &Arc<Pod>, cluster: &Cluster) {
        if !is_concerned(pod) {
            return;
        }
        match self.supposed.ahead.iter().position(|ahead| ahead.uid == pod.uid) {
            Some(place) => {
                self.supposed.ahead.remove(place);
            }
            None => {
                self.supposed.gone.insert(Arc::clone(&pod.uid));
            }
        }
        self.supposed.follow(pod, &self.claims, cluster);
    }

    /// What comes of the claims that are not allocated, as is supposed. It is charged for.
    pub(super) fn answer_supposing(&self, cluster: &Cluster, node: NodeView<'_>) -> Answer {
        let units = match self.supposed.ahead.is_empty() {
            true => self.units_a_node,
            // There may be as many such nodes as there are.
            false => self.units_a_node.min(units_of_devices(cluster.nodes().len())),
        };
        let mut work = Work::of(units);
        let found = self.found_within(&mut work, cluster, node, Detail::Alternatives);
        let spent = units - work.left();
        cluster.objects().add_units_of_devices(spent);
        self.supposed.spent.0.fetch_add(spent, Ordering::Relaxed);
        Answer::of(&found)
    }
}

impl HeapBytes for Supposed {
    /// Nothing is supposed where answers are kept.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Whether a claim has devices that this node reaches although all pods are gone that it is reserved
/// for: the controller of claims will give them up.
pub(crate) fn are_devices_awaited(cluster: &Cluster, node: NodeView<'_>) -> bool {
    let is_gone = |user: &Consumer| is_pod(user) && cluster.pods().get(&user.uid).is_none();
    let (labels, name) = (&node.node.object.meta.labels, &node.node.name);
    cluster.objects().resource_claims.iter().any(|claim| {
        let Some(allocation) = &claim.allocation else { return false };
        let is_left = !claim.reserved_for.is_empty() || claim.meta.deletion_seconds.is_some();
        let reaches = || {
            let selector = allocation.node_selector.as_ref();
            selector.is_none_or(|own| node_selection::selects(&own.selector, labels, name))
        };
        is_left && claim.reserved_for.iter().all(is_gone) && reaches()
    })
}

fn is_pod(user: &Consumer) -> bool {
    user.group.is_empty() && *user.resource == *"pods"
}

fn is_same(left: &ResourceClaim, right: &ResourceClaim) -> bool {
    (&left.meta.name, &left.meta.namespace) == (&right.meta.name, &right.meta.namespace)
}

/// The claims that a pod uses, as far as they are there, with that for its extended resources.
fn claims_of<'a>(
    pod: &'a Pod,
    cluster: &'a Cluster,
) -> impl Iterator<Item = &'a Arc<ResourceClaim>> {
    let objects = cluster.objects();
    let made = move |entry: &str| {
        let mut statuses = pod.claim_statuses.iter().flat_map(|statuses| statuses.iter());
        statuses.find(|(name, _)| **name == *entry).and_then(|(_, claim)| claim.as_deref())
    };
    let named = pod.template.resource_claims.iter().filter_map(move |entry| match &entry.source {
        ClaimSource::Claim(name) => Some(&**name),
        ClaimSource::Template => made(&entry.name),
        ClaimSource::Unknown => None,
    });
    let special = objects.devices_in_use.made_for(&pod.uid).iter().map(AsRef::as_ref);
    let of_name = move |name: &str| objects.resource_claims.get(pod.namespace(), name);
    let stand_in = of_name(&ResourceClaim::stand_in_name(&pod.uid));
    named.chain(special).filter_map(of_name).chain(stand_in)
}
