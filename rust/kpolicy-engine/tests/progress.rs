//! The heartbeat of the engine: it grows within every long call, and another thread may read it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kpolicy_engine::Engine;
use kpolicy_engine::api::Still;
use serde_json::{Value, json};

const NODES: usize = 50;
const PODS: usize = 20;

fn node(index: usize) -> Value {
    let name = format!("n{index}");
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}})
}

fn pod(index: usize) -> Value {
    let name = format!("p{index}");
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": format!("{}m", 1 + index)}}}]}})
}

fn engine() -> Engine {
    let mut engine = support::loaded(7, &support::default_program());
    (0..NODES).map(node).chain((0..PODS).map(pod)).for_each(|object| {
        support::apply(&mut engine, &object);
    });
    engine
}

/// How much it grew meanwhile.
fn beats_of(engine: &mut Engine, work: impl FnOnce(&mut Engine)) -> u64 {
    let before = engine.progress().beats();
    work(engine);
    engine.progress().beats() - before
}

#[test]
fn each_object_each_decision_and_each_explained_node_is_a_beat() {
    let mut engine = engine();
    assert!(engine.progress().beats() >= (NODES + PODS) as u64, "one for each object");
    let uids: Vec<Arc<str>> = (0..PODS).map(|index| format!("p{index}").into()).collect();
    let explained = beats_of(&mut engine, |engine| {
        engine.explain(Some(&["d/p0".to_owned()]));
    });
    assert!(explained >= NODES as u64, "{explained} beats");
    let decided = beats_of(&mut engine, |engine| {
        assert_eq!(engine.schedule(&uids, 0, &Still).decisions.len(), PODS);
    });
    assert!(decided >= PODS as u64, "{decided} beats");
    let idle = beats_of(&mut engine, |engine| {
        engine.statistics();
    });
    assert_eq!(idle, 0, "what takes no work is no beat");
}

#[test]
fn another_thread_reads_it_while_a_call_works() {
    let mut engine = engine();
    let progress = engine.progress();
    let (was_seen, has_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !was_seen.load(Ordering::Relaxed) {
                engine.explain(None);
            }
            has_ended.store(true, Ordering::Relaxed);
        });
        let first = progress.beats();
        while progress.beats() == first {
            assert!(!has_ended.load(Ordering::Relaxed), "the engine has worked and not beaten");
        }
        was_seen.store(true, Ordering::Relaxed);
    });
}
