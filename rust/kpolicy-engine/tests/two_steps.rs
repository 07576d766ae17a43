//! Decisions in two calls: filter, ask extenders, choose.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{
    Candidates, Decision, Filtered, KeptNode, RefusedNode, RemainingCandidate, RemainingCandidates,
    Still, Verdict,
};
use serde_json::{Value, json};

fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}})
}

fn pod(name: &str, priority: i32, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"nodeName": node, "priority": priority, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})
}

fn engine(objects: &[Value]) -> Engine {
    let mut program = support::default_program();
    program["tieBreak"] = json!("name");
    let mut engine = support::loaded(7, &program);
    objects.iter().for_each(|object| {
        support::apply(&mut engine, object);
    });
    engine
}

/// A large, a middling and a small node, and one that is too small.
fn four() -> Engine {
    let cpus = [("n1", "8"), ("n2", "4"), ("n3", "2"), ("n4", "500m")];
    let nodes = cpus.iter().map(|(name, cpu)| node(name, cpu));
    engine(&nodes.chain([pod("p", 5, "")]).collect::<Vec<_>>())
}

fn kept(nodes: &[(&str, i64)]) -> Vec<KeptNode> {
    let kept = nodes.iter().map(|(node, score)| KeptNode { node: (*node).into(), score: *score });
    kept.collect()
}

fn refused(nodes: &[(&str, bool)]) -> Vec<RefusedNode> {
    let refused = nodes.iter().map(|(node, is_unresolvable)| RefusedNode {
        node: (*node).into(),
        reason: "no licence".to_owned(),
        is_unresolvable: *is_unresolvable,
    });
    refused.collect()
}

fn filter(engine: &mut Engine) -> Filtered {
    engine.filter(&Arc::from("p"), &Still)
}

fn choose(engine: &mut Engine, token: u64, nodes: &[(&str, i64)]) -> Decision {
    engine.choose(&Arc::from("p"), token, &kept(nodes), &[], &Still)
}

#[test]
fn the_first_step_names_the_nodes_that_pass() {
    let mut engine = four();
    let filtered = filter(&mut engine);
    assert_eq!(filtered.feasible, ["n1", "n2", "n3"].map(Arc::from));
    let statistics = engine.statistics();
    assert_eq!((statistics.pods_assumed, statistics.pods_parked, statistics.decisions), (0, 0, 0));
}

#[test]
fn without_others_having_a_say_it_is_the_decision_in_one_step() {
    let whole = four().decide_from_scratch(&Arc::from("p"));
    let mut engine = four();
    let token = filter(&mut engine).token;
    let decision = choose(&mut engine, token, &[("n3", 0), ("n1", 0), ("n2", 0)]);
    assert_eq!(decision, whole);
    assert_eq!((decision.verdict, decision.node.as_ref()), (Verdict::Placed, "n1"));
    assert_eq!(engine.statistics().pods_assumed, 1);
}

#[test]
fn what_others_score_counts_tenfold() {
    let totals = |score: i64| {
        let mut engine = four();
        let token = filter(&mut engine).token;
        let decision = choose(&mut engine, token, &[("n1", 0), ("n2", score)]);
        (decision.node.to_string(), decision.score)
    };
    let (node, plain) = totals(0);
    assert_eq!(node, "n1");
    let (node, raised) = totals(7);
    assert_eq!(node, "n2");
    assert!(raised > plain && raised < plain + 70, "{plain} {raised}");
    assert_eq!(totals(8).1, raised + 10);
    assert_eq!(totals(i64::MAX).0, "n2", "no score is too much");
    assert_eq!(totals(i64::MIN).0, "n1", "nor too little");
}

#[test]
fn a_node_that_does_not_pass_any_more_is_never_chosen() {
    let mut engine = four();
    let token = filter(&mut engine).token;
    support::apply(&mut engine, &node("n2", "100m"));
    let decision = choose(&mut engine, token, &[("n2", 10), ("n3", 0)]);
    assert_eq!((decision.verdict, decision.node.as_ref()), (Verdict::Placed, "n3"));
}

#[test]
fn where_none_of_the_kept_passes_any_more_others_are_to_be_asked_again() {
    let mut engine = four();
    let token = filter(&mut engine).token;
    support::apply(&mut engine, &node("n2", "100m"));
    let decision = choose(&mut engine, token, &[("n2", 10)]);
    assert_eq!((decision.verdict, decision.node.as_ref()), (Verdict::Stale, ""));
    assert_eq!(engine.statistics().pods_parked, 0);
    let token = filter(&mut engine).token;
    assert_eq!(choose(&mut engine, token, &[("n3", 0)]).verdict, Verdict::Placed);
    // Another program is a change too.
    let mut engine = four();
    let token = filter(&mut engine).token;
    engine.load(&support::default_program()).expect("the program is good");
    assert_eq!(choose(&mut engine, token, &[]).verdict, Verdict::Stale);
}

#[test]
fn a_pod_that_others_refuse_everywhere_is_parked_and_anything_wakes_it() {
    let all = refused(&[("n1", true), ("n2", true), ("n3", false)]);
    // kube-scheduler too counts the nodes that are left, and not the reasons.
    for (refused, observed) in [
        (all, "0/4 nodes are available: 1 Insufficient cpu, 3 no licence."),
        (Vec::new(), "0/4 nodes are available: 1 Insufficient cpu."),
    ] {
        let mut engine = four();
        let token = filter(&mut engine).token;
        let decision = engine.choose(&Arc::from("p"), token, &[], &refused, &Still);
        assert_eq!(decision.verdict, Verdict::Parked);
        assert!(decision.message.starts_with(observed), "{}", decision.message);
        assert_eq!(decision.rejected_by, ["Extender", "NodeResourcesFit"].map(Arc::from));
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}});
        let applied = support::apply(&mut engine, &namespace);
        assert_eq!(applied.wakes.len(), 1);
        assert_eq!(applied.wakes[0].event, "NamespaceAdd");
    }
}

#[test]
fn a_node_that_is_refused_for_good_is_not_made_room_on() {
    let victims_if = |is_unresolvable: bool| {
        let mut engine = engine(&[node("n1", "2"), pod("low", 0, "n1"), pod("p", 5, "")]);
        let token = filter(&mut engine).token;
        let refused = refused(&[("n1", is_unresolvable)]);
        engine.choose(&Arc::from("p"), token, &[], &refused, &Still).victims
    };
    assert_eq!(victims_if(true), []);
    // Nothing of ours is in the way, so that nobody need go either.
    assert_eq!(victims_if(false), []);
}

#[test]
fn pods_that_are_not_to_be_tried_get_their_answer_in_the_second_step() {
    let mut gated = pod("p", 0, "");
    gated["spec"]["schedulingGates"] = json!([{"name": "x/y"}]);
    for (objects, verdict) in [
        (vec![node("n1", "1"), gated], Verdict::Gated),
        (vec![node("n1", "1")], Verdict::Gone),
        (vec![pod("p", 0, "")], Verdict::Parked),
        (vec![node("n1", "100m"), pod("p", 0, "")], Verdict::Parked),
    ] {
        let mut engine = engine(&objects);
        let filtered = filter(&mut engine);
        assert!(filtered.feasible.is_empty());
        assert_eq!(choose(&mut engine, filtered.token, &[]).verdict, verdict, "{objects:?}");
    }
}

#[test]
fn a_nominated_node_that_others_keep_is_it() {
    let mut nominated = pod("p", 5, "");
    nominated["status"] = json!({"nominatedNodeName": "n3"});
    let mut engine = four();
    support::apply(&mut engine, &nominated);
    let token = filter(&mut engine).token;
    assert_eq!(choose(&mut engine, token, &[("n1", 10), ("n3", 0)]).node.as_ref(), "n3");
}

#[test]
fn what_a_pod_requests_in_any_container_is_told() {
    let gpus = json!({"requests": {"example.com/gpu": "1", "cpu": "1"}});
    let mut asks = pod("asks", 0, "");
    asks["spec"]["initContainers"] = json!([{"name": "i", "image": "i", "resources": gpus}]);
    let engine = engine(&[asks, pod("plain", 0, "")]);
    let uids = ["asks", "plain", "gone"].map(Arc::from);
    let resources = ["example.com/gpu", "example.com/nic"].map(str::to_owned);
    let none: Vec<String> = Vec::new();
    assert_eq!(
        engine.requested(&uids, &resources),
        [vec!["example.com/gpu".to_owned()], none.clone(), none]
    );
}

/// Two nodes that are full, and a pod that matters more.
fn full_nodes() -> Engine {
    engine(&[
        node("n1", "2"),
        node("n2", "2"),
        pod("a", 1, "n1"),
        pod("b", 1, "n1"),
        pod("c", 2, "n2"),
        pod("d", 2, "n2"),
        pod("p", 5, ""),
    ])
}

fn candidates(engine: &mut Engine) -> (u64, Candidates) {
    let token = filter(engine).token;
    (token, engine.candidates(&Arc::from("p"), token, &[], &[]))
}

fn left(token: u64, nodes: &[(&str, &[&str])]) -> RemainingCandidates {
    let nodes = nodes.iter().map(|(node, victims)| RemainingCandidate {
        node: (*node).into(),
        victims: victims.iter().map(|uid| (*uid).into()).collect(),
        violations: 0,
    });
    RemainingCandidates { token, failure: String::new(), nodes: Some(nodes.collect()) }
}

fn preempt(engine: &mut Engine, token: u64, left: &RemainingCandidates) -> Decision {
    engine.preempt(&Arc::from("p"), token, &[], &[], left, &Still)
}

fn victims(decision: &Decision) -> (&str, Vec<&str>) {
    let uids = decision.victims.iter().map(|victim| victim.uid.as_ref());
    (decision.nominated_node.as_ref(), uids.collect())
}

#[test]
fn room_is_made_only_where_others_leave_it() {
    let mut engine = full_nodes();
    let (token, found) = candidates(&mut engine);
    let offered: Vec<(&str, usize, usize)> = found
        .nodes
        .iter()
        .map(|node| (node.node.as_ref(), node.victims.len(), node.violations))
        .collect();
    assert_eq!(offered, [("n1", 1, 0), ("n2", 1, 0)]);
    assert_eq!(engine.statistics().pods_parked, 0, "nothing comes of it");
    // By our own criteria it would be n1; other victims than were offered will do.
    let left = left(found.token, &[("n2", &["c"])]);
    let decision = preempt(&mut engine, token, &left);
    assert_eq!(decision.verdict, Verdict::Parked);
    assert_eq!(victims(&decision), ("n2", vec!["c"]));
    assert_eq!(engine.statistics().pods_parked, 1);
}

#[test]
fn among_what_is_left_the_criteria_decide() {
    let mut engine = full_nodes();
    let (token, found) = candidates(&mut engine);
    let both = left(found.token, &[("n2", &["d"]), ("n1", &["a"])]);
    assert_eq!(victims(&preempt(&mut engine, token, &both)), ("n1", vec!["a"]));
}

#[test]
fn where_nothing_is_left_or_nobody_can_tell_no_pod_goes() {
    for (nodes, failure, observed) in [
        (&[][..], "", "preemption: no candidate node for preemption"),
        (&[("n1", &["a"][..])][..], "it is down", "preemption: it is down"),
        (&[("n1", &["z"][..])][..], "", "preemption: no candidate node for preemption"),
        (&[("n3", &["a"][..])][..], "", "preemption: no candidate node for preemption"),
    ] {
        let mut engine = full_nodes();
        let (token, found) = candidates(&mut engine);
        let left = RemainingCandidates { failure: failure.to_owned(), ..left(found.token, nodes) };
        let decision = preempt(&mut engine, token, &left);
        assert_eq!(decision.verdict, Verdict::Parked);
        assert_eq!(victims(&decision), ("", vec![]));
        assert!(decision.message.ends_with(observed), "{}", decision.message);
    }
}

#[test]
fn room_that_is_not_there_any_more_is_asked_about_again() {
    let mut engine = full_nodes();
    let (token, found) = candidates(&mut engine);
    let left = left(found.token, &[("n1", &["a"])]);
    // Somebody else comes to n1, and one victim is not enough any more.
    support::apply(&mut engine, &node("n1", "1"));
    let decision = preempt(&mut engine, token, &left);
    assert_eq!((decision.verdict, victims(&decision)), (Verdict::Stale, ("", vec![])));
    assert_eq!(engine.statistics().pods_parked, 0);
    let (token, again) = candidates(&mut engine);
    assert_eq!(again.nodes[0].victims.len(), 2);
    let left = self::left(again.token, &[("n1", &["a", "b"])]);
    assert_eq!(victims(&preempt(&mut engine, token, &left)), ("n1", vec!["a", "b"]));
}

#[test]
fn room_that_nobody_was_asked_about_is_not_made() {
    let mut engine = engine(&[node("n1", "500m"), pod("p", 5, "")]);
    let (token, found) = candidates(&mut engine);
    assert_eq!(found.nodes, []);
    let none = RemainingCandidates { token: found.token, ..RemainingCandidates::default() };
    support::apply(&mut engine, &node("n2", "1"));
    support::apply(&mut engine, &pod("c", 1, "n2"));
    assert_eq!(preempt(&mut engine, token, &none).verdict, Verdict::Stale);
    let mut unchanged = self::engine(&[node("n1", "500m"), pod("p", 5, "")]);
    let (token, found) = candidates(&mut unchanged);
    let none = RemainingCandidates { token: found.token, ..RemainingCandidates::default() };
    let plain = unchanged.decide_from_scratch(&Arc::from("p"));
    assert_eq!(preempt(&mut unchanged, token, &none), plain);
}

#[test]
fn pods_that_are_named_are_found_on_their_nodes() {
    let engine = full_nodes();
    let located = engine.located(&["c", "p", "z"].map(Arc::from));
    let observed: Vec<[&str; 4]> = located
        .iter()
        .map(|pod| [&pod.uid, &pod.namespace, &pod.name, &pod.node].map(AsRef::as_ref))
        .collect();
    assert_eq!(observed, [["c", "d", "c", "n2"]]);
}
