//! What the cache keeps: little of pods that are all different, and what comes again, whatever else comes
//! in between.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Still, Verdict};
use serde_json::json;

const NODES: usize = 500;
/// Kinds of pods that come again.
const KINDS: usize = 120;

fn engine() -> Engine {
    let mut engine = support::loaded(1, &support::default_program());
    for index in 0..NODES {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{index}")},
            "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}}});
        support::apply(&mut engine, &node);
    }
    engine
}

/// Decides a pod of each of these kinds, one after the other; how many of them found their shape.
fn found(engine: &mut Engine, kinds: impl Iterator<Item = usize>) -> usize {
    let before = engine.statistics().shape_hits;
    for kind in kinds {
        let uid: Arc<str> = format!("p{kind}").into();
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": &*uid, "namespace": "d", "uid": &*uid},
            "spec": {"containers": [{"name": "c", "image": "i",
                                     "resources": {"requests": {"cpu": format!("{}m", 1 + kind)}}}]}});
        support::apply(engine, &pod);
        let decision = engine.schedule(&[Arc::clone(&uid)], 0, &Still).decisions.remove(0);
        assert_eq!(decision.verdict, Verdict::Placed, "{}", decision.message);
        engine.settle(&[(uid, BindOutcome::Gone)], 0, &mut Applied::default());
    }
    usize::try_from(engine.statistics().shape_hits - before).expect("few")
}

/// What all kinds hold together, and half as much again.
fn room() -> usize {
    let mut engine = engine();
    assert_eq!(found(&mut engine, 0..KINDS), 0);
    assert_eq!(engine.statistics().cached_shapes, KINDS);
    engine.statistics().cached_bytes * 3 / 2
}

#[test]
fn pods_that_are_all_different_leave_most_of_the_room_free() {
    let (room, mut engine) = (room(), engine());
    engine.limit_cache(room);
    assert_eq!(found(&mut engine, 0..20 * KINDS), 0);
    let statistics = engine.statistics();
    assert!(statistics.cached_bytes < room / 3, "{} of {room}", statistics.cached_bytes);
    assert!(statistics.cached_shapes > KINDS / 10, "{}", statistics.cached_shapes);
}

#[test]
fn shapes_that_come_again_are_kept_whatever_comes_in_between() {
    let mut engine = engine();
    engine.limit_cache(room());
    found(&mut engine, 0..KINDS);
    let again = found(&mut engine, 0..KINDS);
    assert!(again < KINDS / 2, "{again}: there was little room for them at first");
    assert_eq!(found(&mut engine, 0..KINDS), KINDS);
    assert_eq!(found(&mut engine, KINDS..20 * KINDS), 0);
    assert_eq!(found(&mut engine, 0..KINDS), KINDS);
}
