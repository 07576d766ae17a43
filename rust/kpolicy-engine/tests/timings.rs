//! Durations of stages and rules are reported by the right names and as often as they should be,
//! and remembered answers are not counted.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Still, Stopwatch, Verdict};
use kpolicy_engine::timing::{SAMPLED_OF, Series};
use serde_json::{Value, json};

const NODES: u64 = 60;
const PROFILE: &str = "*";

/// Whoever looks at it finds that a microsecond went by.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Stopwatch for Ticking {
    fn elapsed_ns(&self) -> u64 {
        self.0.fetch_add(1_000, Ordering::Relaxed) + 1_000
    }
}

fn node(index: u64, cpu: &str) -> Value {
    let name = format!("n{index:03}");
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}}})
}

fn pod(name: &str, cpu: &str, more: &Value) -> Value {
    let mut spec = json!({"containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]});
    spec.as_object_mut()
        .expect("written above")
        .extend(more.as_object().cloned().unwrap_or_default());
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "d", "uid": name}})
}

fn engine(cpu_of: impl Fn(u64) -> &'static str) -> Engine {
    let mut engine = support::loaded(3, &support::default_program());
    (0..NODES).for_each(|index| {
        support::apply(&mut engine, &node(index, cpu_of(index)));
    });
    engine
}

fn decide(engine: &mut Engine, pod: &Value) -> Decision {
    support::apply(engine, pod);
    let uid: Arc<str> = pod["metadata"]["uid"].as_str().expect("it has one").into();
    engine.schedule(&[uid], 0, &Ticking::default()).decisions.remove(0)
}

fn count(series: &[Series], name: &str, point: &str, status: &str) -> u64 {
    let found: Vec<&Series> = series
        .iter()
        .filter(|one| (&*one.name, one.point, one.status) == (name, point, status))
        .collect();
    assert!(found.len() < 2, "{name} {point} {status} comes twice");
    found.iter().map(|one| one.counts.iter().sum::<u64>()).sum()
}

fn of_rule(engine: &Engine, rule: &str, point: &str, status: &str) -> u64 {
    count(&engine.timings().rules(), rule, point, status)
}

fn of_stage(engine: &Engine, point: &str, status: &str) -> u64 {
    count(&engine.timings().stages(), PROFILE, point, status)
}

fn total_ns(series: &[Series]) -> u64 {
    series.iter().map(|one| one.sum_ns).sum()
}

#[test]
fn an_observation_of_a_rule_is_one_node() {
    let mut engine = engine(|_| "8");
    assert_eq!(decide(&mut engine, &pod("a", "1", &json!({}))).verdict, Verdict::Placed);
    for rule in ["NodeResourcesFit", "NodeUnschedulable", "TaintToleration"] {
        assert_eq!(of_rule(&engine, rule, "Filter", "Success"), NODES, "{rule}");
        assert_eq!(of_rule(&engine, rule, "PreFilter", "Success"), 1, "{rule}");
    }
    for rule in ["NodeResourcesFit", "NodeResourcesBalancedAllocation"] {
        assert_eq!(of_rule(&engine, rule, "Score", "Success"), NODES, "{rule}");
        assert_eq!(of_rule(&engine, rule, "PreScore", "Success"), 1, "{rule}");
    }
    // It has nothing to say of this pod.
    assert_eq!(of_rule(&engine, "NodePorts", "PreFilter", "Skip"), 1);
    assert_eq!(of_rule(&engine, "NodePorts", "Filter", "Success"), 0);
    let rules = engine.timings().rules();
    let fit = rules.iter().find(|one| (&*one.name, one.point) == ("NodeResourcesFit", "Filter"));
    let fit = fit.expect("it was asked");
    assert!(rules.iter().all(|one| one.counts.iter().any(|count| *count > 0)), "{rules:?}");
    // One look at the stopwatch for all nodes, so that each took its share of a microsecond.
    assert_eq!(fit.sum_ns, 1_000);
    assert_eq!(fit.counts.first(), Some(&NODES));
    assert_eq!(fit.counts.len(), 21);
}

#[test]
fn every_tenth_decision_is_looked_at_and_what_is_remembered_is_not_told() {
    let mut engine = engine(|_| "8");
    let mut observed = Vec::new();
    for index in 0..=2 * SAMPLED_OF {
        let name = format!("p{index}");
        assert_eq!(decide(&mut engine, &pod(&name, "100m", &json!({}))).verdict, Verdict::Placed);
        observed.push((
            of_rule(&engine, "NodeResourcesFit", "Filter", "Success"),
            of_rule(&engine, "TaintToleration", "Filter", "Success"),
            of_rule(&engine, "NodeResourcesFit", "PreFilter", "Success"),
        ));
    }
    let sampled = usize::try_from(SAMPLED_OF).expect("it is small");
    // All of it the first time; then only the node that had got the pod before.
    assert!(observed[..sampled].iter().all(|one| *one == (NODES, NODES, 1)), "{observed:?}");
    assert!(
        observed[sampled..2 * sampled].iter().all(|one| *one == (NODES + 1, NODES, 2)),
        "{observed:?}"
    );
    assert_eq!(observed[2 * sampled], (NODES + 2, NODES, 3));
    assert_eq!(of_stage(&engine, "Filter", "Success"), 2 * SAMPLED_OF + 1);
    assert_eq!(of_stage(&engine, "PreFilter", "Success"), 2 * SAMPLED_OF + 1);
    assert_eq!(of_stage(&engine, "Score", "Success"), 2 * SAMPLED_OF + 1);
}

#[test]
fn verdicts_are_told_by_their_status() {
    let mut engine = engine(|index| if index < 20 { "8" } else { "1" });
    assert_eq!(decide(&mut engine, &pod("a", "4", &json!({}))).verdict, Verdict::Placed);
    let observed = |status| of_rule(&engine, "NodeResourcesFit", "Filter", status);
    let rejected = observed("Unschedulable") + observed("UnschedulableAndUnresolvable");
    assert_eq!((observed("Success"), rejected, observed("Error")), (20, 40, 0));
}

#[test]
fn a_pod_that_fits_nowhere_has_passed_no_score_and_looked_for_room() {
    let mut engine = engine(|_| "1");
    let decision = decide(&mut engine, &pod("a", "4", &json!({})));
    assert_eq!(decision.verdict, Verdict::Parked);
    assert!(decision.post_filter_ns > 0);
    // As in kube-scheduler, a stage in which every node was rejected did what it is for.
    assert_eq!(of_stage(&engine, "Filter", "Success"), 1);
    assert_eq!(of_stage(&engine, "PostFilter", "Unschedulable"), 1);
    assert_eq!(of_rule(&engine, "DefaultPreemption", "PostFilter", "Unschedulable"), 1);
    assert_eq!(of_stage(&engine, "PreScore", "Success") + of_stage(&engine, "Score", "Success"), 0);
    assert_eq!(decision.score_ns, 0);
}

#[test]
fn a_pod_that_evicts_another_found_room() {
    let mut engine = engine(|_| "1");
    let low = json!({"nodeName": "n000", "priority": 0});
    (0..NODES).for_each(|index| {
        let mut low = low.clone();
        low["nodeName"] = format!("n{index:03}").into();
        support::apply(&mut engine, &pod(&format!("low{index}"), "1", &low));
    });
    let decision = decide(&mut engine, &pod("a", "1", &json!({"priority": 10})));
    assert_eq!(decision.victims.len(), 1);
    assert_eq!(of_stage(&engine, "PostFilter", "Success"), 1);
    assert_eq!(of_rule(&engine, "DefaultPreemption", "PostFilter", "Success"), 1);
}

#[test]
fn a_pod_rejected_as_a_whole_has_not_come_to_the_filters() {
    let mut engine = engine(|_| "8");
    let claim = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]});
    for _ in 0..2 {
        let decision = decide(&mut engine, &pod("a", "1", &claim));
        assert_eq!(decision.verdict, Verdict::Parked, "{}", decision.message);
        engine.apply(
            kpolicy_engine::api::Event::Gone(
                kpolicy_engine::api::Kind::Pod,
                Box::new(kpolicy_engine::model::Meta {
                    uid: "a".into(),
                    name: "a".into(),
                    namespace: "d".into(),
                    ..kpolicy_engine::model::Meta::default()
                }),
            ),
            0,
            &mut kpolicy_engine::api::Applied::default(),
        );
    }
    assert_eq!(of_stage(&engine, "PreFilter", "UnschedulableAndUnresolvable"), 2);
    assert_eq!(of_stage(&engine, "Filter", "Success"), 0);
}

#[test]
fn a_single_node_is_not_scored() {
    let mut engine = engine(|index| if index == 7 { "8" } else { "1" });
    let decision = decide(&mut engine, &pod("a", "4", &json!({})));
    assert_eq!((decision.node.as_ref(), decision.nodes_feasible), ("n007", 1));
    assert_eq!(of_stage(&engine, "Score", "Success"), 0);
    assert!(decision.score_ns > 0);
}

#[test]
fn counts_go_on_under_another_program() {
    let mut engine = engine(|_| "8");
    decide(&mut engine, &pod("a", "1", &json!({})));
    let before = total_ns(&engine.timings().rules());
    let mut program = support::default_program();
    program["profiles"][0]["filters"].as_array_mut().expect("filters").remove(0);
    engine.load(&program).expect("it is a program");
    assert_eq!(of_rule(&engine, "NodeUnschedulable", "Filter", "Success"), NODES);
    assert_eq!(total_ns(&engine.timings().rules()), before);
    for index in 0..SAMPLED_OF {
        decide(&mut engine, &pod(&format!("b{index}"), "1", &json!({})));
    }
    assert_eq!(of_rule(&engine, "NodeResourcesFit", "PreFilter", "Success"), 2);
    assert!(total_ns(&engine.timings().rules()) > before);
    assert_eq!(of_stage(&engine, "Filter", "Success"), 1 + SAMPLED_OF);
}

#[test]
fn the_two_steps_tell_of_their_stages_once() {
    let mut engine = engine(|_| "8");
    support::apply(&mut engine, &pod("p", "1", &json!({})));
    let (uid, watch) = (Arc::from("p"), Ticking::default());
    let filtered = engine.filter(&uid, &watch);
    let kept: Vec<kpolicy_engine::api::KeptNode> = filtered
        .feasible
        .iter()
        .map(|node| kpolicy_engine::api::KeptNode { node: Arc::clone(node), score: 0 })
        .collect();
    let decision = engine.choose(&uid, filtered.token, &kept, &[], &watch);
    assert_eq!(decision.verdict, Verdict::Placed);
    assert!(decision.score_ns > 0);
    for point in ["PreFilter", "Filter", "PreScore", "Score"] {
        assert_eq!(of_stage(&engine, point, "Success"), 1, "{point}");
    }
    assert_eq!(of_rule(&engine, "NodeResourcesFit", "Filter", "Success"), NODES);
    assert_eq!(of_rule(&engine, "NodeResourcesFit", "Score", "Success"), NODES);
}

#[test]
fn decisions_do_not_depend_on_who_watches() {
    let (mut watched, mut unwatched) = (engine(|_| "8"), engine(|_| "8"));
    for index in 0..40 {
        let pod = pod(&format!("p{index}"), "700m", &json!({}));
        let mut have = decide(&mut watched, &pod);
        (have.filter_ns, have.score_ns, have.post_filter_ns) = (0, 0, 0);
        support::apply(&mut unwatched, &pod);
        let uid = Arc::clone(&have.uid);
        assert_eq!(unwatched.schedule(&[uid], 0, &Still).decisions, [have]);
    }
}
