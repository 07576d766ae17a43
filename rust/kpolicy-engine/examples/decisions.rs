//! How many decisions a second the cycle makes: `cargo run --release -p kpolicy-engine --example
//! decisions -- [nodes] [pods] [workload…]`.
//!
//! Nodes of 32 cpu, 128 Gi and 110 pods in ten zones, one pod on each; pods of 50 apps, equal or mixed
//! in their requests, decided and assumed one at a time, all nodes scored.

#![allow(clippy::expect_used, clippy::panic, reason = "a tool may end with a panic")]

use std::sync::Arc;
use std::time::Instant;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Event, Object, Still, Verdict};
use kpolicy_engine::model::{Container, Labels, Meta, Node, Pod, Quantity, ResourceList};
use kpolicy_engine::rules::catalog;
use serde_json::{Value, json};

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
        ("kubernetes.io/hostname".to_owned(), name.clone()),
        ("topology.kubernetes.io/zone".to_owned(), format!("zone-{}", index % ZONES)),
        ("disk".to_owned(), if index % 2 == 0 { "ssd" } else { "hdd" }.to_owned()),
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

fn run(workload: &str, nodes: usize, pods: usize) {
    let mut engine = Engine::new(1);
    engine.load(&program()).expect("the program is good");
    let mut applied = Applied::default();
    let mut apply = |object| engine.apply(Event::Present(object), 0, &mut applied);
    for index in 0..nodes {
        apply(Object::Node(Box::new(node(index))));
        let mut placed = pod(&format!("old-{index}"), index, 100, 256 * MIB);
        placed.node_name = format!("node-{index:06}").into();
        apply(Object::Pod(Box::new(placed)));
    }
    let uids: Vec<Arc<str>> = (0..pods).map(|index| format!("new-{index}").into()).collect();
    for (index, uid) in uids.iter().enumerate() {
        let step = i64::try_from(index).unwrap_or(0);
        let (cpu, memory) = match workload {
            "mixed" => (50 + 10 * (step % 40), (64 + step * 7 % 1024) * MIB),
            _ => (100, 256 * MIB),
        };
        apply(Object::Pod(Box::new(pod(uid, index, cpu, memory))));
    }
    let start = Instant::now();
    let mut placed = 0;
    for batch in uids.chunks(BATCH) {
        let decisions = engine.schedule(batch, 0, &Still).decisions;
        placed += decisions.iter().filter(|one| one.verdict == Verdict::Placed).count();
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = f64::from(u32::try_from(pods).unwrap_or(u32::MAX)) / seconds;
    println!(
        "{workload:8} nodes {nodes:7}  pods {pods:7}  placed {placed:7}  {rate:9.0} decisions/s"
    );
    println!("         {:?}", engine.statistics());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, named): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.parse::<usize>().is_ok());
    let number = |position: usize, default: usize| {
        numbers.get(position).and_then(|number| number.parse().ok()).unwrap_or(default)
    };
    for workload in ["basic", "mixed"] {
        if named.is_empty() || named.iter().any(|name| *name == workload) {
            run(workload, number(0, 5_000), number(1, 20_000));
        }
    }
}
