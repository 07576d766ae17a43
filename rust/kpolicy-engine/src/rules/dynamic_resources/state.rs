//! What holds for a pod on every node: its claims, and what is left to allocate (PreFilter).

use std::sync::Arc;

use crate::heap::HeapBytes;
use crate::intern::{Name, Shared};
use crate::model::{Allocation, ResourceClaim, Wanted};
use crate::release::{Followed, Gate};
use crate::rules::decision_work::units_of_devices;
use crate::rules::devices::extended::{class_behind, may_be_devices};
use crate::rules::devices::key_of;
use crate::rules::expression::PreparedDeviceRules;
use crate::rules::{Status, node_selection};
use crate::snapshot::containers::Containers;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::DynamicResources;
use super::alike::Answers;
use super::choice::{Choice, choice};
use super::looked::{look_as_rules, looked};
use super::pod_claims::{is_special_of, walk};
use super::supposed::Supposed;

/// The name of a claim for extended resources before it is written.
pub(super) const SPECIAL_NAME: &str = "<extended-resources>";

/// The claims of a pod, and what is known of them.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// In the order of the pod.
    pub(super) claims: Vec<Arc<ResourceClaim>>,
    pub(super) extended: Option<Extended>,
    pub(super) namespace: Box<str>,
    pub(super) followed: Followed,
    binding_timeout_seconds: i64,
    /// What looking for devices may take on one node, in units.
    pub(super) units_a_node: u64,
    /// How many scores share what looking for devices may take.
    scores: u64,
    /// By claim, how far the devices are that it has.
    readiness: Vec<Readiness>,
    /// What comes of the claims on nodes that are alike.
    pub(super) answers: Arc<Answers>,
    pub(super) supposed: Supposed,
    /// Where the policy chooses among what a node can give.
    pub(super) choice: Option<Arc<Choice>>,
}

/// Extended resources behind which a class stands.
#[derive(Debug, Clone)]
pub(super) struct Extended {
    /// The claim of an earlier attempt.
    pub(super) left: Option<Arc<ResourceClaim>>,
    /// Resources that devices may stand behind, by name, with the class that stands behind each.
    pub(super) asked: Vec<(Name, Option<Box<str>>)>,
    pub(super) containers: Shared<Containers>,
}

impl State {
    /// `None`: the pod has nothing to do with devices.
    pub(super) fn of(
        rule: &DynamicResources,
        pod: &Pod,
        cluster: &Cluster,
    ) -> Result<Option<Self>, Status> {
        let claims = walk(pod, cluster, rule.followed).map_err(Status::unresolvable)?;
        let extended = extended(pod, cluster, rule.followed);
        if claims.is_empty() && extended.is_none() {
            return Ok(None);
        }
        for claim in &claims {
            if claim.allocation.is_some() {
                if is_in_flight(claim, cluster) {
                    let key = key_of(claim);
                    let why = format!("resource claim {key} is in the process of being allocated");
                    return Err(Status::unresolvable(why));
                }
                continue;
            }
            has_classes(claim, cluster, rule.followed)?;
        }
        let of_claim = |claim: &Arc<ResourceClaim>| {
            let allocation = claim.allocation.as_deref();
            allocation.map_or(Readiness::Ready, |allocation| readiness(claim, allocation))
        };
        let open = claims.iter().filter(|claim| claim.allocation.is_none());
        let is_to_find = open.clone().next().is_some() || extended.is_some();
        let mut looked = looked(open, extended.as_ref(), cluster, rule.followed);
        let rules = rule.policy.rules.as_ref().filter(|_| is_to_find);
        if let Some(rules) = rules {
            look_as_rules(rules.looked(), &mut looked);
        }
        let groups = is_to_find.then(|| cluster.objects().device_groups(&looked)).flatten();
        let resources = extended.as_ref().map_or(0, |own| own.asked.len());
        let answers = Answers::of(groups, resources, cluster);
        let rules = rules.map(|rules| PreparedDeviceRules::of(rules, pod, cluster));
        let choice = choice(rules, &looked);
        let scores = match extended {
            Some(_) => rule.policy.scores_that_count,
            None => 0,
        } + u64::from(choice.is_some());
        let units_a_node = units_a_node(&claims, scores, &answers, (cluster, rule.followed));
        Ok(Some(Self {
            units_a_node,
            scores,
            answers: answers.into(),
            choice,
            readiness: claims.iter().map(of_claim).collect(),
            claims,
            extended,
            namespace: (&***pod.namespace()).into(),
            followed: rule.followed,
            binding_timeout_seconds: rule.binding_timeout_seconds,
            supposed: Supposed::default(),
        }))
    }

    /// Whether the nodes that share the work have become more or fewer.
    pub(super) fn is_stale(&self, cluster: &Cluster) -> bool {
        let in_cluster = (cluster, self.followed);
        self.units_a_node != units_a_node(&self.claims, self.scores, &self.answers, in_cluster)
    }

    /// Whether an allocated claim is of no use on a node, or not any more.
    pub(super) fn is_unavailable(
        &self,
        place: usize,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> bool {
        let Some(claim) = self.claims.get(place) else { return false };
        let Some(allocation) = &claim.allocation else { return false };
        let (labels, name) = (&node.node.object.meta.labels, &node.node.name);
        if let Some(written) = &allocation.node_selector
            && !node_selection::selects(&written.selector, labels, name)
        {
            return true;
        }
        if !self.followed.has_binding_conditions() {
            return false;
        }
        match self.readiness.get(place).copied().unwrap_or(Readiness::Ready) {
            Readiness::Ready => false,
            Readiness::Failed => true,
            Readiness::Waiting => self.is_overdue(allocation, cluster),
        }
    }

    /// How many of the claims have waited too long for their devices: these are all with the earliest
    /// ends, so that their number says which they are.
    pub(super) fn overdue(&self, cluster: &Cluster) -> usize {
        let allocations = self.claims.iter().filter_map(|claim| claim.allocation.as_deref());
        allocations
            .filter(|allocation| allocation.has_binding_conditions())
            .filter(|allocation| self.is_overdue(allocation, cluster))
            .count()
    }

    fn is_overdue(&self, allocation: &Allocation, cluster: &Cluster) -> bool {
        allocation.allocated_seconds.is_some_and(|since| {
            cluster.now_seconds() > since.saturating_add(self.binding_timeout_seconds)
        })
    }
}

impl HeapBytes for State {
    fn heap_bytes(&self) -> usize {
        self.claims.capacity() * size_of::<Arc<ResourceClaim>>()
            + self.readiness.capacity() * size_of::<Readiness>()
            + self.namespace.heap_bytes()
            + self
                .extended
                .as_ref()
                .map_or(0, |own| own.asked.capacity() * size_of::<(Name, Option<Box<str>>)>())
            + self.answers.heap_bytes()
            + self.supposed.heap_bytes()
            + self.choice.as_ref().map_or(0, |choice| choice.rules.heap_bytes())
    }
}

/// What looking for devices may take on one node: what one decision may take for it is shared by the
/// kinds of nodes, or by the nodes that slices name, or by all of them. So many scores take as much each.
fn units_a_node(
    claims: &[Arc<ResourceClaim>],
    scores: u64,
    answers: &Answers,
    (cluster, followed): (&Cluster, Followed),
) -> u64 {
    let nodes = cluster.nodes().len();
    let all_counters = !followed.traits().repairs_allocator;
    let searches = match answers.searches() {
        Some(searches) => searches.min(nodes),
        None if answers.has_resources() => nodes,
        None => cluster.objects().device_slices.nodes_reached(nodes, all_counters),
    };
    units_of_devices(searches) / (times(claims) + scores)
}

/// How often a node may be asked for devices in one decision: a list of alternatives is scored, and of
/// claims that are allocated it is asked which keep the pod from its nodes.
fn times(claims: &[Arc<ResourceClaim>]) -> u64 {
    let is_list = |wanted: &Wanted| matches!(wanted, Wanted::FirstAvailable(_));
    let open = || claims.iter().filter(|claim| claim.allocation.is_none());
    let has_list =
        claims.iter().any(|claim| claim.requests.iter().any(|request| is_list(&request.wanted)));
    let is_again = open().next().is_some() && (has_list || open().count() < claims.len());
    if is_again { 2 } else { 1 }
}

/// Whether the allocation of a claim is decided, but not seen by the API server yet.
fn is_in_flight(claim: &ResourceClaim, cluster: &Cluster) -> bool {
    let confirmed = cluster.confirmed_resource_claim(&claim.meta.namespace, &claim.meta.name);
    confirmed.is_some_and(|confirmed| confirmed.allocation.is_none())
}

fn has_classes(claim: &ResourceClaim, cluster: &Cluster, followed: Followed) -> Result<(), Status> {
    let is_there = |class: &str| cluster.objects().device_classes.get("", class).is_some();
    let missing = |request: &str, class: &str| {
        let why = format!("request {request}: device class {class} does not exist");
        Err(Status::unresolvable(why))
    };
    for request in claim.requests.iter() {
        match &request.wanted {
            Wanted::Exactly(ask) if is_there(&ask.class) => {}
            Wanted::Exactly(ask) => return missing(&request.name, &ask.class),
            Wanted::FirstAvailable(_) if !followed.has(Gate::DRAPrioritizedList) => {
                let (key, name) = (key_of(claim), &request.name);
                let why = format!(
                    "resource claim {key}, request {name}: has subrequests, but the DRAPrioritizedList feature is disabled"
                );
                return Err(Status::unresolvable(why));
            }
            Wanted::FirstAvailable(asks) => {
                if let Some(ask) = asks.iter().find(|ask| !is_there(&ask.class)) {
                    return missing(&format!("{}/{}", request.name, ask.name), &ask.class);
                }
            }
            Wanted::Unknown => {
                let (key, name) = (key_of(claim), &request.name);
                let why = format!("resource claim {key}, request {name}: unknown request type");
                return Err(Status::unresolvable(why));
            }
        }
    }
    Ok(())
}

/// The resources that a pod asks for and that devices may stand behind.
pub(super) fn asked(pod: &Pod) -> impl Iterator<Item = &(Name, i64)> {
    let scalars = pod.requests().fit.scalars.iter();
    scalars.filter(|(name, amount)| *amount != 0 && may_be_devices(name))
}

fn extended(pod: &Pod, cluster: &Cluster, followed: Followed) -> Option<Extended> {
    let with_class = |(name, _): &(Name, i64)| {
        (name.clone(), class_behind(name, cluster, followed).map(Box::from))
    };
    let asked: Vec<(Name, Option<Box<str>>)> = asked(pod).map(with_class).collect();
    if !asked.iter().any(|(_, class)| class.is_some()) {
        return None;
    }
    let objects = cluster.objects();
    let made = objects.devices_in_use.made_for(&pod.uid).iter();
    let made = made.filter_map(|name| objects.resource_claims.get(pod.namespace(), name));
    let own = made.filter(|claim| is_special_of(claim, pod));
    let left = own.min_by(|left, right| left.meta.name.cmp(&right.meta.name)).map(Arc::clone);
    Some(Extended { left, asked, containers: pod.template.containers.clone() })
}

/// How far the devices of an allocated claim are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    Waiting,
    Failed,
}

fn readiness(claim: &ResourceClaim, allocation: &Allocation) -> Readiness {
    for device in allocation.devices.iter().filter(|device| !device.binding_conditions.is_empty()) {
        let status = claim.device_statuses.iter().find(|status| {
            status.driver == device.driver
                && status.pool == device.pool
                && status.device == device.device
                && status.share_id == device.share_id
        });
        let Some(status) = status else { return Readiness::Waiting };
        let is_true =
            |condition: &str| status.true_conditions.iter().any(|have| **have == *condition);
        if device.binding_failure_conditions.iter().any(|condition| is_true(condition)) {
            return Readiness::Failed;
        }
        if !device.binding_conditions.iter().all(|condition| is_true(condition)) {
            return Readiness::Waiting;
        }
    }
    Readiness::Ready
}
