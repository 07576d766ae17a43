//! A cycle fails, and the pod is not parked, if a rule cannot judge the pod. Pods that kpolicy
//! cannot place are parked.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may end with a panic")]

mod support;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Stopwatch, Verdict};
use serde_json::{Value, json};

struct Still;

impl Stopwatch for Still {
    fn elapsed_ns(&self) -> u64 {
        0
    }
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
           "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}})
}

fn pod(spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["containers"] = json!([{"name": "c", "image": "i"}]);
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
           "metadata": {"name": "p", "namespace": "ns", "uid": "u"}})
}

/// What is decided, and what is explained, of a pod among some nodes.
fn judged(nodes: &[&str], others: &[Value], spec: &Value) -> (Engine, Decision, Value) {
    let mut engine = support::loaded(1, &support::default_program());
    for name in nodes {
        support::apply(&mut engine, &node(name));
    }
    for object in others {
        support::apply(&mut engine, object);
    }
    support::apply(&mut engine, &pod(spec));
    let (decision, explained) = decided(&mut engine);
    (engine, decision, explained)
}

fn decided(engine: &mut Engine) -> (Decision, Value) {
    let line = engine.explain(Some(&["ns/p".to_owned()]));
    let explained = serde_json::from_slice(&line).expect("a line is JSON");
    (engine.schedule(&["u".into()], 0, &Still).decisions.remove(0), explained)
}

#[test]
fn a_rule_that_cannot_judge_the_pod_fails_the_cycle() {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                       "metadata": {"name": "nomode"}, "provisioner": "x"});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                       "metadata": {"name": "c", "namespace": "ns", "uid": "c"},
                       "spec": {"storageClassName": "nomode", "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}}}});
    let spec = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
    let (engine, decision, explained) = judged(&["n1", "n2"], &[class, claim], &spec);
    let why = "running PreFilter plugin \"VolumeBinding\": \
               VolumeBindingMode not set for StorageClass \"nomode\"";
    assert_eq!((decision.verdict, &*decision.message), (Verdict::Failed, why));
    assert!(engine.message("u").is_empty(), "it is not parked");
    assert_eq!(explained["preFilter"]["code"], "Error");
    assert_eq!(explained["message"], why);
    assert!(explained["preemption"].is_null());
}

#[test]
fn a_preference_that_cannot_be_parsed_fails_the_cycle_where_nodes_are_scored() {
    let spec = json!({"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            {"weight": 1, "preference": {"matchExpressions": [
                {"key": "cores", "operator": "Gt", "values": ["eight"]}]}}]}}});
    let (_, decision, explained) = judged(&["n1", "n2"], &[], &spec);
    let why = "running PreScore plugin \"NodeAffinity\": [1].matchExpressions[0].values[0]: Invalid \
               value: \"eight\": for 'Gt', 'Lt' operators, the value must be an integer";
    assert_eq!((decision.verdict, &*decision.message), (Verdict::Failed, why));
    assert_eq!(explained["message"], why);
    assert!(explained["selected"].is_null());
    // A single node is not scored.
    let (_, decision, explained) = judged(&["n1"], &[], &spec);
    assert_eq!((decision.verdict, &*decision.node), (Verdict::Placed, "n1"));
    assert_eq!(explained["selected"], "n1");
    let mut only = spec;
    only["nodeSelector"] = json!({"never": "there"});
    let (_, decision, _) = judged(&["n1", "n2"], &[], &only);
    assert_eq!(decision.verdict, Verdict::Parked);
}

#[test]
fn a_pod_of_a_group_is_parked_in_every_profile() {
    let spec = json!({"schedulingGroup": {"podGroupName": "gang"}});
    let (_, decision, explained) = judged(&["n1", "n2"], &[], &spec);
    let why = "0/2 nodes are available: pod belongs to a pod group, and kpolicy does not place the \
               pods of a group together.";
    assert_eq!(decision.verdict, Verdict::Parked);
    assert!(decision.message.starts_with(why), "{}", decision.message);
    assert_eq!(decision.rejected_by, ["GangScheduling".into()]);
    assert_eq!(explained["preFilter"]["plugin"], "GangScheduling");
    assert_eq!(explained["preFilter"]["code"], "UnschedulableAndUnresolvable");

    let mut document = support::default_program();
    document["profiles"][0]["filters"] = json!([]);
    let mut engine = support::loaded(1, &document);
    support::apply(&mut engine, &node("n1"));
    support::apply(&mut engine, &pod(&spec));
    let decision = engine.schedule(&["u".into()], 0, &Still).decisions.remove(0);
    assert_eq!(decision.verdict, Verdict::Parked);
}

/// As kube-scheduler's own test "some nodes are filtered out by prefilter plugin and other are filtered
/// out by filter plugin" has it: the status of the nodes outside names only what narrowed.
#[test]
fn nodes_that_were_not_looked_at_name_only_the_rules_that_narrowed() {
    let by_name = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]}}});
    let full = json!({"apiVersion": "v1", "kind": "Pod",
                      "metadata": {"name": "full", "namespace": "ns", "uid": "full"},
                      "spec": {"nodeName": "n2", "containers": [
                          {"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]}});
    let mut engine = support::loaded(1, &support::default_program());
    for name in ["n1", "n2", "n3"] {
        support::apply(&mut engine, &node(name));
    }
    support::apply(&mut engine, &full);
    let mut agent = pod(&json!({"affinity": by_name}));
    agent["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
    support::apply(&mut engine, &agent);
    let why = "0/3 nodes are available: 1 Insufficient cpu, \
               2 node(s) didn't satisfy plugin(s) [NodeAffinity].";
    let (decision, explained) = decided(&mut engine);
    assert!(decision.message.starts_with(why), "{}", decision.message);
    assert_eq!(decision.rejected_by, ["NodeAffinity".into(), "NodeResourcesFit".into()]);
    assert_eq!(explained["message"], why);
    let reasons = json!(["node(s) didn't satisfy plugin(s) [NodeAffinity]"]);
    for outside in [0, 2] {
        assert_eq!(explained["nodes"][outside]["filter"]["plugin"], "PreFilter");
        assert_eq!(explained["nodes"][outside]["filter"]["reasons"], reasons);
    }
    // The nominated node is tried before the status is written.
    agent["status"] = json!({"nominatedNodeName": "n2"});
    support::apply(&mut engine, &agent);
    let why = "0/3 nodes are available: 1 Insufficient cpu, \
               2 node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit].";
    let (decision, explained) = decided(&mut engine);
    assert!(decision.message.starts_with(why), "{}", decision.message);
    assert_eq!(explained["message"], why);
}
