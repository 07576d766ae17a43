//! Claims, requests and allocations as JSON, for writes and for people.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use crate::model::{
    Allocation, Ask, DeviceRequest, DeviceToleration, Mode, ResourceClaim, Wanted, WrittenQuantity,
};
use crate::rules::Fault;
use crate::rules::decision_work::units_max;
use crate::rules::devices::extended::Mapping;
use crate::rules::devices::{Compared, Place, Supply, Work, key_of};
use crate::snapshot::{Cluster, NodeView, Pod};

use super::DynamicResources;
use super::filter::is_concerned;
use super::judging::Given;
use super::reserve::{Bound, bound};
use super::state::State;

/// What is shown of all nodes may take as much as so many decisions.
const DECISIONS_SHOWN: u64 = 4;

/// Counting what a node has asks every device for every request.
const SUPPLY_TIMES: u64 = 4;

/// How many claims that use devices are named.
const USERS_SHOWN_MAX: usize = 10;

/// What may be shown of a pod's claims.
#[derive(Debug)]
pub(crate) struct Shown {
    state: State,
    pod: Arc<Pod>,
    /// What finding out more may still take on other nodes, in units.
    left: Cell<u64>,
    /// The claims that use each device, made when the first node has too few.
    users: OnceCell<FxHashMap<Place, Vec<String>>>,
}

/// `None`: the pod has nothing to do with devices, or its claims are not ready.
pub(crate) fn shown(rule: &DynamicResources, pod: &Arc<Pod>, cluster: &Cluster) -> Option<Shown> {
    if !is_concerned(pod) {
        return None;
    }
    let state = State::of(rule, pod, cluster).ok()??;
    let left = units_max(cluster.nodes().len()).saturating_mul(DECISIONS_SHOWN).into();
    Some(Shown { state, pod: Arc::clone(pod), left, users: OnceCell::new() })
}

impl Shown {
    /// What a node would give, an entry for each claim that has nothing yet; nothing beyond the units for
    /// it. With the values of a policy's rules, where it chooses among what the node can give.
    pub(crate) fn allocations(
        &self,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> (Vec<Value>, Option<Value>) {
        if self.state.choice.is_some() && self.left.get() < self.state.units_a_node {
            // With less work another allocation might be the best one.
            return (Vec::new(), None);
        }
        let given = self.within(1, |work| self.state.given_as(work, cluster, node));
        let Some((given, compared)) = given else { return (Vec::new(), None) };
        let scores = compared.and_then(|compared| self.compared_json(&compared));
        (given.iter().map(given_json).collect(), scores)
    }

    /// What the parts of the rules about devices give for what these nodes can give.
    pub(crate) fn seen<'n>(
        &self,
        cluster: &Cluster,
        nodes: impl Iterator<Item = NodeView<'n>>,
    ) -> Vec<Value> {
        let choice = self.state.choice.as_deref();
        choice.map_or_else(Vec::new, |choice| self.state.seen(choice, cluster, nodes))
    }

    fn compared_json(&self, compared: &Compared) -> Option<Value> {
        let rules = &self.state.choice.as_deref()?.rules.rules;
        let of = |(place, value): &(usize, Result<f64, Fault>)| {
            let value = value.as_ref().map_or(Value::Null, |value| number(*value));
            (rules.name_of(*place).to_owned(), value)
        };
        let values: Map<String, Value> = compared.worth.values.iter().map(of).collect();
        (!values.is_empty()).then(|| {
            json!({
                "compared": compared.allocations,
                "isComplete": !compared.is_cut,
                "values": values,
            })
        })
    }

    /// Why a node has too few devices, an entry for each request; nothing if it has enough, and beyond
    /// the units for it.
    pub(crate) fn supplies(&self, cluster: &Cluster, node: NodeView<'_>) -> Vec<Value> {
        let supplies = self.within(SUPPLY_TIMES, |work| self.state.supplies(work, cluster, node));
        supplies.iter().map(|supply| self.supply_json(supply, cluster)).collect()
    }

    /// Does something that may take so many times what looking for devices may.
    fn within<T>(&self, times: u64, show: impl FnOnce(&mut Work) -> T) -> T {
        let units = self.state.units_a_node.saturating_mul(times).min(self.left.get());
        let mut work = Work::of(units);
        let shown = show(&mut work);
        self.left.set(self.left.get() - (units - work.left()));
        shown
    }

    fn supply_json(&self, supply: &Supply, cluster: &Cluster) -> Value {
        let users = self.users.get_or_init(|| users(cluster));
        let of_device = |place: &Place| users.get(place).into_iter().flatten();
        let mut used_by: Vec<&String> = supply.in_use.iter().flat_map(of_device).collect();
        used_by.sort();
        used_by.dedup();
        used_by.truncate(USERS_SHOWN_MAX);
        json!({
            "claim": supply.claim,
            "request": supply.request,
            "wanted": supply.wanted,
            "isAll": supply.is_all,
            "seen": supply.seen,
            "accepted": supply.accepted,
            "refusedBy": supply.refused,
            "inUse": supply.in_use.len(),
            "usedBy": used_by,
            "tainted": supply.tainted,
            "short": supply.short,
            "outOfCounters": supply.out_of_counters,
            "free": supply.free,
        })
    }

    /// What would be written for the pod on a node.
    pub(crate) fn bind(&self, cluster: &Cluster, node: NodeView<'_>) -> Value {
        let bound = bound(&self.state, &self.pod, cluster, node);
        let changed = bound.iter().filter(|claim| claim.changes());
        let mut claims: Vec<(String, Value)> = changed
            .map(|claim| match claim.special {
                Some(_) => (self.special_key(), self.claim_json(claim)),
                None => (key_of(&claim.after), self.claim_json(claim)),
            })
            .collect();
        claims.sort_by(|left, right| left.0.cmp(&right.0));
        let claims: Vec<Value> = claims.into_iter().map(|(_, shown)| shown).collect();
        let mut shown = Map::new();
        shown.insert("node".into(), (&*node.node.name).into());
        if !claims.is_empty() {
            shown.insert("claims".into(), claims.into());
        }
        if bound.iter().any(|claim| claim.is_to_wait(self.state.followed)) {
            shown.insert("waits".into(), true.into());
        }
        let special = bound.iter().find_map(|claim| claim.special.as_ref());
        if let Some(mappings) = special {
            let name = self.special_name();
            let status =
                json!({"resourceClaimName": name, "requestMappings": mappings_json(mappings)});
            shown.insert("extendedResourceClaimStatus".into(), status);
        }
        shown.into()
    }

    fn special_name(&self) -> String {
        format!("{}-extended-resources-*", self.pod.name)
    }

    fn special_key(&self) -> String {
        format!("{}/{}", &**self.pod.namespace(), self.special_name())
    }

    fn claim_json(&self, bound: &Bound) -> Value {
        let after = &bound.after;
        let mut shown = Map::new();
        if bound.special.is_some() {
            shown.insert("claim".into(), self.special_key().into());
            shown.insert("created".into(), true.into());
            shown.insert("owner".into(), format!("Pod/{}", self.pod.name).into());
            let annotation = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
            shown.insert("annotations".into(), annotation);
            shown.insert("devices".into(), json!({"requests": requests_json(after)}));
        } else {
            shown.insert("claim".into(), key_of(after).into());
        }
        if !after.finalizers.is_empty() {
            shown.insert("finalizers".into(), texts(&after.finalizers));
        }
        shown.insert("status".into(), status_json(after));
        shown.into()
    }
}

/// Whole numbers without a fraction.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn number(value: f64) -> Value {
    if value.trunc() == value && value.abs() < 9e15 { (value as i64).into() } else { value.into() }
}

/// The claims that use each device.
fn users(cluster: &Cluster) -> FxHashMap<Place, Vec<String>> {
    let mut users: FxHashMap<Place, Vec<String>> = FxHashMap::default();
    for claim in cluster.objects().resource_claims.iter() {
        for device in claim.allocation.iter().flat_map(|own| own.devices.iter()) {
            let place = (device.driver.clone(), device.pool.clone(), device.device.clone());
            users.entry(place).or_default().push(key_of(claim));
        }
    }
    users
}

/// A status, without the time of the allocation.
pub(super) fn status_json(claim: &ResourceClaim) -> Value {
    let mut status = Map::new();
    if let Some(allocation) = &claim.allocation {
        status.insert("allocation".into(), allocation_json(allocation));
    }
    if !claim.reserved_for.is_empty() {
        let consumers = claim.reserved_for.iter().map(|consumer| {
            let mut shown = Map::new();
            if !consumer.group.is_empty() {
                shown.insert("apiGroup".into(), (&*consumer.group).into());
            }
            shown.insert("resource".into(), (&*consumer.resource).into());
            shown.insert("name".into(), (&*consumer.name).into());
            shown.insert("uid".into(), (&*consumer.uid).into());
            Value::from(shown)
        });
        status.insert("reservedFor".into(), consumers.collect());
    }
    if let Some(text) = &claim.device_statuses_text {
        status.insert("devices".into(), parsed(text));
    }
    status.into()
}

fn given_json(given: &Given) -> Value {
    let mut shown = Map::new();
    shown.insert("claim".into(), key_of(&given.claim).into());
    shown.insert("result".into(), allocation_json(&given.allocation));
    if let Some(mappings) = &given.special {
        if !given.claim.requests.is_empty() {
            shown.insert("requests".into(), requests_json(&given.claim));
        }
        if !mappings.is_empty() {
            shown.insert("mappings".into(), mappings_json(mappings));
        }
    }
    shown.into()
}

pub(super) fn allocation_text(allocation: &Allocation) -> Box<str> {
    allocation_json(allocation).to_string().into()
}

pub(super) fn requests_text(claim: &ResourceClaim) -> Box<str> {
    requests_json(claim).to_string().into()
}

pub(super) fn mappings_text(mappings: &[Mapping]) -> Box<str> {
    mappings_json(mappings).to_string().into()
}

fn mappings_json(mappings: &[Mapping]) -> Value {
    let one = |mapping: &Mapping| {
        json!({
            "containerName": mapping.container,
            "resourceName": mapping.resource,
            "requestName": mapping.request,
        })
    };
    mappings.iter().map(one).collect()
}

fn requests_json(claim: &ResourceClaim) -> Value {
    let one = |request: &DeviceRequest| match &request.wanted {
        Wanted::Exactly(Ask { class, mode: Mode::Exact(count), .. }) => {
            let mode = "ExactCount";
            let exactly = json!({"deviceClassName": class, "allocationMode": mode, "count": count});
            json!({"name": request.name, "exactly": exactly})
        }
        _ => json!({"name": request.name}),
    };
    claim.requests.iter().map(one).collect()
}

fn allocation_json(allocation: &Allocation) -> Value {
    let mut devices = Map::new();
    let results = allocation.devices.iter().map(|device| {
        let mut shown = Map::new();
        shown.insert("request".into(), (&*device.request).into());
        shown.insert("driver".into(), (&*device.driver).into());
        shown.insert("pool".into(), (&*device.pool).into());
        shown.insert("device".into(), (&*device.device).into());
        if device.is_admin {
            shown.insert("adminAccess".into(), true.into());
        }
        if !device.tolerations.is_empty() {
            let tolerations = device.tolerations.iter().map(toleration_json);
            shown.insert("tolerations".into(), tolerations.collect());
        }
        if !device.share_id.is_empty() {
            shown.insert("shareID".into(), (&*device.share_id).into());
        }
        if let Some(consumed) = &device.consumed {
            let one = |(name, amount): &(Box<str>, WrittenQuantity)| {
                (name.to_string(), Value::from(amount.text()))
            };
            let consumed: Map<String, Value> = consumed.iter().map(one).collect();
            shown.insert("consumedCapacity".into(), consumed.into());
        }
        for (name, conditions) in [
            ("bindingConditions", &device.binding_conditions),
            ("bindingFailureConditions", &device.binding_failure_conditions),
        ] {
            if !conditions.is_empty() {
                shown.insert(name.into(), texts(conditions));
            }
        }
        Value::from(shown)
    });
    let results: Vec<Value> = results.collect();
    if !results.is_empty() {
        devices.insert("results".into(), results.into());
    }
    let configs = allocation.config.iter().map(|config| {
        let mut shown = parsed(&config.text).as_object().cloned().unwrap_or_default();
        let source = if config.is_from_class { "FromClass" } else { "FromClaim" };
        shown.insert("source".into(), source.into());
        if !config.requests.is_empty() {
            shown.insert("requests".into(), texts(&config.requests));
        }
        Value::from(shown)
    });
    let configs: Vec<Value> = configs.collect();
    if !configs.is_empty() {
        devices.insert("config".into(), configs.into());
    }
    let mut shown = Map::new();
    shown.insert("devices".into(), devices.into());
    if let Some(written) = &allocation.node_selector {
        shown.insert("nodeSelector".into(), parsed(&written.text));
    }
    shown.into()
}

fn toleration_json(toleration: &DeviceToleration) -> Value {
    let mut shown = Map::new();
    for (name, text) in [
        ("key", &toleration.key),
        ("operator", &toleration.operator),
        ("value", &toleration.value),
        ("effect", &toleration.effect),
    ] {
        if !text.is_empty() {
            shown.insert(name.into(), (&**text).into());
        }
    }
    if let Some(seconds) = toleration.seconds {
        shown.insert("tolerationSeconds".into(), seconds.into());
    }
    shown.into()
}

fn texts(texts: &[Box<str>]) -> Value {
    texts.iter().map(|text| Value::from(&**text)).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
