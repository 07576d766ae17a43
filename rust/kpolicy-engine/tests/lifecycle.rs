//! The life of pods and reservations, seen through the engine's public calls only.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Event, Kind, PodState, Still, Verdict};
use kpolicy_engine::model::Meta;
use serde_json::{Value, json};

fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}})
}

fn pod(name: &str, cpu: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"nodeName": node, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn engine_with(objects: &[Value]) -> Engine {
    let mut engine = support::loaded(7, &support::default_program());
    objects.iter().for_each(|object| {
        support::apply(&mut engine, object);
    });
    engine
}

fn schedule(engine: &mut Engine, uid: &str) -> kpolicy_engine::api::Decision {
    let mut batch = engine.schedule(&[uid.into()], 0, &Still);
    batch.decisions.pop().expect("one pod, one decision")
}

fn gone(engine: &mut Engine, kind: Kind, uid: &str) -> Applied {
    let mut applied = Applied::default();
    let meta = Meta { uid: uid.into(), name: uid.into(), ..Meta::default() };
    engine.apply(Event::Gone(kind, Box::new(meta)), 0, &mut applied);
    applied
}

fn settle(engine: &mut Engine, uid: &str, outcome: BindOutcome) -> Applied {
    let mut applied = Applied::default();
    engine.settle(&[(uid.into(), outcome)], 0, &mut applied);
    applied
}

fn deleted_nodes(applied: &Applied) -> Vec<&str> {
    applied.deleted_nodes.iter().map(|name| &**name).collect()
}

fn woken(applied: &Applied) -> Vec<(&str, &str)> {
    applied.wakes.iter().map(|wake| (wake.uid.as_ref(), wake.event)).collect()
}

#[test]
fn a_reservation_holds_until_it_is_confirmed() {
    let mut engine = engine_with(&[node("n1", "1"), pod("a", "800m", ""), pod("b", "800m", "")]);
    let first = schedule(&mut engine, "a");
    assert_eq!((first.verdict, first.node.as_ref()), (Verdict::Placed, "n1"));
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Parked);
    // An update from before our bind does not end it, nor does the bind's answer. Its attempt is
    // under way: nobody said yet that it is on a node.
    let applied = support::apply(&mut engine, &pod("a", "800m", ""));
    assert_eq!((applied.pods[0].state, &*applied.pods[0].node), (PodState::Pending, ""));
    settle(&mut engine, "a", BindOutcome::Bound);
    assert_eq!(engine.statistics().pods_assumed, 1);
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Parked);
    let applied = support::apply(&mut engine, &pod("a", "800m", "n1"));
    assert_eq!(applied.pods[0].state, PodState::OnNode);
    assert_eq!(engine.statistics().pods_assumed, 0);
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Parked);
}

#[test]
fn a_failed_bind_frees_the_room_and_wakes_who_waits_for_it() {
    let mut engine = engine_with(&[node("n1", "1"), pod("a", "800m", ""), pod("b", "800m", "")]);
    schedule(&mut engine, "a");
    let parked = schedule(&mut engine, "b");
    assert!(parked.message.starts_with("0/1 nodes are available: 1 Insufficient cpu."));
    assert_eq!(engine.message("b"), parked.message);
    assert_eq!(parked.rejected_by, vec![Arc::from("NodeResourcesFit")]);
    let applied = settle(&mut engine, "a", BindOutcome::Failed);
    assert_eq!(woken(&applied), [("b", "AssignedPodDelete")]);
    assert_eq!(engine.message("b").as_ref(), "");
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Placed);
    assert_eq!(schedule(&mut engine, "a").verdict, Verdict::Parked);
    // Forgotten once: a second word on it changes nothing.
    settle(&mut engine, "a", BindOutcome::Failed);
    assert_eq!(engine.statistics().pods_assumed, 1);
}

#[test]
fn what_the_api_server_says_supersedes_a_reservation() {
    let objects = [node("n1", "1"), pod("a", "800m", ""), pod("b", "800m", "")];
    let mut engine = engine_with(&objects);
    assert_eq!(schedule(&mut engine, "a").node.as_ref(), "n1");
    support::apply(&mut engine, &node("n2", "1"));
    support::apply(&mut engine, &pod("a", "800m", "n2"));
    assert_eq!(schedule(&mut engine, "b").node.as_ref(), "n1");
    let applied = gone(&mut engine, Kind::Pod, "b");
    assert_eq!(applied.pods[0].state, PodState::Gone);
    assert_eq!(engine.statistics().pods_assumed, 0);
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Gone);
}

#[test]
fn a_terminal_pod_holds_nothing_but_a_terminating_one_does() {
    let mut engine = engine_with(&[node("n1", "1"), pod("a", "800m", "n1"), pod("b", "800m", "")]);
    let mut terminating = pod("a", "800m", "n1");
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    support::apply(&mut engine, &terminating);
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Parked);
    let mut done = pod("a", "800m", "n1");
    done["status"] = json!({"phase": "Succeeded"});
    let applied = support::apply(&mut engine, &done);
    assert_eq!(applied.pods[0].state, PodState::Gone);
    assert_eq!(woken(&applied), [("b", "AssignedPodDelete")]);
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Placed);
}

#[test]
fn pods_wait_for_a_node_that_is_not_there_yet() {
    let mut engine = engine_with(&[pod("a", "800m", "n1"), pod("b", "800m", "")]);
    assert_eq!(engine.statistics().pods_on_unknown_nodes, 1);
    let nobody = schedule(&mut engine, "b");
    assert_eq!(nobody.message.as_ref(), "no nodes available to schedule pods");
    assert!(nobody.rejected_by.is_empty());
    let applied = support::apply(&mut engine, &node("n1", "1"));
    assert_eq!(woken(&applied), [("b", "NodeAdd")]);
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Parked);
    gone(&mut engine, Kind::Node, "n1");
    assert_eq!(engine.statistics().pods_on_unknown_nodes, 1);
    support::apply(&mut engine, &node("n1", "1"));
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Parked);
}

#[test]
fn gated_terminating_unknown_and_unserved_pods_are_not_tried() {
    let mut gated = pod("a", "1m", "");
    gated["spec"]["schedulingGates"] = json!([{"name": "x/y"}, {"name": "z"}]);
    let mut terminating = pod("b", "1m", "");
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut engine = engine_with(&[node("n1", "1"), gated, terminating]);
    let decision = schedule(&mut engine, "a");
    assert_eq!(decision.verdict, Verdict::Gated);
    assert_eq!(decision.message.as_ref(), "waiting for scheduling gates: [x/y z]");
    assert_eq!(schedule(&mut engine, "b").verdict, Verdict::Gone);
    assert_eq!(schedule(&mut engine, "nobody").verdict, Verdict::Gone);
    let applied = support::apply(&mut engine, &pod("a", "1m", ""));
    assert_eq!(woken(&applied), [("a", "TargetPodUpdatePodSchedulingGatesEliminated")]);
    let mut named = support::default_program();
    named["profiles"][0]["schedulerName"] = json!("other");
    engine.load(&named).expect("the program is good");
    assert_eq!(schedule(&mut engine, "a").verdict, Verdict::Gone);
}

#[test]
fn a_list_ends_what_it_does_not_name() {
    let mut engine = engine_with(&[
        node("n1", "1"),
        node("n2", "1"),
        pod("a", "1m", "n1"),
        pod("b", "1m", ""),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}}),
    ]);
    for kind in [Kind::Node, Kind::Pod, Kind::Namespace] {
        engine.list_begin(kind);
    }
    support::apply(&mut engine, &node("n2", "1"));
    support::apply(&mut engine, &pod("b", "1m", ""));
    let mut applied = Applied::default();
    for kind in [Kind::Node, Kind::Pod, Kind::Namespace] {
        engine.list_end(kind, 0, &mut applied);
    }
    let observed: Vec<_> = applied.pods.iter().map(|pod| (pod.uid.as_ref(), pod.state)).collect();
    assert_eq!(observed, [("a", PodState::Gone)]);
    let statistics = engine.statistics();
    assert_eq!((statistics.nodes, statistics.pods, statistics.objects), (1, 1, 0));
    assert_eq!(deleted_nodes(&applied), ["n1"]);
}

#[test]
fn nodes_that_were_held_and_are_deleted_are_named() {
    let mut engine = engine_with(&[node("n1", "1"), node("n2", "1"), pod("a", "1m", "n2")]);
    let changed = support::apply(&mut engine, &node("n1", "2"));
    assert!(changed.deleted_nodes.is_empty());
    let first = gone(&mut engine, Kind::Node, "n1");
    assert_eq!(deleted_nodes(&first), ["n1"]);
    for (kind, name) in [(Kind::Node, "n1"), (Kind::Node, "unknown"), (Kind::Pod, "a")] {
        assert!(gone(&mut engine, kind, name).deleted_nodes.is_empty(), "{kind:?} {name}");
    }
    let mut replaced = Applied::default();
    let meta = Meta { name: "n2".into(), ..Meta::default() };
    engine.apply(Event::Gone(Kind::Node, Box::new(meta)), 0, &mut replaced);
    support::apply_into(&mut engine, &node("n2", "1"), &mut replaced);
    assert_eq!(deleted_nodes(&replaced), ["n2"], "the node of this name is another by now");
}

#[test]
fn only_events_that_may_help_wake_a_parked_pod() {
    let mut tainted = node("n1", "1");
    tainted["spec"] = json!({"taints": [{"key": "k", "effect": "NoSchedule"}]});
    let mut engine = engine_with(&[tainted.clone(), pod("a", "1m", ""), pod("c", "1m", "n1")]);
    assert_eq!(schedule(&mut engine, "a").verdict, Verdict::Parked);
    assert!(woken(&gone(&mut engine, Kind::Pod, "c")).is_empty());
    tainted["metadata"]["labels"] = json!({"x": "y"});
    assert!(woken(&support::apply(&mut engine, &tainted)).is_empty());
    let mut tolerant = pod("a", "1m", "");
    tolerant["metadata"]["annotations"] = json!({"x": "y"});
    assert!(woken(&support::apply(&mut engine, &tolerant)).is_empty());
    tolerant["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    let applied = support::apply(&mut engine, &tolerant);
    assert_eq!(woken(&applied), [("a", "TargetPodUpdatePodToleration")]);
    assert_eq!(schedule(&mut engine, "a").verdict, Verdict::Placed);
}

#[test]
fn equal_seeds_give_equal_placements_whatever_the_order_of_arrival() {
    let names: Vec<String> = (0..40).map(|index| format!("n{index:02}")).collect();
    let place = |seed: u64, is_reversed: bool| {
        let mut engine = support::loaded(seed, &support::default_program());
        let mut nodes: Vec<Value> = names.iter().map(|name| node(name, "4")).collect();
        if is_reversed {
            nodes.reverse();
        }
        nodes.iter().for_each(|node| {
            support::apply(&mut engine, node);
        });
        let mut placed = Vec::new();
        for index in 0..30 {
            support::apply(&mut engine, &pod(&format!("p{index}"), "100m", ""));
            placed.push(schedule(&mut engine, &format!("p{index}")).node.to_string());
        }
        placed
    };
    assert_eq!(place(1, false), place(1, true));
    assert_ne!(place(1, false), place(2, false));
}

#[test]
fn a_program_with_faults_is_refused_and_the_one_before_stays() {
    let mut engine = engine_with(&[]);
    let mut bad = support::default_program();
    bad["profiles"][0]["filters"][0]["builtin"] = json!("NodeUnscheduleable");
    bad["profiles"][0]["scores"][0]["weight"] = json!("much");
    bad["surprise"] = json!(1);
    bad["hash"] = json!("other");
    let refusals = engine.load(&bad).expect_err("it is bad");
    let mut observed: Vec<(&str, &str)> =
        refusals.iter().map(|refusal| (refusal.code, refusal.place.as_str())).collect();
    observed.sort_unstable();
    assert_eq!(
        observed,
        [
            ("PR101", "$.profiles[0].filters[0].builtin"),
            ("PR101", "$.surprise"),
            ("PR103", "$.profiles[0].scores[0].weight"),
        ]
    );
    assert_eq!(engine.program_hash().as_ref(), "sha256:test");
    assert!(engine.resources().starts_with(&["pods", "nodes"]));
}
