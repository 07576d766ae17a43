//! `ServiceAffinity` against what kube-scheduler 1.20 said under every recorded legacy policy that
//! has it: verdicts, raw and weighted scores.
//!
//! Where the pods of a service are on nodes that disagree, 1.20 asks whichever comes first, in no
//! order; then what it said must be what we say with the pods of one of these nodes alone.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const NAME: &str = "ServiceAffinity";

#[derive(Debug, Default, PartialEq, Eq)]
struct Compared {
    policies: usize,
    verdicts: usize,
    rejections: usize,
    /// Pods for which another peer was asked.
    by_other_peer: usize,
    scores: usize,
}

fn policies() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/policy-1.20");
    let entries = fs::read_dir(folder).expect("the recorded policies are in the repository");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn program(filters: &Value, scores: &Value) -> Value {
    json!({"format": 1, "hash": "sha256:test", "policies": [], "tieBreak": "random",
           "profiles": [{"schedulerName": "*", "filters": filters, "scores": scores}]})
}

fn explained(program: &Value, cluster: &Value, pod: &str) -> Value {
    let mut engine = support::loaded(1, program);
    support::apply(&mut engine, cluster);
    let line = engine.explain(Some(&[pod.to_owned()]));
    serde_json::from_slice(&line).expect("a line is JSON")
}

/// Verdicts of the rule, in order of names.
fn verdicts(line: &Value) -> Vec<(String, Value)> {
    let of = |node: &Value| {
        let found = list(&node["allFilters"]).iter().find(|verdict| verdict["plugin"] == NAME);
        (node["name"].to_string(), found.cloned().unwrap_or_default())
    };
    list(&line["nodes"]).iter().map(of).collect()
}

/// Raw and weighted scores of the rule, in order of names.
fn scores(line: &Value) -> Vec<(String, Value, Value)> {
    let is_feasible = |node: &&Value| !node["raw"].is_null();
    let of = |node: &Value| {
        (node["name"].to_string(), node["raw"][NAME].clone(), node["weighted"][NAME].clone())
    };
    list(&line["nodes"]).iter().filter(is_feasible).map(of).collect()
}

/// The cluster where only the pods of one node are left.
fn with_pods_of(cluster: &Value, node: &str) -> Value {
    let mut left = cluster.clone();
    let items = left["items"].as_array_mut().expect("a list has items");
    items.retain(|item| item["spec"]["nodeName"].as_str().is_none_or(|on| on == node));
    left
}

fn compare_verdicts(args: &Value, cluster: &Value, want: &Value, compared: &mut Compared) {
    let rule = json!({"name": NAME, "builtin": NAME, "args": args});
    let program = program(&json!([rule]), &json!([]));
    let pod = want["pod"].as_str().unwrap_or_default();
    let wanted = verdicts(want);
    compared.verdicts += wanted.len();
    compared.rejections += wanted.iter().filter(|(_, verdict)| !verdict.is_null()).count();
    if verdicts(&explained(&program, cluster, pod)) == wanted {
        return;
    }
    let nodes: BTreeSet<&str> = list(&cluster["items"])
        .iter()
        .filter_map(|item| item["spec"]["nodeName"].as_str())
        .collect();
    let says =
        |node: &&str| verdicts(&explained(&program, &with_pods_of(cluster, node), pod)) == wanted;
    assert!(nodes.iter().any(says), "{pod}: no peer explains {wanted:?}");
    compared.by_other_peer += 1;
}

/// Nodes that 1.20 found infeasible, for whatever reason, are left out here.
fn compare_scores(
    args: &Value,
    weight: &Value,
    cluster: &Value,
    want: &Value,
    compared: &mut Compared,
) {
    let rule = json!({"name": NAME, "builtin": NAME, "weight": weight, "args": args});
    let program = program(&json!([]), &json!([rule]));
    let wanted = scores(want);
    let mut cluster = cluster.clone();
    let items = cluster["items"].as_array_mut().expect("a list has items");
    let is_wanted = |name: String| wanted.iter().any(|(have, ..)| *have == name);
    items.retain(|item| item["kind"] != "Node" || is_wanted(item["metadata"]["name"].to_string()));
    let pod = want["pod"].as_str().unwrap_or_default();
    assert_eq!(scores(&explained(&program, &cluster, pod)), wanted, "{pod}");
    compared.scores += wanted.len();
}

#[test]
fn every_recorded_answer_agrees() {
    let mut compared = Compared::default();
    for path in policies() {
        let document = support::golden_case(&path);
        let read = &document["kube-scheduler-1.20"];
        let theirs = &read["args"][NAME];
        if theirs.is_null() || list(&document["clusters"]).is_empty() {
            continue;
        }
        let args = json!({"affinityLabels": theirs["AffinityLabels"],
                          "antiAffinityLabelsPreference": theirs["AntiAffinityLabelsPreference"]});
        compared.policies += 1;
        for recorded in list(&document["clusters"]) {
            for want in list(&recorded["expected"]) {
                compare_verdicts(&args, &recorded["cluster"], want, &mut compared);
                if let weight @ Value::Number(_) = &read["scores"][NAME] {
                    compare_scores(&args, weight, &recorded["cluster"], want, &mut compared);
                }
            }
        }
    }
    println!("{compared:?}");
    let all =
        Compared { policies: 8, verdicts: 2_572, rejections: 119, by_other_peer: 3, scores: 1_036 };
    assert_eq!(compared, all);
}
