//! Measures how long the search for victims takes: `cargo run --release -p kpolicy-engine --example
//! preemptions -- [nodes] [pods on each] [workload…]`.
//!
//! Full nodes of 32 cores in ten zones; a pod that needs a quarter of a node. Prints the
//! microseconds of the fastest of several decisions: without preemption, and with a search for 100
//! candidates, for a tenth of the nodes, and over all nodes.

#![allow(clippy::expect_used, clippy::panic, reason = "a tool may end with a panic")]

use std::sync::Arc;
use std::time::Instant;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Event, Object, Still};
use kpolicy_engine::model::{
    Affinity, Container, DisruptionBudget, Kind, Labels, Meta, Node, Pod, PodAffinityTerm,
    Quantity, Requirement, ResourceList, Selector, SelectorOperator,
};
use serde_json::{Value, json};

const ZONES: usize = 10;
const APPS: usize = 50;
const CORES: usize = 32;
const ROUNDS: u32 = 20;
const WORKLOADS: [&str; 4] = ["basic", "budgets", "antiaffinity", "hopeless"];

fn cores(count: usize) -> ResourceList {
    let nanos = i128::try_from(count).unwrap_or(i128::MAX) * 1_000_000_000;
    [("cpu", Quantity::from_nanos(nanos)), ("pods", Quantity::from_units(110))]
        .into_iter()
        .collect()
}

fn meta(name: &str, labels: &[(&str, String)]) -> Meta {
    let labels: Labels = labels.iter().map(|(key, value)| (*key, value.as_str())).collect();
    Meta { namespace: "red".into(), name: name.into(), uid: name.into(), labels, ..Meta::default() }
}

fn node(index: usize) -> Object {
    let name = format!("node-{index:06}");
    let labels = [
        ("kubernetes.io/hostname", name.clone()),
        ("topology.kubernetes.io/zone", format!("zone-{}", index % ZONES)),
    ];
    let meta = Meta { namespace: "".into(), ..meta(&name, &labels) };
    Object::Node(Arc::new(Node { meta, allocatable: cores(CORES), ..Node::default() }))
}

fn selector(app: usize) -> Selector {
    let values = [format!("app-{app}").into()].into();
    let requirement = Requirement { key: "app".into(), operator: SelectorOperator::In, values };
    Selector { requirements: [requirement].into() }
}

fn pod(name: &str, index: usize, count: usize) -> Pod {
    let container = Container { requests: cores(count), ..Container::default() };
    Pod {
        meta: meta(name, &[("app", format!("app-{}", index % APPS))]),
        containers: [container].into(),
        start_seconds: i64::try_from(index).ok(),
        ..Pod::default()
    }
}

fn spaced(mut pod: Pod, app: usize) -> Pod {
    let term = PodAffinityTerm {
        label_selector: Some(selector(app)),
        topology_key: "kubernetes.io/hostname".into(),
        ..PodAffinityTerm::default()
    };
    pod.affinity = Some(Box::new(Affinity { anti_required: [term].into(), ..Affinity::default() }));
    pod
}

fn budget(app: usize) -> Object {
    Object::PodDisruptionBudget(Arc::new(DisruptionBudget {
        meta: meta(&format!("app-{app}"), &[]),
        selector: Some(selector(app)),
        disruptions_allowed: i32::from(app.is_multiple_of(2)),
        disrupted_pods: [].into(),
    }))
}

fn program(preemption: &Value) -> Value {
    let filters: Vec<Value> = [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
    ]
    .iter()
    .map(|name| json!({"name": name, "builtin": name, "args": {}}))
    .collect();
    json!({"format": 1, "hash": "bench", "policies": [], "tieBreak": "random", "profiles": [
        {"schedulerName": "*", "filters": filters, "scores": [], "preemption": preemption}]})
}

fn apply(engine: &mut Engine, event: Event) {
    engine.apply(event, 0, &mut Applied::default());
}

/// The best of some rounds, in which a fresh pod of a known shape finds no node.
fn measure(engine: &mut Engine, workload: &str) -> (f64, usize) {
    let uid: Arc<str> = "preemptor".into();
    let (mut best, mut victims) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let wanted = if workload == "hopeless" { CORES } else { CORES / 4 };
        let mut fresh = Pod { priority: 10, ..pod(&uid, 0, wanted) };
        if workload == "antiaffinity" {
            fresh = spaced(fresh, 0);
        }
        apply(engine, Event::Present(Object::Pod(Arc::new(fresh))));
        let start = Instant::now();
        let batch = engine.schedule(std::slice::from_ref(&uid), 0, &Still);
        best = best.min(start.elapsed().as_secs_f64() * 1e6);
        victims = batch.decisions.first().map_or(0, |decision| decision.victims.len());
        apply(engine, Event::Gone(Kind::Pod, Box::new(meta(&uid, &[]))));
    }
    (best, victims)
}

fn run(workload: &str, nodes: usize, pods_each: usize) {
    let enough = |percentage: i64, absolute: usize| {
        json!({"policy": "LowerPriority", "minCandidateNodesPercentage": percentage,
               "minCandidateNodesAbsolute": absolute})
    };
    let searches = [json!({"policy": "Never"}), enough(0, 100), enough(10, 1), enough(100, nodes)];
    let mut engine = Engine::new(1);
    for index in 0..nodes {
        apply(&mut engine, Event::Present(node(index)));
    }
    if workload == "budgets" {
        for app in 0..APPS {
            apply(&mut engine, Event::Present(budget(app)));
        }
    }
    for index in 0..nodes * pods_each {
        let (on, app) = (index % nodes, index / nodes);
        let mut placed = pod(&format!("pod-{index}"), app, CORES / pods_each.max(1));
        placed.node_name = format!("node-{on:06}").into();
        if workload == "hopeless" && app == 0 {
            placed.priority = 100;
        }
        if workload == "antiaffinity" {
            placed = spaced(placed, app % APPS);
        }
        apply(&mut engine, Event::Present(Object::Pod(Arc::new(placed))));
    }
    let printed: Vec<String> = searches
        .iter()
        .map(|search| {
            assert!(engine.load(&program(search)).is_ok(), "the program is refused");
            let (took_us, victims) = measure(&mut engine, workload);
            format!("{took_us:9.0} us ({victims:2} victims)")
        })
        .collect();
    println!("{workload:13} {}", printed.join("  "));
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |default| args.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (nodes, pods_each) = (number(5_000), number(30));
    let workloads: Vec<String> = args.collect();
    println!("{nodes} nodes, {pods_each} pods on each: never, 100 candidates, a tenth, all");
    for workload in WORKLOADS {
        if workloads.is_empty() || workloads.iter().any(|wanted| wanted == workload) {
            run(workload, nodes, pods_each);
        }
    }
}
