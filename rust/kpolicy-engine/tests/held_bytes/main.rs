//! What the engine says that its caches hold, beside what the allocator gets back when they are
//! dropped; and decisions under a bound that leaves no room for them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

#[path = "../costs/cluster.rs"]
mod cluster;
#[path = "../costs/programs.rs"]
mod programs;
#[path = "../support/mod.rs"]
mod support;

use std::alloc::System;
use std::sync::Arc;

use cap::Cap;
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Decision, Still, Verdict};
use serde_json::{Value, json};

use cluster::Labelled;
use programs::Programs;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// How far the engine may be off, in percent of what is held.
const TOLERANCE_PERCENT: usize = 15;
const NODES: usize = 500;
const NODES_GROWN: usize = 3_000;
/// Where only answers are compared.
const NODES_COMPARED: usize = 700;
const SHAPES: usize = 12;
/// Built-in filters and scores, and shipped policies.
const PROGRAMS: usize = 21 + 19 + 23;
/// Too little for the columns of any rule, and enough for what some rules prepare.
const NO_ROOM: usize = 2_400;
/// All that a pod without special wishes needs, where the profile has many rules.
const ROOM_A_NODE: usize = 64;

fn programs() -> Programs {
    let mut programs = programs::builtins();
    programs.extend(programs::policies());
    programs
}

/// A pod that differs from others in what each rule reads. Every third one selects nodes that come
/// later.
fn pod(uid: &str, shape: usize) -> Value {
    let mut objects = cluster::pod(uid);
    let pod = &mut objects["items"][1];
    let app = json!(format!("app-{shape}"));
    let apps = json!({"matchLabels": {"app": app}});
    pod["metadata"]["labels"]["app"] = app;
    let spec = &mut pod["spec"];
    spec["priority"] = json!(shape);
    spec["nodeSelector"] = match shape % 3 {
        0 => json!({"late": "yes", "rank": shape.to_string()}),
        _ => json!({"rank": shape.to_string()}),
    };
    spec["tolerations"][0]["key"] = json!(format!("dedicated-{shape}"));
    let container = &mut spec["containers"][0];
    container["image"] = json!(format!("image-{shape}:1"));
    container["ports"][0]["hostPort"] = json!(8_000 + shape);
    container["resources"]["requests"]["cpu"] = json!(format!("{}m", 100 + shape));
    container["resources"]["limits"]["cpu"] = json!(format!("{}m", 200 + shape));
    for constraint in spec["topologySpreadConstraints"].as_array_mut().expect("a list") {
        constraint["labelSelector"] = apps.clone();
    }
    objects
}

/// Further nodes, with the label that some pods wait for.
fn later_nodes(nodes: usize) -> Value {
    let mut objects = cluster::objects(nodes, Labelled::Mostly);
    let items = objects["items"].as_array_mut().expect("a list");
    items.retain(|object| object["kind"] == "Node");
    items.drain(..NODES);
    items.iter_mut().for_each(|node| node["metadata"]["labels"]["late"] = json!("yes"));
    assert_eq!(items.len(), nodes - NODES);
    objects
}

fn loaded(name: &str, program: &Value) -> Engine {
    let mut engine = Engine::new(1);
    if let Err(refusals) = engine.load(program) {
        panic!("{name}: the program is refused: {refusals:#?}");
    }
    support::apply(&mut engine, &cluster::objects(NODES, Labelled::Mostly));
    for shape in 0..SHAPES {
        support::apply(&mut engine, &pod(&uid_of(shape), shape));
    }
    engine
}

fn uid_of(shape: usize) -> String {
    format!("pending-{shape}")
}

/// Decides a pod of each shape, and takes every placement back.
fn decide_all(engine: &mut Engine) -> Vec<Decision> {
    let decide = |shape: usize| {
        let uid: Arc<str> = uid_of(shape).into();
        let decision = engine.schedule(&[Arc::clone(&uid)], 0, &Still).decisions.remove(0);
        let is_judged = matches!(decision.verdict, Verdict::Placed | Verdict::Parked);
        assert!(is_judged, "{:?} {}", decision.verdict, decision.message);
        engine.settle(&[(uid, BindOutcome::Failed)], 0, &mut Applied::default());
        decision
    };
    (0..SHAPES).map(decide).collect()
}

fn allocated() -> usize {
    ALLOCATOR.allocated()
}

/// What the engine says that its caches hold, and what the allocator gets back for them.
fn counted_and_held(engine: &mut Engine) -> (usize, usize) {
    let (counted, before) = (engine.statistics().cached_bytes, allocated());
    engine.limit_cache(0);
    assert_eq!(engine.statistics().cached_bytes, 0, "all is given back");
    (counted, before - allocated())
}

/// They count what the allocator hands out, so they run one after the other.
#[test]
fn caches_hold_what_they_say_and_no_more_than_they_may() {
    caches_hold_what_they_say();
    without_room_for_columns_nodes_are_asked_and_answer_the_same();
    rules_that_have_no_say_need_no_room();
}

fn caches_hold_what_they_say() {
    let programs = programs();
    assert_eq!(programs.len(), PROGRAMS);
    let later = later_nodes(NODES_GROWN);
    let mut off: Vec<String> = Vec::new();
    for (name, program) in &programs {
        let mut small = loaded(name, program);
        let parked = decide_all(&mut small);
        let mut grown = loaded(name, program);
        decide_all(&mut grown);
        support::apply(&mut grown, &later);
        decide_all(&mut grown);
        if name == "filter NodeAffinity" {
            let parked = parked.iter().filter(|decision| decision.verdict == Verdict::Parked);
            assert_eq!(parked.count(), SHAPES / 3, "some shapes are rejected at first");
        }
        for (nodes, engine) in [(NODES, &mut small), (NODES_GROWN, &mut grown)] {
            let (counted, held) = counted_and_held(engine);
            println!("{name:<42} {nodes:>6} nodes: {counted:>10} bytes counted, {held:>10} held");
            if 100 * counted.abs_diff(held) > TOLERANCE_PERCENT * held {
                off.push(format!("{name} at {nodes} nodes: {counted} bytes counted, {held} held"));
            }
        }
    }
    assert!(off.is_empty(), "more than {TOLERANCE_PERCENT} % off: {off:#?}");
}

fn without_room_for_columns_nodes_are_asked_and_answer_the_same() {
    let later = later_nodes(NODES_COMPARED);
    let mut compared = 0;
    for (name, program) in &programs() {
        let mut free = loaded(name, program);
        let mut bounded = loaded(name, program);
        bounded.limit_cache(NO_ROOM);
        for round in ["before nodes come", "after nodes came"] {
            assert_eq!(decide_all(&mut free), decide_all(&mut bounded), "{name}, {round}");
            let statistics = bounded.statistics();
            assert!(statistics.cached_bytes <= NO_ROOM, "{name}: {}", statistics.cached_bytes);
            support::apply(&mut free, &later);
            support::apply(&mut bounded, &later);
            compared += SHAPES;
        }
        assert_eq!(free.statistics().decisions_uncached, 0);
        assert_eq!(bounded.statistics().decisions_uncached, 2 * SHAPES as u64, "{name}");
    }
    assert_eq!(compared, 2 * SHAPES * PROGRAMS);
}

fn rules_that_have_no_say_need_no_room() {
    let mut engine = Engine::new(1);
    assert!(engine.load(&support::default_program()).is_ok());
    support::apply(&mut engine, &cluster::objects(NODES, Labelled::Mostly));
    let decide = |engine: &mut Engine, uid: &str, room: usize| {
        engine.limit_cache(room);
        support::apply(
            engine,
            &json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": uid, "namespace": "d", "uid": uid},
                "spec": {"containers": [{"name": "c", "image": "i",
                                         "resources": {"requests": {"cpu": "1m"}}}]}}),
        );
        let decision = engine.schedule(&[uid.into()], 0, &Still).decisions.remove(0);
        assert_eq!(decision.verdict, Verdict::Placed, "{}", decision.message);
        engine.statistics().decisions_uncached
    };
    assert_eq!(decide(&mut engine, "one", NODES * ROOM_A_NODE), 0);
    assert_eq!(decide(&mut engine, "two", NODES), 1, "too little room for any column");
}
