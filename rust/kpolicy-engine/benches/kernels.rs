//! The kernels of a decision over 5,000 nodes, each by itself: `cargo bench -p kpolicy-engine`.
//!
//! Nodes of 32 cpu in ten zones with a pod on each. A rule is prepared for one pod and asked of all
//! nodes, or of one; counters follow one pod that is put; a whole decision is made and taken back.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark may end with a panic")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Event, Object, Still, Verdict};
use kpolicy_engine::cycle::best::Best;
use kpolicy_engine::model::{
    Affinity, Container, Labels, Meta, Node, NodeSelector, NodeSelectorTerm, Pod, PodAffinityTerm,
    Quantity, Requirement, ResourceList, Selector, SelectorOperator, SpreadConstraint,
};
use kpolicy_engine::program::Program;
use kpolicy_engine::rules::{Code, PreparedFilter, PreparedScore};
use kpolicy_engine::snapshot::{self, Cluster};
use serde_json::{Value, json};

const NODES: usize = 5_000;
const ZONES: usize = 10;
const APPS: usize = 50;
const GIB: i64 = 1 << 30;
const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
/// Expressions that decide as `NodeResourcesFit`.
const FITS: &str = "expression fits";
const ONE_BY_ONE: &str = "expression of resources";

fn amounts(cpu_milli: i64, memory: i64, pods: Option<i64>) -> ResourceList {
    let cpu = Quantity::from_nanos(i128::from(cpu_milli) * 1_000_000);
    let fixed = [("cpu", cpu), ("memory", Quantity::from_units(memory))];
    fixed.into_iter().chain(pods.map(|pods| ("pods", Quantity::from_units(pods)))).collect()
}

fn node(index: usize) -> Node {
    let name = format!("node-{index:06}");
    let zone = format!("zone-{}", index % ZONES);
    let disk = if index.is_multiple_of(2) { "ssd" } else { "hdd" };
    let pairs = [(HOST, name.as_str()), (ZONE, &zone), ("disk", disk)];
    let labels: Labels = pairs.into_iter().collect();
    let allocatable = amounts(32_000, 128 * GIB, Some(110));
    Node {
        meta: Meta { name: name.as_str().into(), labels, ..Meta::default() },
        allocatable,
        ..Node::default()
    }
}

/// `cpu_milli` may make it one of a kind.
fn pod(name: &str, app: usize, cpu_milli: i64) -> Pod {
    let labels: Labels = [("app", format!("app-{}", app % APPS))].into_iter().collect();
    let meta = Meta {
        namespace: "default".into(),
        name: name.into(),
        uid: name.into(),
        labels,
        ..Meta::default()
    };
    let container = Container { requests: amounts(cpu_milli, GIB, None), ..Container::default() };
    Pod { meta, containers: [container].into(), ..Pod::default() }
}

fn is_in(key: &str, value: &str) -> Requirement {
    Requirement { key: key.into(), operator: SelectorOperator::In, values: [value.into()].into() }
}

/// Asks for a disk, a spread over zones and nodes, and to be alone of its app on a node.
fn asking(mut pod: Pod) -> Pod {
    let own = || Some(Selector { requirements: [is_in("app", "app-0")].into() });
    let constraint = |key: &str, is_hard| SpreadConstraint {
        max_skew: 5,
        topology_key: key.into(),
        hard: is_hard,
        label_selector: own(),
        match_label_keys: [].into(),
        min_domains: 1,
        honors_affinity: true,
        honors_taints: false,
    };
    pod.spread_constraints = [constraint(ZONE, true), constraint(HOST, false)].into();
    let ssd = NodeSelectorTerm {
        match_expressions: [is_in("disk", "ssd")].into(),
        ..NodeSelectorTerm::default()
    };
    let apart = PodAffinityTerm {
        label_selector: own(),
        topology_key: HOST.into(),
        ..PodAffinityTerm::default()
    };
    pod.affinity = Some(Box::new(Affinity {
        node_required: Some(NodeSelector { terms: [ssd].into() }),
        anti_required: [apart].into(),
        ..Affinity::default()
    }));
    pod
}

fn old(index: usize) -> Pod {
    let mut pod = pod(&format!("old-{index}"), index, 100);
    pod.node_name = format!("node-{index:06}").into();
    pod
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::default();
    for index in 0..NODES {
        cluster.set_node(node(index));
        cluster.set_pod(old(index));
    }
    cluster.settle_order();
    cluster
}

/// `node.fits(pod)`
fn fits() -> Value {
    json!({"format": 1, "root": 0, "constants": [], "nodes": [
        {"op": "fact", "type": "bool", "fact": "node.fits"}]})
}

/// `node.podCount < node.podLimit`, and for each of three resources
/// `(pod.request(r) <= 0 || pod.request(r) <= node.free(r))`.
fn one_by_one() -> Value {
    let call = |overload: &str, args: [usize; 2]| json!({"op": "call", "type": "bool", "overload": overload, "args": args});
    let fact = |fact: &str, args: &[usize]| json!({"op": "fact", "type": "int", "fact": fact, "args": args});
    let mut nodes = vec![
        fact("node.podCount", &[]),
        fact("node.podLimit", &[]),
        call("less_int64", [0, 1]),
        json!({"op": "constant", "type": "int", "constant": 3}),
    ];
    let mut holds = vec![2];
    for resource in 0..3 {
        let at = nodes.len();
        nodes.push(json!({"op": "constant", "type": "string", "constant": resource}));
        nodes.push(fact("pod.request", &[at]));
        nodes.push(call("less_equals_int64", [at + 1, 3]));
        nodes.push(fact("node.free", &[at]));
        nodes.push(call("less_equals_int64", [at + 1, at + 3]));
        nodes.push(json!({"op": "or", "type": "bool", "args": [at + 2, at + 4]}));
        holds.push(at + 5);
    }
    nodes.push(json!({"op": "and", "type": "bool", "args": holds}));
    let constants = json!(["cpu", "memory", "ephemeral-storage", 0]);
    json!({"format": 1, "root": nodes.len() - 1, "constants": constants, "nodes": nodes})
}

fn expressions() -> Vec<Value> {
    [(FITS, fits()), (ONE_BY_ONE, one_by_one())]
        .map(|(name, expression)| json!({"name": name, "expression": expression}))
        .into()
}

/// Built-ins, and filters beside them.
fn document(expressions: Vec<Value>) -> Value {
    let filters = [
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "PodTopologySpread",
        "InterPodAffinity",
    ];
    let scores = [
        ("TaintToleration", 3),
        ("NodeResourcesFit", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("NodeResourcesBalancedAllocation", 1),
    ];
    let mut filters: Vec<Value> =
        filters.iter().map(|name| json!({"name": name, "builtin": name, "args": {}})).collect();
    filters.extend(expressions);
    let scores: Vec<Value> = scores
        .iter()
        .map(|(name, weight)| json!({"name": name, "builtin": name, "weight": weight, "args": {}}))
        .collect();
    json!({"format": 1, "hash": "bench", "policies": [], "tieBreak": "random", "profiles": [
        {"schedulerName": "*", "filters": filters, "scores": scores}]})
}

fn prepared_filter(
    program: &Program,
    name: &str,
    pod: &snapshot::Pod,
    cluster: &Cluster,
) -> Box<dyn PreparedFilter> {
    let filters = &program.profiles.first().expect("a profile").filters;
    let rule = filters.iter().find(|filter| *filter.name == *name).expect("it is in the profile");
    rule.prepare(pod, cluster).expect("it has a say")
}

fn prepared_score(
    program: &Program,
    name: &str,
    pod: &snapshot::Pod,
    cluster: &Cluster,
) -> Box<dyn PreparedScore> {
    let scores = &program.profiles.first().expect("a profile").scores;
    let rule = scores.iter().find(|score| *score.name == *name).expect("it is in the profile");
    rule.prepare(pod, cluster).expect("it has a say")
}

fn filters(criterion: &mut Criterion) {
    let mut cluster = cluster();
    let program = Program::load(&document(expressions())).expect("the program is good");
    let pod = cluster.row(asking(pod("new", 0, 100)));
    let mut codes = vec![Code::PASS; cluster.nodes().slots()];
    let builtins = ["NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"];
    for name in builtins.into_iter().chain([FITS, ONE_BY_ONE]) {
        let prepared = prepared_filter(&program, name, &pod, &cluster);
        criterion.bench_function(&format!("filter/{name}/all nodes"), |bencher| {
            bencher.iter(|| prepared.check_all(black_box(&cluster), &mut codes));
        });
        let view = cluster.nodes().iter().next().expect("a node");
        criterion.bench_function(&format!("filter/{name}/one node"), |bencher| {
            bencher.iter(|| prepared.check(black_box(&cluster), view));
        });
    }
}

fn scores(criterion: &mut Criterion) {
    let mut cluster = cluster();
    let program = Program::load(&document(Vec::new())).expect("the program is good");
    let pod = cluster.row(pod("new", 0, 100));
    let mut raw = vec![0.0; cluster.nodes().slots()];
    for name in ["NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration"] {
        let prepared = prepared_score(&program, name, &pod, &cluster);
        criterion.bench_function(&format!("score/{name}/all nodes"), |bencher| {
            bencher.iter(|| prepared.raw_all(black_box(&cluster), &mut raw));
        });
    }
}

fn best_node(criterion: &mut Criterion) {
    let slot = cluster().nodes().iter().nth(NODES / 2).expect("a node").slot;
    let totals: Vec<i32> = (0..5_000).map(|index| index * 7_919 % 600).collect();
    let mut best = Best::default();
    criterion.bench_function("best/all totals new", |bencher| {
        bencher.iter(|| best.rewrite(black_box(&totals)));
    });
    criterion.bench_function("best/one total new", |bencher| {
        bencher.iter(|| {
            best.touch(slot, i32::MAX, black_box(&totals));
            best.highest()
        });
    });
    criterion.bench_function("best/all that tie", |bencher| {
        bencher.iter(|| best.tied(black_box(&totals)).count());
    });
}

/// One pod more and one less: what counters do about it.
fn counters(criterion: &mut Criterion) {
    let mut cluster = cluster();
    let program = Program::load(&document(Vec::new())).expect("the program is good");
    let row = cluster.row(asking(pod("new", 0, 100)));
    for name in ["PodTopologySpread", "InterPodAffinity"] {
        let mut prepared = prepared_filter(&program, name, &row, &cluster);
        criterion.bench_function(&format!("counters/{name}/a pod put and taken"), |bencher| {
            bencher.iter(|| {
                let before = cluster.generation();
                cluster.set_pod(old(NODES));
                cluster.remove_pod("old-5000");
                let changes = cluster.log().since(before).expect("they are remembered");
                prepared.refresh(changes, &cluster)
            });
        });
    }
}

fn decisions(criterion: &mut Criterion) {
    let mut engine = Engine::new(1);
    engine.load(&document(Vec::new())).expect("the program is good");
    let mut applied = Applied::default();
    let mut apply =
        |engine: &mut Engine, object| engine.apply(Event::Present(object), 0, &mut applied);
    for index in 0..NODES {
        apply(&mut engine, Object::Node(Arc::new(node(index))));
        apply(&mut engine, Object::Pod(Arc::new(old(index))));
    }
    for (name, is_asking) in [("plain", false), ("asking", true)] {
        let new = pod(name, 0, 100);
        apply(&mut engine, Object::Pod(Arc::new(if is_asking { asking(new) } else { new })));
        let uids: [Arc<str>; 1] = [name.into()];
        let failed = [(Arc::clone(&uids[0]), BindOutcome::Failed)];
        criterion.bench_function(&format!("decision/{name}, made and taken back"), |bencher| {
            bencher.iter(|| {
                let batch = engine.schedule(&uids, 0, &Still);
                assert_eq!(batch.decisions[0].verdict, Verdict::Placed);
                engine.settle(&failed, 0, &mut Applied::default());
            });
        });
    }
    let mut cpu_milli = 100;
    criterion.bench_function("decision/plain of a new shape, made and taken back", |bencher| {
        bencher.iter(|| {
            cpu_milli = 100 + (cpu_milli + 1) % 30_000;
            let uids: [Arc<str>; 1] = ["shaped".into()];
            apply(&mut engine, Object::Pod(Arc::new(pod("shaped", 0, cpu_milli))));
            let batch = engine.schedule(&uids, 0, &Still);
            assert_eq!(batch.decisions[0].verdict, Verdict::Placed);
            let [uid] = uids;
            engine.settle(&[(uid, BindOutcome::Failed)], 0, &mut Applied::default());
        });
    });
}

criterion_group!(kernels, filters, scores, best_node, counters, decisions);
criterion_main!(kernels);
