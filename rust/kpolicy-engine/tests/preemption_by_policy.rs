//! Preemption as a policy sets it: which pods may be evicted, and which candidate is chosen.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, RemainingCandidate, RemainingCandidates, Still};
use serde_json::{Value, json};

/// `victim.annotations['owner'] != 'nobody'`: with no such annotation it errs.
const BY_ANNOTATION: usize = 2;
/// `node.domain('topology.kubernetes.io/zone').pods.size() > 3`
const BY_ZONE: usize = 4;
/// `'team' in namespaceObject.labels || victim.namespace == pod.namespace`
const BY_NAMESPACE: usize = 5;
/// `pod.name < victim.name`
const BY_NAME: usize = 6;

fn compiled(victims: usize) -> Value {
    let rules: Value = serde_json::from_str(include_str!("worlds/rules.json")).expect("JSON");
    rules["victims"][victims].clone()
}

fn node(name: &str, cpu: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
           "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "a"}},
           "status": {"allocatable": {"cpu": cpu.to_string(), "memory": "64Gi", "pods": "110"}}})
}

fn pod(name: &str, priority: i32, node: Option<&str>, owner: &str) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "red", "name": name, "uid": name},
        "spec": {"priority": priority, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}});
    if !owner.is_empty() {
        pod["metadata"]["annotations"] = json!({"owner": owner});
    }
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"});
    }
    pod
}

fn document(preemption: Value) -> Value {
    let mut document = support::default_program();
    document["profiles"][0]["preemption"] = preemption;
    document["policies"] = json!(["p"]);
    document
}

fn engine(preemption: Value, objects: &[Value]) -> Engine {
    let mut engine = support::loaded(1, &document(preemption));
    for object in objects {
        support::apply(&mut engine, object);
    }
    engine
}

fn decide(engine: &mut Engine, uid: &str) -> Decision {
    let decided = engine.schedule(&[uid.into()], 0, &Still).decisions;
    decided.into_iter().next().expect("a decision")
}

fn victims(decision: &Decision) -> Vec<&str> {
    decision.victims.iter().map(|victim| &*victim.uid).collect()
}

#[test]
fn a_pod_that_the_policy_keeps_stays_and_one_that_it_cannot_judge() {
    let objects = [
        node("n1", 3),
        pod("kept", 0, Some("n1"), "nobody"),
        pod("unjudged", 1, Some("n1"), ""),
        pod("owned", 2, Some("n1"), "red"),
        pod("new", 9, None, ""),
    ];
    let mut plain = engine(json!({"policy": "LowerPriority"}), &objects);
    assert_eq!(victims(&decide(&mut plain, "new")), ["kept"]);
    let mut engine = engine(json!({"victims": compiled(BY_ANNOTATION)}), &objects);
    assert_eq!(victims(&decide(&mut engine, "new")), ["owned"]);
    assert!(engine.statistics().rules["*/preemption.victims"].errors > 0);
}

#[test]
fn an_explanation_names_those_that_are_spared() {
    let objects = [
        node("n1", 2),
        pod("kept", 0, Some("n1"), "nobody"),
        pod("owned", 2, Some("n1"), "red"),
        pod("new", 9, None, ""),
    ];
    let observed = |preemption: Value| -> Value {
        let mut engine = engine(preemption, &objects);
        let lines = engine.explain(Some(&["red/new".to_owned()]));
        serde_json::from_slice(&lines).expect("a line is JSON")
    };
    let by_policy = observed(json!({"victims": compiled(BY_ANNOTATION)}));
    assert_eq!(by_policy["preemption"]["candidates"], json!({"n1": ["red/owned"]}));
    assert_eq!(by_policy["preemption"]["spared"], json!({"n1": ["red/kept"]}));
    assert!(observed(json!({}))["preemption"].get("spared").is_none());
}

#[test]
fn a_node_on_which_an_extender_names_a_pod_that_has_to_stay_is_left_out() {
    let objects = [
        node("n1", 2),
        pod("kept", 0, Some("n1"), "nobody"),
        pod("owned", 2, Some("n1"), "red"),
        pod("new", 9, None, ""),
    ];
    for (named, chosen) in [("owned", "n1"), ("kept", "")] {
        let mut engine = engine(json!({"victims": compiled(BY_ANNOTATION)}), &objects);
        let new: Arc<str> = "new".into();
        let token = engine.filter(&new, &Still).token;
        let found = engine.candidates(&new, token, &[], &[]);
        assert_eq!(found.nodes.len(), 1);
        let left =
            RemainingCandidate { node: "n1".into(), victims: vec![named.into()], violations: 0 };
        let left = RemainingCandidates {
            token: found.token,
            failure: String::new(),
            nodes: Some(vec![left]),
        };
        let decision = engine.preempt(&new, token, &[], &[], &left, &Still);
        assert_eq!(&*decision.nominated_node, chosen, "{named}");
    }
}

#[test]
fn who_may_go_follows_the_pods_as_they_are() {
    let objects = [node("n1", 1), pod("low", 0, Some("n1"), "nobody"), pod("new", 9, None, "")];
    let mut engine = engine(json!({"victims": compiled(BY_ANNOTATION)}), &objects);
    let decision = decide(&mut engine, "new");
    assert_eq!(victims(&decision), [""; 0]);
    assert!(decision.message.ends_with("1 No preemption victims found for incoming pod."));
    support::apply(&mut engine, &pod("low", 0, Some("n1"), "red"));
    assert_eq!(victims(&decide(&mut engine, "new")), ["low"]);
    support::apply(&mut engine, &pod("low", 0, Some("n1"), "nobody"));
    support::apply(&mut engine, &pod("newer", 9, None, ""));
    assert_eq!(victims(&decide(&mut engine, "newer")), [""; 0]);
}

#[test]
fn who_may_go_follows_other_nodes_and_namespaces() {
    let objects = [
        node("n1", 1),
        node("n2", 4),
        pod("a", 0, Some("n1"), ""),
        pod("b", 9, Some("n2"), ""),
        pod("c", 9, Some("n2"), ""),
        pod("new", 9, None, ""),
    ];
    let only_n1 = json!({"nodeSelector": {"kubernetes.io/hostname": "n1"}});
    let mut objects = objects.to_vec();
    objects[0]["metadata"]["labels"]["kubernetes.io/hostname"] = json!("n1");
    objects[5]["spec"]["nodeSelector"] = only_n1["nodeSelector"].clone();
    let mut by_zone = engine(json!({"victims": compiled(BY_ZONE)}), &objects);
    assert_eq!(victims(&decide(&mut by_zone, "new")), [""; 0]);
    support::apply(&mut by_zone, &pod("d", 9, Some("n2"), ""));
    assert_eq!(victims(&decide(&mut by_zone, "new")), ["a"]);

    objects[2]["metadata"]["namespace"] = json!("blue");
    let mut by_namespace = engine(json!({"victims": compiled(BY_NAMESPACE)}), &objects);
    assert_eq!(victims(&decide(&mut by_namespace, "new")), [""; 0]);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "red", "labels": {"team": "red"}}});
    support::apply(&mut by_namespace, &namespace);
    assert_eq!(victims(&decide(&mut by_namespace, "new")), ["a"]);
}

#[test]
fn what_is_known_for_one_pod_is_not_taken_for_another_that_may_evict_others() {
    let objects =
        [node("n1", 1), pod("m", 0, Some("n1"), ""), pod("z", 9, None, ""), pod("b", 9, None, "")];
    let mut engine = engine(json!({"victims": compiled(BY_NAME)}), &objects);
    assert_eq!(victims(&decide(&mut engine, "z")), [""; 0]);
    assert_eq!(victims(&decide(&mut engine, "b")), ["m"]);
}

#[test]
fn the_order_of_the_criteria_is_the_policys() {
    let objects = [
        node("n1", 1),
        node("n2", 1),
        pod("old", 0, Some("n1"), ""),
        pod("matters", 5, Some("n2"), ""),
        pod("new", 9, None, ""),
    ];
    let mut younger = objects[3].clone();
    younger["status"]["startTime"] = json!("2026-02-02T00:00:00Z");
    let objects = [objects.as_slice(), &[younger]].concat();
    let mut plain = engine(json!({}), &objects);
    assert_eq!(victims(&decide(&mut plain, "new")), ["old"]);
    let mut engine = engine(json!({"order": ["latestStart", "lowestMaxPriority"]}), &objects);
    assert_eq!(victims(&decide(&mut engine, "new")), ["matters"]);
}

#[test]
fn what_is_not_known_is_refused_with_a_place() {
    let mut spec = compiled(BY_NAME);
    spec["expression"]["nodes"][1]["fact"] = json!("victim.spec.nodeName");
    spec["expression"]["reads"][1]["fact"] = json!("victim.spec.nodeName");
    let cases = [
        (json!({"order": ["fewestVictims", "oldest"]}), "order", "unknown criterion \"oldest\""),
        (json!({"order": []}), "order", "0 criteria"),
        (json!({"order": "fewestVictims"}), "order", "a list of criteria is wanted"),
        (json!({"victims": {}}), "victims.expression", "missing"),
        (json!({"victims": spec}), "victims.expression", "unknown fact \"victim.spec.nodeName\""),
    ];
    for (preemption, place, message) in cases {
        let refusals = Engine::new(1).load(&document(preemption)).expect_err("it is refused");
        assert_eq!(refusals[0].place, format!("$.profiles[0].preemption.{place}"));
        assert!(refusals[0].message.contains(message), "{refusals:?}");
    }
    let mut elsewhere = document(json!({}));
    let filter = json!({"name": "x", "policy": 0, "match": [],
        "expression": compiled(BY_NAME)["expression"]});
    elsewhere["profiles"][0]["filters"].as_array_mut().expect("a list").push(filter);
    let refusals = Engine::new(1).load(&elsewhere).expect_err("there is no victim");
    assert!(refusals[0].message.contains("victim.name"), "{refusals:?}");
}

/// `node.pods.count(selector('app=db')) < 2`
const COUNTS_OF_PODS: &str = "node.pods.count(selector('app=db')) < 2";

/// A rule of the random worlds, by its text.
fn filter_rule(source: &str) -> Value {
    let rules: Value = serde_json::from_str(include_str!("worlds/rules.json")).expect("JSON");
    let filters = rules["filters"].as_array().expect("a list");
    let mut found = filters.iter().filter(|rule| rule["expression"]["sources"][""] == source);
    let mut rule = found.next().expect("there is such a rule").clone();
    rule["match"] = json!([]);
    rule["policy"] = json!(0);
    rule
}

#[test]
fn counts_of_pods_follow_each_pod_that_a_dry_run_takes_and_puts_back() {
    let mut program = document(json!({"policy": "LowerPriority"}));
    program["profiles"][0]["filters"]
        .as_array_mut()
        .expect("a list")
        .push(filter_rule(COUNTS_OF_PODS));
    let mut engine = support::loaded(1, &program);
    for name in ["n1", "n2", "n3"] {
        support::apply(&mut engine, &node(name, 10));
        for priority in 0..3 {
            let mut counted = pod(&format!("{name}-{priority}"), priority, Some(name), "");
            counted["metadata"]["labels"] = json!({"app": "db"});
            support::apply(&mut engine, &counted);
        }
    }
    // On the second node a pod of equal priority has to stay.
    let mut stays = pod("n2-stays", 9, Some("n2"), "");
    stays["metadata"]["labels"] = json!({"app": "db"});
    support::apply(&mut engine, &stays);
    support::apply(&mut engine, &pod("new", 9, None, ""));
    let explained = engine.explain(Some(&["red/new".to_owned()]));
    let explained: Value = serde_json::from_slice(&explained).expect("JSON");
    let candidates = &explained["preemption"]["candidates"];
    assert_eq!(
        candidates,
        &json!({"n1": ["red/n1-1", "red/n1-0"], "n2": ["red/n2-2", "red/n2-1", "red/n2-0"],
            "n3": ["red/n3-1", "red/n3-0"]})
    );
    assert_eq!(victims(&decide(&mut engine, "new")).len(), 2);
}
