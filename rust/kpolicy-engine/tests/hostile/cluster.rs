//! The cluster that is attacked, and what one decision in it takes.

use std::sync::Arc;
use std::time::Duration;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Batch, BindOutcome, Decision, Event, Still};
use kpolicy_engine::model::{Kind, Meta};
use kpolicy_engine::rules::decision_work::DecisionWork;
use peakmem_alloc::PeakMemAllocTrait;
use serde_json::{Value, json};

use crate::{ALLOCATOR, PEAK, number, support};

pub(crate) const NODES: usize = 5_000;
/// What an API server takes of an object at most.
pub(crate) const OBJECT_BYTES_MAX: usize = 3 << 19;
/// What a decision may hold, and what may be left of a pod once it is deleted.
pub(crate) const BYTES_MAX: usize = 32 << 20;
/// Labels that every node has besides its name and zone, with four values each.
pub(crate) const COMMON_LABELS: usize = 20;
/// Pods that run already, of so many applications.
const PLACED: usize = 5_000;
const APPLICATIONS: usize = 500;
/// Of so many decisions the quickest is printed, where the environment asks for attacks.
const DECISIONS: usize = 8;

pub(crate) fn empty_cluster(program: &Value) -> Engine {
    let mut engine = support::loaded(1, program);
    let node = |index: usize| {
        let name = format!("node-{index:05}");
        let mut labels = json!({"kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("zone-{}", index % 10)});
        for label in 0..COMMON_LABELS {
            labels[format!("common{label:02}")] = json!(format!("v{}", (index >> label) % 4));
        }
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": "ours", "effect": "PreferNoSchedule"}]},
            "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
                "images": [{"names": [format!("image-{}:1", index % 7)], "sizeBytes": 1_000_000}]}})
    };
    let nodes: Vec<Value> = (0..NODES).map(node).collect();
    support::apply(&mut engine, &json!({"apiVersion": "v1", "kind": "List", "items": nodes}));
    engine
}

/// With ordinary pods of many applications on its nodes.
pub(crate) fn busy_cluster(program: &Value) -> Engine {
    let mut engine = empty_cluster(program);
    let placed = |index: usize| {
        let mut object = pod(&format!("placed-{index}"), json!({"nodeName": node_name(index)}));
        object["metadata"]["labels"] = json!({"app": format!("app-{}", index % APPLICATIONS)});
        object["status"] = json!({"phase": "Running"});
        object
    };
    let pods: Vec<Value> = (0..PLACED).map(placed).collect();
    support::apply(&mut engine, &json!({"apiVersion": "v1", "kind": "List", "items": pods}));
    engine
}

pub(crate) fn node_name(index: usize) -> String {
    format!("node-{:05}", index % NODES)
}

pub(crate) fn pod(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}}})
}

fn scheduled(engine: &mut Engine, uids: &[&str]) -> Batch {
    let uids: Vec<Arc<str>> = uids.iter().map(|uid| (*uid).into()).collect();
    engine.schedule(&uids, 0, &Still)
}

/// Deletes a pod, placed or pending.
pub(crate) fn delete(engine: &mut Engine, uid: &str) {
    let meta = Meta { namespace: "d".into(), name: uid.into(), uid: uid.into(), ..Meta::default() };
    engine.apply(Event::Gone(Kind::Pod, Box::new(meta)), 0, &mut Applied::default());
}

/// The units that judging a pod's spec takes; 0 for a pod that is not there.
pub(crate) fn spec_units(engine: &Engine, uid: &str) -> u64 {
    let cluster = engine.cluster();
    cluster.pods().get(uid).map_or(0, |entry| DecisionWork::of(&entry.pod, cluster).units())
}

/// The units that expressions of the program took so far.
pub(crate) fn expression_units(engine: &Engine) -> u64 {
    let profiles = engine.program().profiles.iter();
    profiles.flat_map(|profile| &profile.counts).map(|(_, counts)| counts.units()).sum()
}

fn units_while_judging(engine: &Engine) -> u64 {
    expression_units(engine) + engine.cluster().units_of_devices()
}

/// What the engine and this test have allocated now.
pub(crate) fn allocated_bytes() -> usize {
    ALLOCATOR.allocated()
}

pub(crate) const fn mib(bytes: usize) -> usize {
    bytes >> 20
}

/// What one decision took.
pub(crate) struct Taken {
    pub decision: Decision,
    pub units: u64,
    /// Of the processor, without waiting for it; of several decisions the least.
    pub time: Duration,
    /// The most that was allocated during the decision, besides what was before.
    pub peak_bytes: usize,
}

/// Decides about a pod that is there.
pub(crate) fn decide(engine: &mut Engine, uid: &str) -> Taken {
    let spent_before = units_while_judging(engine);
    let spec_units = spec_units(engine, uid);
    PEAK.reset_peak_memory();
    let began = support::processor_time();
    let mut batch = scheduled(engine, &[uid]);
    let time = support::processor_time_since(began);
    let peak_bytes = PEAK.get_peak_memory();
    let decision = batch.decisions.pop().expect("of any pods one is decided");
    let units = spec_units + units_while_judging(engine) - spent_before;
    Taken { decision, units, time, peak_bytes }
}

/// Decides about a pod that is there as often as its time is measured, each time without what earlier
/// decisions found out about it: what else the machine does adds to the time of one decision, and
/// rarely to all. The rest is that of the first one.
pub(crate) fn decide_often(engine: &mut Engine, program: &Value, uid: &str) -> Taken {
    let mut first = decide(engine, uid);
    let times = if number("KPOLICY_ATTACKS", 0) > 0 { DECISIONS } else { 1 };
    for _ in 1..times {
        undo(engine, uid);
        assert!(engine.load(program).is_ok());
        let again = decide(engine, uid);
        assert_eq!(again.decision.verdict, first.decision.verdict, "{}", again.decision.message);
        first.time = first.time.min(again.time);
    }
    first
}

fn undo(engine: &mut Engine, uid: &str) {
    engine.settle(&[(uid.into(), BindOutcome::Failed)], 0, &mut Applied::default());
}

/// The placement of a pod is undone, as if its bind had failed; it is deleted.
pub(crate) fn undo_and_delete(engine: &mut Engine, uid: &str) {
    undo(engine, uid);
    delete(engine, uid);
}
