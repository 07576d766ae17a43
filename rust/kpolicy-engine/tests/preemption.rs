//! Preemption from outside: what a parked pod's decision says, and what later pods see of it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, Decision, Still, Verdict};
use serde_json::{Value, json};

fn node(name: &str, cpu: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
           "status": {"allocatable": {"cpu": cpu.to_string(), "memory": "64Gi", "pods": "110"}}})
}

/// A pod of this many cores; on a node, it has started.
fn pod(name: &str, priority: i32, cpu: u32, node: Option<&str>) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "red", "name": name, "uid": name, "labels": {"app": "web"}},
        "spec": {"priority": priority, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu.to_string()}}}]}});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"});
    }
    pod
}

fn engine(objects: &[Value]) -> Engine {
    let mut engine = support::loaded(1, &support::default_program());
    for object in objects {
        support::apply(&mut engine, object);
    }
    engine
}

fn decide(engine: &mut Engine, uids: &[&str]) -> Vec<Decision> {
    let uids: Vec<Arc<str>> = uids.iter().map(|uid| (*uid).into()).collect();
    engine.schedule(&uids, 0, &Still).decisions
}

fn victims(decision: &Decision) -> Vec<&str> {
    decision.victims.iter().map(|victim| &*victim.uid).collect()
}

fn nominated_to(engine: &Engine, uid: &str) -> Option<String> {
    engine.cluster().nominations().node_of(uid).map(|node| node.as_ref().to_owned())
}

#[test]
fn as_few_as_possible_go_and_those_that_matter_least() {
    let mut engine = engine(&[
        node("n1", 4),
        pod("high", 20, 1, Some("n1")),
        pod("low", 1, 1, Some("n1")),
        pod("middle", 5, 1, Some("n1")),
        pod("lowest", 0, 1, Some("n1")),
        pod("new", 10, 2, None),
    ]);
    let decision = &decide(&mut engine, &["new"])[0];
    assert_eq!(decision.verdict, Verdict::Parked);
    assert_eq!(&*decision.nominated_node, "n1");
    assert_eq!(victims(decision), ["low", "lowest"]);
    assert_eq!(
        &*decision.message,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for \
         pod on node n1, preempting 2 victims"
    );
    assert_eq!(nominated_to(&engine, "new").as_deref(), Some("n1"));
}

#[test]
fn a_release_says_what_it_always_said() {
    let mut document = support::default_program();
    document["release"] = json!("1.36");
    let mut engine = support::loaded(1, &document);
    for object in [
        node("n1", 2),
        pod("low", 0, 2, Some("n1")),
        pod("high", 10, 2, None),
        pod("same", 0, 2, None),
    ] {
        support::apply(&mut engine, &object);
    }
    let decisions = decide(&mut engine, &["same", "high"]);
    let messages: Vec<&str> = decisions.iter().map(|each| each.message.as_ref()).collect();
    assert_eq!(
        messages,
        [
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, \
             preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            "0/1 nodes are available: 1 Insufficient cpu.",
        ]
    );
}

#[test]
fn a_pod_on_which_a_budget_is_spent_is_spared_if_another_will_do() {
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "red", "name": "b"},
        "spec": {"selector": {"matchLabels": {"app": "spared"}}},
        "status": {"disruptionsAllowed": 0}});
    let mut spared = pod("spared", 0, 1, Some("n1"));
    spared["metadata"]["labels"]["app"] = json!("spared");
    let common = [node("n1", 2), budget, spared, pod("new", 10, 1, None)];
    let mut engine = engine(&common);
    support::apply(&mut engine, &pod("matters-more", 5, 1, Some("n1")));
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["matters-more"]);
}

#[test]
fn later_pods_of_a_batch_see_the_nomination() {
    let mut engine = engine(&[
        node("n1", 2),
        node("n2", 2),
        pod("a", 0, 2, Some("n1")),
        pod("b", 0, 2, Some("n2")),
        pod("first", 10, 2, None),
        pod("second", 10, 2, None),
        pod("third", 10, 2, None),
    ]);
    let decisions = decide(&mut engine, &["first", "second", "third"]);
    let nodes: Vec<&str> = decisions.iter().map(|each| each.nominated_node.as_ref()).collect();
    let mut sorted = nodes.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["", "n1", "n2"]);
    assert_eq!(nodes[2], "", "both nodes are spoken for");
    assert_eq!(
        &*decisions[2].message,
        "0/2 nodes are available: 2 Insufficient cpu. preemption: \
         0/2 nodes are available: 2 Insufficient cpu."
    );
}

#[test]
fn lower_claims_to_the_node_give_way() {
    let mut engine = engine(&[
        node("n1", 2),
        pod("a", 0, 2, Some("n1")),
        pod("low", 5, 2, None),
        pod("high", 10, 2, None),
    ]);
    assert_eq!(&*decide(&mut engine, &["low"])[0].nominated_node, "n1");
    assert_eq!(&*decide(&mut engine, &["high"])[0].nominated_node, "n1");
    assert_eq!(nominated_to(&engine, "high").as_deref(), Some("n1"));
    assert_eq!(nominated_to(&engine, "low"), None);
}

#[test]
fn the_room_made_is_taken() {
    let mut engine = engine(&[node("n1", 2), pod("a", 0, 2, Some("n1")), pod("new", 10, 2, None)]);
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["a"]);
    let mut gone = pod("a", 0, 2, Some("n1"));
    gone["status"]["phase"] = json!("Succeeded");
    let wakes = support::apply(&mut engine, &gone).wakes;
    assert_eq!(wakes.len(), 1);
    let decision = &decide(&mut engine, &["new"])[0];
    assert_eq!((decision.verdict, &*decision.node), (Verdict::Placed, "n1"));
    assert_eq!(nominated_to(&engine, "new"), None);
}

#[test]
fn nobody_else_goes_while_victims_are_terminating() {
    let mut leaving = pod("a", 0, 2, Some("n1"));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:01:00Z");
    leaving["status"]["conditions"] = json!([
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]);
    let mut engine = engine(&[
        node("n1", 2),
        node("n2", 2),
        pod("a", 0, 2, Some("n1")),
        pod("b", 5, 2, Some("n2")),
        pod("new", 10, 2, None),
    ]);
    assert_eq!(&*decide(&mut engine, &["new"])[0].nominated_node, "n1");
    support::apply(&mut engine, &leaving);
    let decision = &decide(&mut engine, &["new"])[0];
    assert!(decision.victims.is_empty());
    assert_eq!(&*decision.nominated_node, "n1", "the nomination stays");
    assert_eq!(
        &*decision.message,
        "0/2 nodes are available: 2 Insufficient cpu. preemption: \
         not eligible due to a terminating pod on the nominated node."
    );
    // Deleted for another reason, it is not waited for.
    leaving["status"]["conditions"][0]["reason"] = json!("EvictionByEvictionAPI");
    support::apply(&mut engine, &leaving);
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["a"]);
}

#[test]
fn an_eviction_counts_before_the_watch_shows_it() {
    let mut engine = engine(&[
        node("n1", 2),
        node("n2", 2),
        pod("a", 0, 2, Some("n1")),
        pod("b", 5, 2, Some("n2")),
        pod("new", 10, 2, None),
    ]);
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["a"]);
    let mut applied = Applied::default();
    engine.settle_room("new", &["a".into()], true, &mut applied);
    assert_eq!(applied.wakes, [], "the room is not there yet");
    // An older state of the victim, as a lagging watch shows it, changes nothing.
    support::apply(&mut engine, &pod("a", 0, 2, Some("n1")));
    let decision = &decide(&mut engine, &["new"])[0];
    assert_eq!((victims(decision), &*decision.nominated_node), (vec![], "n1"));
    assert!(decision.message.ends_with("a terminating pod on the nominated node."));
    // Who matters more takes the place, and need not evict that one again.
    support::apply(&mut engine, &pod("newer", 20, 2, None));
    let newer = &decide(&mut engine, &["newer"])[0];
    assert_eq!((victims(newer), newer.victims[0].is_terminating), (vec!["a"], true));
    let mut gone = pod("newer", 20, 2, None);
    gone["status"] = json!({"phase": "Failed"});
    support::apply(&mut engine, &gone);
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["a"], "its claim is void");
    // Once it is shown as leaving, what it says of why is what counts.
    let mut leaving = pod("a", 0, 2, Some("n1"));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:01:00Z");
    support::apply(&mut engine, &leaving);
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["a"]);
    assert!(decide(&mut engine, &["new"])[0].victims[0].is_terminating);
}

#[test]
fn room_that_could_not_be_made_is_given_back() {
    let mut engine = engine(&[
        node("n1", 2),
        pod("a", 0, 1, Some("n1")),
        pod("b", 0, 1, Some("n1")),
        pod("new", 10, 2, None),
        pod("other", 10, 1, None),
    ]);
    assert_eq!(victims(&decide(&mut engine, &["new"])[0]), ["a", "b"]);
    let mut gone = pod("b", 0, 1, Some("n1"));
    gone["status"]["phase"] = json!("Succeeded");
    support::apply(&mut engine, &gone);
    assert_eq!(decide(&mut engine, &["other"])[0].verdict, Verdict::Parked, "it is spoken for");
    let mut applied = Applied::default();
    engine.settle_room("new", &["b".into()], false, &mut applied);
    assert_eq!(nominated_to(&engine, "new"), None);
    let woken: Vec<&str> = applied.wakes.iter().map(|wake| &*wake.uid).collect();
    assert_eq!(woken, ["other"]);
    assert_eq!(decide(&mut engine, &["other"])[0].verdict, Verdict::Placed);
    // Neither an unknown pod nor a second word on it matters.
    let mut again = Applied::default();
    engine.settle_room("new", &["b".into(), "nobody".into()], false, &mut again);
    engine.settle_room("nobody", &[], false, &mut again);
    assert_eq!(again, Applied::default());
}

#[test]
fn a_claim_that_no_eviction_can_serve_any_more_is_void() {
    let mut engine = engine(&[node("n1", 2), pod("a", 0, 2, Some("n1")), pod("new", 10, 2, None)]);
    assert_eq!(&*decide(&mut engine, &["new"])[0].nominated_node, "n1");
    support::apply(&mut engine, &pod("a", 10, 2, Some("n1")));
    let decision = &decide(&mut engine, &["new"])[0];
    assert_eq!(&*decision.nominated_node, "");
    assert_eq!(nominated_to(&engine, "new"), None);
    assert!(decision.message.ends_with(
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    ));
}

#[test]
fn messages_tell_what_was_tried() {
    let mut never = pod("never", 10, 2, None);
    never["spec"]["preemptionPolicy"] = json!("Never");
    let mut missing = pod("missing", 10, 1, None);
    missing["spec"]["affinity"] = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]},
                             {"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]}}});
    let mut engine = engine(&[
        node("n1", 2),
        node("n2", 1),
        pod("a", 10, 2, Some("n1")),
        pod("fits-nowhere", 10, 2, None),
        never,
        missing,
    ]);
    let decisions = decide(&mut engine, &["fits-nowhere", "never", "missing"]);
    let messages: Vec<&str> = decisions.iter().map(|each| each.message.as_ref()).collect();
    assert_eq!(
        messages,
        [
            "0/2 nodes are available: 2 Insufficient cpu. \
             preemption: 0/2 nodes are available: 1 No preemption victims found for incoming \
             pod, 1 Preemption is not helpful for scheduling.",
            "0/2 nodes are available: 2 Insufficient cpu. \
             preemption: not eligible due to preemptionPolicy=Never.",
            "0/2 nodes are available: pod affinity terms conflict. not found",
        ]
    );
}

#[test]
fn the_search_ends_with_enough_candidates_and_starts_anywhere() {
    let mut document = support::default_program();
    document["profiles"][0]["preemption"] = json!({"policy": "LowerPriority",
        "minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1});
    let chosen = |seed: u64| {
        let mut engine = support::loaded(seed, &document);
        for index in 0..20 {
            let name = format!("n{index:02}");
            support::apply(&mut engine, &node(&name, 2));
            // The best node is the last one: a whole search would always find it.
            support::apply(&mut engine, &pod(&format!("p{index}"), 50 - index, 2, Some(&name)));
        }
        support::apply(&mut engine, &pod("new", 100, 2, None));
        decide(&mut engine, &["new"])[0].nominated_node.to_string()
    };
    let mut nodes: Vec<String> = (0..40).map(chosen).collect();
    assert_eq!(nodes[7], chosen(7), "the same seed gives the same node");
    nodes.sort_unstable();
    nodes.dedup();
    assert!(nodes.len() > 10, "{nodes:?}");
}

#[test]
fn a_profile_that_never_evicts_says_so_by_silence() {
    let mut document = support::default_program();
    document["profiles"][0]["preemption"] = json!({"policy": "Never"});
    let mut engine = support::loaded(1, &document);
    for object in [node("n1", 2), pod("a", 0, 2, Some("n1")), pod("new", 10, 2, None)] {
        support::apply(&mut engine, &object);
    }
    let explained: Value = serde_json::from_slice(&engine.explain(None)).expect("a line is JSON");
    assert!(explained.get("preemption").is_none());
    let decision = &decide(&mut engine, &["new"])[0];
    assert!(decision.victims.is_empty() && decision.nominated_node.is_empty());
    assert!(decision.message.ends_with("1 Insufficient cpu."));
}
