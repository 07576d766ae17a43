//! How much work looking for victims may take, counted: ordinary pods never reach the bound, and a
//! search that goes beyond it evicts nobody.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Still, Verdict};
use kpolicy_engine::rules::decision_work::search_units_max;
use serde_json::{Value, json};

const PODS_A_NODE: usize = 110;

fn pod(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "web"}}})
}

fn container(cpu: &str) -> Value {
    json!({"name": cpu, "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}})
}

/// Full nodes, whose pods matter less than others.
fn full_of_victims(nodes: usize, program: &Value) -> Engine {
    let mut engine = support::loaded(1, program);
    let mut items: Vec<Value> = (0..nodes)
        .map(|index| {
            let name = format!("node-{index:05}");
            json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name,
                    "disk": "ssd", "topology.kubernetes.io/zone": format!("zone-{}", index % 3)}},
                "status": {"allocatable": {"cpu": "11", "memory": "128Gi", "pods": "110"}}})
        })
        .collect();
    for index in 0..nodes * PODS_A_NODE {
        let node = format!("node-{:05}", index / PODS_A_NODE);
        let spec = json!({"nodeName": node, "containers": [container("100m")]});
        items.push(pod(&format!("victim-{index:06}"), spec));
    }
    support::apply(&mut engine, &json!({"apiVersion": "v1", "kind": "List", "items": items}));
    engine
}

/// Disruption budgets that count every victim and allow none: no candidate is good enough to end the
/// search before the last node.
fn add_budgets(engine: &mut Engine, indices: std::ops::Range<usize>) {
    let budget = |index: usize| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": format!("budget-{index:05}"), "namespace": "d"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": 0}})
    };
    let items: Vec<Value> = indices.map(budget).collect();
    support::apply(engine, &json!({"apiVersion": "v1", "kind": "List", "items": items}));
}

fn preemptor(name: &str) -> Value {
    pod(name, json!({"priority": 1_000, "containers": [container("1")]}))
}

fn scheduled(engine: &mut Engine, name: &str) -> Decision {
    let mut batch = engine.schedule(&[Arc::from(name)], 0, &Still);
    assert_eq!(batch.decisions.len(), 1, "{name}");
    batch.decisions.remove(0)
}

/// What becomes of the pod, and the units of all dry runs that were done to the end.
fn counted(engine: &mut Engine, name: &str) -> (Decision, u64) {
    let before = engine.program().units_spent();
    let decision = engine.decide_from_scratch(&name.into());
    (decision, engine.program().units_spent() - before)
}

#[test]
fn a_search_for_victims_ends_with_its_budget_and_nobody_is_evicted() {
    for (budgets, verdict) in [(1, Verdict::Parked), (1_000, Verdict::SetAside)] {
        let mut engine = full_of_victims(200, &support::default_program());
        add_budgets(&mut engine, 0..budgets);
        support::apply(&mut engine, &preemptor("high"));
        support::apply(&mut engine, &preemptor("other"));
        let scratch = engine.decide_from_scratch(&"high".into());
        let began = support::processor_time();
        let decision = scheduled(&mut engine, "high");
        println!(
            "{budgets} budgets: {:?} {}",
            support::processor_time_since(began),
            decision.message
        );
        assert_eq!(decision.verdict, verdict, "{}", decision.message);
        let is_cut = verdict == Verdict::SetAside;
        assert_eq!(decision.victims.is_empty(), is_cut);
        assert_eq!(decision.nominated_node.is_empty(), is_cut);
        assert_eq!(decision.message.contains("looking for victims takes more work"), is_cut);
        assert_eq!(engine.statistics().pods_parked, usize::from(!is_cut));
        assert_eq!((scratch.verdict, &scratch.message), (verdict, &decision.message));
        // What was remembered of single nodes makes no difference to where the search ends.
        assert_eq!(scheduled(&mut engine, "other").verdict, verdict);
    }
}

#[test]
fn the_last_search_that_its_budget_is_enough_for_is_done() {
    const NODES: usize = 20;
    let mut engine = full_of_victims(NODES, &support::default_program());
    support::apply(&mut engine, &preemptor("high"));
    let units_max = search_units_max(NODES, NODES * PODS_A_NODE);
    add_budgets(&mut engine, 0..1);
    let (_, first) = counted(&mut engine, "high");
    add_budgets(&mut engine, 1..2);
    let (_, second) = counted(&mut engine, "high");
    let a_budget = second - first;
    assert_eq!(a_budget, (4 * NODES * PODS_A_NODE) as u64, "2 for it, 2 for its one requirement");

    let last = usize::try_from((units_max - first) / a_budget).expect("few") + 1;
    add_budgets(&mut engine, 2..last);
    let (decision, units) = counted(&mut engine, "high");
    assert_eq!((decision.verdict, decision.victims.len()), (Verdict::Parked, 10));
    assert!(units <= units_max && units + a_budget > units_max, "{units} of {units_max}");
    add_budgets(&mut engine, last..last + 1);
    let (decision, units) = counted(&mut engine, "high");
    assert_eq!((decision.verdict, decision.victims.len()), (Verdict::SetAside, 0));
    assert!(decision.message.contains(&format!("more than {units_max} units")));
    assert!(units <= units_max, "{units} of {units_max}");
}

/// `node.pods.count(selector('app=db')) < 2000`, or the same of `node.pods.size()`, for the same cost.
fn rule(reads_pods: bool) -> Value {
    let read = if reads_pods {
        json!({"op": "fact", "type": "int", "fact": "node.pods.count", "args": [1]})
    } else {
        json!({"op": "fact", "type": "int", "fact": "node.pods.size"})
    };
    let reads = if reads_pods {
        json!([{"fact": "node.pods.count", "args": [null], "column": "int"}])
    } else {
        json!([{"fact": "node.pods.size", "args": [], "column": "int"}])
    };
    let expression = json!({"format": 1, "constants": ["app=db", 2_000], "nodes": [
            {"op": "constant", "type": "string", "constant": 0},
            {"op": "call", "type": "selector", "overload": "selector_string", "args": [0]},
            read,
            {"op": "constant", "type": "int", "constant": 1},
            {"op": "call", "type": "bool", "overload": "less_int64", "args": [2, 3]}],
        "spans": [[0, 1], [0, 1], [0, 1], [0, 1], [0, 1]],
        "reads": reads, "cost": 33, "root": 4, "time": "node", "type": "bool"});
    json!({"name": "r", "policy": 0, "expression": expression, "match": [], "onError": "reject"})
}

#[test]
fn a_count_with_a_constant_selector_is_charged_by_the_pods_that_it_counts() {
    const NODES: usize = 20;
    let units = [false, true].map(|reads_pods| {
        let mut program = support::default_program();
        program["policies"] = json!(["p"]);
        let filters = program["profiles"][0]["filters"].as_array_mut().expect("a list");
        filters.push(rule(reads_pods));
        let mut engine = full_of_victims(NODES, &program);
        add_budgets(&mut engine, 0..1);
        support::apply(&mut engine, &preemptor("high"));
        let (decision, units) = counted(&mut engine, "high");
        assert_eq!((decision.verdict, decision.victims.len()), (Verdict::Parked, 10));
        units
    });
    let [of_size, of_count] = units;
    // Each pod of a node is walked, taken and put back.
    let counted = NODES * 3 * PODS_A_NODE;
    assert_eq!(of_count - of_size, 2 * counted as u64);
}

/// A kind of pod, the disruption budgets of its namespace, and its spec.
fn ordinary() -> Vec<(&'static str, usize, Value)> {
    let alike = json!({"matchLabels": {"app": "other"}});
    let rich = json!({"priority": 1_000,
        "containers": [container("800m"), container("100m"), container("100m")],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
        "topologySpreadConstraints": [{"maxSkew": 5, "labelSelector": alike,
            "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": alike}]}}});
    let plain = json!({"priority": 1_000, "containers": [container("1")]});
    vec![("plain", 1, plain), ("rich", 1, rich.clone()), ("rich, 10 budgets", 10, rich)]
}

#[test]
fn ordinary_pods_stay_below_it_even_where_every_node_is_searched_to_the_end() {
    const NODES: usize = 40;
    const LARGE: usize = 5_000;
    let units_max = search_units_max(LARGE, LARGE * PODS_A_NODE);
    for (kind, budgets, spec) in ordinary() {
        let mut engine = full_of_victims(NODES, &support::default_program());
        add_budgets(&mut engine, 0..budgets);
        support::apply(&mut engine, &pod("high", spec));
        let (decision, units) = counted(&mut engine, "high");
        assert_eq!((decision.verdict, decision.victims.len()), (Verdict::Parked, 10), "{kind}");
        // Each node takes as much as any other.
        let in_all = units * (LARGE / NODES) as u64;
        println!("{kind:<20} {:>8} units a node of {}", units / NODES as u64, units_max / 5_000);
        assert!(in_all <= units_max, "{kind}: {in_all} units of {units_max}");
        assert!(units > (NODES * PODS_A_NODE) as u64, "{kind}: all of them were looked at");
    }
}
