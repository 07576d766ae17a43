//! Claims on devices and what they rest on, decided on 5,000 nodes: within units and memory, or set aside.

use std::hint::black_box;
use std::time::{Duration, Instant};

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Decision, Event, Verdict};
use kpolicy_engine::model::{Kind, Meta};
use kpolicy_engine::rules::decision_work::units_max;
use serde_json::{Value, json};

use crate::cluster::{
    BYTES_MAX, NODES, OBJECT_BYTES_MAX, Taken, allocated_bytes, decide, decide_often,
    empty_cluster, mib, pod, undo_and_delete,
};
use crate::device_cases::{
    Case, Selectors, any, large, on_nodes_that_are_alike, ordinary, searching,
};
use crate::device_objects::{Look, Objects, class, on_alike_nodes, on_each_node};
use crate::draws::Draws;
use crate::{alone, number, support};

const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// A random claim is tried for so many random pods: each has a cluster of its own.
const ATTACKS_A_CLAIM: usize = 5;
/// How often a node is asked when its time is measured.
const CHECKS: u32 = 20;

fn delete_claim(engine: &mut Engine, claim: &Value) {
    let text = |field: &str| claim["metadata"][field].as_str().unwrap_or_default().into();
    let meta = Meta {
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        ..Meta::default()
    };
    let gone = Event::Gone(Kind::ResourceClaim, Box::new(meta));
    engine.apply(gone, 0, &mut Applied::default());
}

fn print(case: &Case, taken: &Taken, on_node: &OnNode, left_bytes: usize) {
    println!(
        "{:>9.2} ms {:>9} units {:>6} a node{} {:>4} MiB at most {:>3} MiB left  {:<8} {}{}: {:.200}",
        taken.time.as_secs_f64() * 1_000.0,
        taken.units,
        on_node.units,
        on_node.ns_a_unit(),
        mib(taken.peak_bytes),
        mib(left_bytes),
        format!("{:?}", taken.decision.verdict),
        case.name,
        case.description,
        taken.decision.message
    );
}

/// What finding devices takes on the first node.
struct OnNode {
    units: u64,
    /// Of the quickest run. Only measured where the environment asks for attacks.
    time: Duration,
}

impl OnNode {
    fn of(engine: &Engine) -> Self {
        let (program, cluster) = (engine.program(), engine.cluster());
        let mut filters = program.profiles.iter().flat_map(|profile| &profile.filters);
        let rule = filters.find(|filter| &*filter.name == "DynamicResources");
        let rule = rule.expect("the default profile has it");
        let pod = &cluster.pods().get("devices").expect("the pod is there").pod;
        let node = cluster.nodes().iter().next().expect("there are nodes");
        let prepared = || rule.prepare(pod, cluster).expect("it asks for devices");
        let before = cluster.units_of_devices();
        prepared().check(cluster, node);
        let units = cluster.units_of_devices() - before;
        let slices = if number("KPOLICY_ATTACKS", 0) > 0 { 50 } else { 0 };
        let quickest = |work: &dyn Fn()| {
            let times = (0..slices).map(|_| {
                let began = Instant::now();
                (0..CHECKS).for_each(|_| work());
                began.elapsed() / CHECKS
            });
            times.min().unwrap_or_default()
        };
        let preparing = quickest(&|| drop(black_box(prepared())));
        let both = quickest(&|| {
            black_box(prepared().check(cluster, node));
        });
        Self { units, time: both.saturating_sub(preparing) }
    }

    #[allow(clippy::cast_precision_loss)]
    /// Nanoseconds; nothing where it was not measured.
    fn ns_a_unit(&self) -> String {
        let ns = self.time.as_secs_f64() * 1e9 / self.units.max(1) as f64;
        if self.time.is_zero() { String::new() } else { format!(" of {ns:.1} ns") }
    }
}

/// Decides about the pod of a case as a release of Kubernetes does.
fn tried(mut case: Case, release: &str, selectors: &Selectors) {
    let mut program = support::default_program();
    program["release"] = json!(release);
    let mut engine = empty_cluster(&program);
    for object in case.published.by_ref() {
        support::apply(&mut engine, &object);
    }
    let before = allocated_bytes();
    for claim in &case.claims {
        assert!(claim.to_string().len() <= OBJECT_BYTES_MAX, "an API server refuses it");
        support::apply(&mut engine, claim);
    }
    selectors.load(&mut engine);
    support::apply(&mut engine, &case.pod());
    let on_node = OnNode::of(&engine);
    let scratch = engine.decide_from_scratch(&"devices".into());
    let taken = decide_often(&mut engine, &program, "devices");
    undo_and_delete(&mut engine, "devices");
    case.claims.iter().for_each(|claim| delete_claim(&mut engine, claim));
    let left_bytes = allocated_bytes().saturating_sub(before);
    print(&case, &taken, &on_node, left_bytes);
    let Decision { verdict, message, .. } = &taken.decision;
    let name = case.name;
    assert_eq!((verdict, message), (&scratch.verdict, &scratch.message), "{name}");
    let expected = case.as_1_36.filter(|_| release == "1.36").or(case.verdict);
    if let Some(expected) = expected {
        assert_eq!(*verdict, expected, "{name}: {message}");
    }
    assert!(on_node.units <= case.units_max, "{name}: {} units on a node", on_node.units);
    assert!(*verdict != Verdict::SetAside || message.contains("spec."), "{name}: {message}");
    assert!(message.len() < MESSAGE_BYTES_MAX, "{name}: {} bytes of message", message.len());
    assert!(taken.peak_bytes <= BYTES_MAX, "{name}: {} MiB", mib(taken.peak_bytes));
    assert!(left_bytes <= BYTES_MAX, "{name}: {} MiB left", mib(left_bytes));
}

/// Both where the environment asks for many attacks: they differ in what they do not undo.
fn releases() -> &'static [&'static str] {
    if number("KPOLICY_ATTACKS", 0) > 0 { &["1.36", "1.37"] } else { &["1.37"] }
}

fn all_tried(of: impl Fn(&Selectors) -> Vec<Case>) {
    let _alone = alone();
    let selectors = Selectors::read();
    for release in releases() {
        println!("as {release}:");
        of(&selectors).into_iter().for_each(|case| tried(case, release, &selectors));
    }
}

/// `node.devices.countOfClass('c') < 0`, which rejects every node.
fn counting_the_class() -> Value {
    let expression = json!({"format": 1, "constants": ["c", 0], "root": 3, "cost": 1090, "time": "node",
        "type": "bool", "nodes": [
            {"op": "constant", "constant": 0, "type": "string"},
            {"op": "fact", "fact": "node.devices.countOfClass", "args": [0], "type": "int"},
            {"op": "constant", "constant": 1, "type": "int"},
            {"op": "call", "overload": "less_int64", "args": [1, 2], "type": "bool"}]});
    json!({"name": "counting", "policy": 0, "expression": expression, "match": [], "message": null})
}

/// What a decision takes where a rule counts the devices of a class with these selectors.
fn counted_with(texts: &[&str], selectors: &Selectors) -> Taken {
    let look = Look { attributes: 8, has_serials: true, ..Look::default() };
    let mut program = support::default_program();
    program["policies"] = json!(["counting"]);
    program["profiles"][0]["filters"] = json!([counting_the_class()]);
    let mut engine = empty_cluster(&program);
    for object in on_alike_nodes(64, look, 1).chain([class("c", texts)]) {
        support::apply(&mut engine, &object);
    }
    selectors.load(&mut engine);
    support::apply(&mut engine, &pod("pod", json!({})));
    decide(&mut engine, "pod")
}

#[test]
fn counting_devices_of_a_class_takes_what_its_selectors_do_and_no_more_than_a_rule_may() {
    let _alone = alone();
    let selectors = Selectors::read();
    let (cheap, dear) =
        (counted_with(&[], &selectors), counted_with(&selectors.many(), &selectors));
    println!("{} units without selectors, {} with 32", cheap.units, dear.units);
    assert_eq!([cheap.decision.verdict, dear.decision.verdict], [Verdict::Parked, Verdict::Parked]);
    assert!(dear.units > cheap.units + 100 * 100, "100 nodes have devices");
    assert!(dear.units < units_max(NODES));
    assert!(dear.peak_bytes <= BYTES_MAX, "{} MiB", mib(dear.peak_bytes));
}

/// What a decision takes where both scores of resources count the devices of a class with these selectors.
fn scored_with(texts: &[&str], published: Objects, selectors: &Selectors) -> Taken {
    let mut program = support::default_program();
    let resources = json!([{"name": "cpu", "weight": 1}, {"name": "x.com/r", "weight": 1}]);
    let strategy = json!({"type": "MostAllocated", "resources": resources});
    for score in program["profiles"][0]["scores"].as_array_mut().expect("it has scores") {
        match score["name"].as_str() {
            Some("NodeResourcesFit") => score["args"] = json!({"scoringStrategy": strategy}),
            Some("NodeResourcesBalancedAllocation") => {
                score["args"] = json!({"resources": resources});
            }
            _ => {}
        }
    }
    let mut behind = class("c", texts);
    behind["spec"]["extendedResourceName"] = json!("x.com/r");
    let mut engine = empty_cluster(&program);
    for object in published.chain([behind]) {
        support::apply(&mut engine, &object);
    }
    selectors.load(&mut engine);
    let amounts = json!({"cpu": "100m", "x.com/r": "1"});
    let container = json!({"name": "c", "image": "i",
        "resources": {"requests": amounts, "limits": amounts}});
    support::apply(&mut engine, &pod("pod", json!({"containers": [container]})));
    let taken = decide_often(&mut engine, &program, "pod");
    println!(
        "{:>9.2} ms {:>9} units {:?}: {} selectors",
        taken.time.as_secs_f64() * 1_000.0,
        taken.units,
        taken.decision.verdict,
        texts.len()
    );
    taken
}

#[test]
fn scores_that_count_devices_take_no_more_than_their_share() {
    let _alone = alone();
    let selectors = Selectors::read();
    let many = selectors.many();
    let cases: [(&[&str], usize); 6] = [
        (&[], 64),
        (&[selectors.text("ordinary")], 8),
        (&[selectors.text("ordinary")], 64),
        (&[selectors.text("loops")], 64),
        (&[selectors.text("wide")], 64),
        (&many, 64),
    ];
    let mut placed = 0;
    let look = Look { attributes: 8, has_serials: true, ..Look::default() };
    for (texts, devices) in cases {
        let taken = scored_with(texts, on_each_node(devices, look, 1), &selectors);
        assert!(taken.units < units_max(NODES), "{} units", taken.units);
        assert!(taken.peak_bytes <= BYTES_MAX, "{} MiB", mib(taken.peak_bytes));
        placed += usize::from(taken.decision.verdict == Verdict::Placed);
    }
    assert!(placed >= 3, "{placed} placed: the pod was scored");
    let texts = [selectors.text("ordinary")];
    let [unlike, alike] = [on_each_node(8, look, 1), on_alike_nodes(8, look, 1)]
        .map(|published| scored_with(&texts, published, &selectors).units);
    assert!(alike + 100 * 100 < unlike, "{alike} and {unlike} units: 100 nodes are counted once");
}

#[test]
fn ordinary_claims_are_decided() {
    all_tried(ordinary);
}

#[test]
fn dear_claims_are_decided_on_nodes_that_are_alike() {
    all_tried(on_nodes_that_are_alike);
}

#[test]
fn claims_that_search_long_are_set_aside() {
    all_tried(searching);
}

#[test]
fn large_objects_stay_within_units_and_memory() {
    all_tried(large);
}

#[test]
fn claims_at_random_stay_within_units_and_memory() {
    let _alone = alone();
    let selectors = Selectors::read();
    let mut draws = Draws::of(number("KPOLICY_ATTACK_SEED", 1) as u64);
    for _ in 0..(number("KPOLICY_ATTACKS", 0) / ATTACKS_A_CLAIM).max(1) {
        let case = any(&mut draws, &selectors);
        let release: &&str = draws.pick(releases());
        tried(case, release, &selectors);
    }
}
