//! How many decisions a second the cycle makes: `cargo run --release -p kpolicy-engine --example
//! decisions -- [nodes] [pods] [workload…]`.
//!
//! Nodes of 32 cpu, 128 Gi and 110 pods in ten zones, one pod on each; pods of 50 apps, decided and
//! assumed one at a time, all nodes scored. `mixed` pods differ in their requests; the others are equal
//! but for their app, and ask for what their workload is named after.

#![allow(clippy::expect_used, clippy::panic, reason = "a tool may end with a panic")]

use std::sync::Arc;
use std::time::Instant;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Event, Object, Still, Verdict};
use kpolicy_engine::model::{
    Affinity, Container, Labels, Meta, Node, NodeSelector, NodeSelectorTerm, Pod, PodAffinityTerm,
    Quantity, Requirement, ResourceList, Selector, SelectorOperator, SpreadConstraint,
};
use kpolicy_engine::rules::catalog;
use serde_json::{Value, json};

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const WORKLOADS: [&str; 7] =
    ["basic", "mixed", "nodeaffinity", "spread", "antiaffinity", "affinity", "prefaffinity"];
const GIB: i64 = 1 << 30;
const MIB: i64 = 1 << 20;
const ZONES: usize = 10;
const APPS: usize = 50;
/// Pods decided in one call.
const BATCH: usize = 100;

fn amounts(cpu_milli: i64, memory: i64, pods: Option<i64>) -> ResourceList {
    let cpu = Quantity::from_nanos(i128::from(cpu_milli) * 1_000_000);
    let fixed = [("cpu", cpu), ("memory", Quantity::from_units(memory))];
    fixed.into_iter().chain(pods.map(|pods| ("pods", Quantity::from_units(pods)))).collect()
}

fn node(index: usize) -> Node {
    let name = format!("node-{index:06}");
    let labels: Labels = [
        (HOST.to_owned(), name.clone()),
        (ZONE.to_owned(), format!("zone-{}", index % ZONES)),
        ("disk".to_owned(), if index.is_multiple_of(2) { "ssd" } else { "hdd" }.to_owned()),
    ]
    .into_iter()
    .collect();
    let allocatable = amounts(32_000, 128 * GIB, Some(110));
    Node {
        meta: Meta { uid: name.as_str().into(), name: name.into(), labels, ..Meta::default() },
        capacity: allocatable.clone(),
        allocatable,
        ..Node::default()
    }
}

fn pod(name: &str, index: usize, cpu_milli: i64, memory: i64) -> Pod {
    let labels: Labels = [("app", format!("app-{}", index % APPS))].into_iter().collect();
    let container =
        Container { requests: amounts(cpu_milli, memory, None), ..Container::default() };
    Pod {
        meta: Meta {
            namespace: "default".into(),
            name: name.into(),
            uid: name.into(),
            labels,
            ..Meta::default()
        },
        containers: [container].into(),
        ..Pod::default()
    }
}

fn is_in(key: &str, value: &str) -> Requirement {
    Requirement { key: key.into(), operator: SelectorOperator::In, values: [value.into()].into() }
}

fn own_app(pod: &Pod) -> Selector {
    let app = pod.meta.labels.get("app").unwrap_or_default();
    Selector { requirements: [is_in("app", app)].into() }
}

fn term(pod: &Pod, key: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        label_selector: Some(own_app(pod)),
        topology_key: key.into(),
        ..PodAffinityTerm::default()
    }
}

fn constraint(pod: &Pod, key: &str, is_hard: bool) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: if is_hard { 5 } else { 1 },
        topology_key: key.into(),
        hard: is_hard,
        label_selector: Some(own_app(pod)),
        match_label_keys: [].into(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    }
}

/// Asks for what the workload is about.
fn ask(workload: &str, pod: &mut Pod) {
    let mut affinity = Affinity::default();
    match workload {
        "nodeaffinity" => {
            let ssd = NodeSelectorTerm {
                match_expressions: [is_in("disk", "ssd")].into(),
                ..NodeSelectorTerm::default()
            };
            affinity.node_required = Some(NodeSelector { terms: [ssd].into() });
        }
        "spread" => {
            pod.spread_constraints =
                [constraint(pod, ZONE, true), constraint(pod, HOST, false)].into();
        }
        "antiaffinity" => affinity.anti_required = [term(pod, HOST)].into(),
        "affinity" => affinity.pod_required = [term(pod, ZONE)].into(),
        "prefaffinity" => affinity.anti_preferred = [(1, term(pod, HOST))].into(),
        _ => return,
    }
    pod.affinity = Some(Box::new(affinity));
}

fn program() -> Value {
    let filters = [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
    ];
    let scores = [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    ];
    let filters: Vec<Value> = filters
        .iter()
        .filter(|name| catalog::filter(name).is_some())
        .map(|name| json!({"name": name, "builtin": name, "args": {}}))
        .collect();
    let scores: Vec<Value> = scores
        .iter()
        .filter(|(name, _)| catalog::score(name).is_some())
        .map(|(name, weight)| json!({"name": name, "builtin": name, "weight": weight, "args": {}}))
        .collect();
    json!({"format": 1, "hash": "bench", "policies": [], "tieBreak": "random", "profiles": [
        {"schedulerName": "*", "filters": filters, "scores": scores}]})
}

/// CPU time of this thread, where the system tells (else 0): what a busy machine does not distort.
fn worked_ns() -> f64 {
    let printed = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    printed.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

fn run(workload: &str, nodes: usize, pods: usize) {
    let mut engine = Engine::new(1);
    engine.load(&program()).expect("the program is good");
    let mut applied = Applied::default();
    let mut apply = |object| engine.apply(Event::Present(object), 0, &mut applied);
    for index in 0..nodes {
        apply(Object::Node(Arc::new(node(index))));
        let mut placed = pod(&format!("old-{index}"), index, 100, 256 * MIB);
        ask(workload, &mut placed);
        placed.node_name = format!("node-{index:06}").into();
        apply(Object::Pod(Arc::new(placed)));
    }
    let uids: Vec<Arc<str>> = (0..pods).map(|index| format!("new-{index}").into()).collect();
    for (index, uid) in uids.iter().enumerate() {
        let step = i64::try_from(index).unwrap_or(0);
        let (cpu, memory) = match workload {
            "mixed" => (50 + 10 * (step % 40), (64 + step * 7 % 1024) * MIB),
            _ => (100, 256 * MIB),
        };
        let mut pending = pod(uid, index, cpu, memory);
        ask(workload, &mut pending);
        apply(Object::Pod(Arc::new(pending)));
    }
    let (start, worked) = (Instant::now(), worked_ns());
    let mut placed = 0;
    for batch in uids.chunks(BATCH) {
        let decisions = engine.schedule(batch, 0, &Still).decisions;
        placed += decisions.iter().filter(|one| one.verdict == Verdict::Placed).count();
    }
    let seconds = start.elapsed().as_secs_f64();
    let count = f64::from(u32::try_from(pods).unwrap_or(u32::MAX));
    let rate = count / seconds;
    let worked_us = (worked_ns() - worked) / 1e3 / count;
    println!(
        "{workload:12} nodes {nodes:7}  pods {pods:7}  placed {placed:7}  {rate:9.0} decisions/s  {worked_us:8.1} µs of CPU each"
    );
    let statistics = engine.statistics();
    println!(
        "             shapes {}  columns {}  cache {} MB  hits {}  misses {}",
        statistics.cached_shapes,
        statistics.cached_columns,
        statistics.cached_bytes >> 20,
        statistics.shape_hits,
        statistics.shape_misses
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, named): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.parse::<usize>().is_ok());
    let number = |position: usize, default: usize| {
        numbers.get(position).and_then(|number| number.parse().ok()).unwrap_or(default)
    };
    for workload in WORKLOADS {
        if named.is_empty() || named.iter().any(|name| *name == workload) {
            run(workload, number(0, 5_000), number(1, 20_000));
        }
    }
}
