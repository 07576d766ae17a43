//! Explanations with the lines of some nodes, and of pods that are alike.

#![allow(clippy::expect_used, reason = "a test may end with a panic")]

mod support;

use kpolicy_engine::Engine;
use serde_json::{Value, json};

const PODS: usize = 6;

/// Three nodes with 4, 2 and 1 cores; pods that ask for 2, 3 or 9 in turn.
fn engine() -> Engine {
    let no_args = |_: &str| json!({});
    let mut engine = support::loaded(1, &support::program(&no_args, &|_, default| default));
    for (name, cpu) in [("a", "4"), ("b", "2"), ("c", "1")] {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": cpu, "memory": "4Gi", "pods": "10"}}});
        support::apply(&mut engine, &object);
    }
    for position in 0..PODS {
        let (name, cpu) = (format!("p{position}"), ["2", "3", "9"][position % 3]);
        let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let object = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "d", "uid": name},
            "spec": {"containers": [container]}});
        support::apply(&mut engine, &object);
    }
    engine
}

fn values(lines: &[u8]) -> Vec<Value> {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("a line is JSON")).collect()
}

#[test]
fn a_line_has_the_named_nodes_and_counts_of_all() {
    let mut engine = engine();
    let full = values(&engine.explain(None));
    let named = values(&engine.explain_nodes(None, &["b".to_owned(), "none".to_owned()]));
    assert_eq!((full.len(), named.len()), (PODS, PODS));
    for (full, named) in full.iter().zip(&named) {
        let all = full["nodes"].as_array().expect("nodes");
        let mut b = all[1].clone();
        if let Some(line) = b.as_object_mut() {
            line.remove("allFilters");
        }
        assert_eq!(named["nodes"], json!([b]));
        let feasible = all.iter().filter(|node| !node["total"].is_null()).count();
        let best = full["best"].as_array().map_or(0, Vec::len);
        assert_eq!(named["counts"], json!({"nodes": 3, "feasible": feasible, "best": best}));
        for same in ["pod", "selected", "message"] {
            assert_eq!(named[same], full[same]);
        }
        assert!(named["preemption"].is_null() && named["waitsFor"].is_null());
    }
}

#[test]
fn pods_are_named_by_uid_and_each_has_one_line_in_queue_order() {
    let mut engine = engine();
    let all = values(&engine.explain_nodes(None, &[]));
    let uid = |at: usize| all[at]["pod"].as_str().expect("a key")[2..].to_owned();
    let uids = [uid(2), uid(0), "nobody".to_owned(), uid(2)];
    let some = values(&engine.explain_nodes(Some(&uids), &[]));
    assert_eq!(some, [all[0].clone(), all[2].clone()]);
}

#[test]
fn pods_that_are_alike_have_lines_that_differ_in_their_names() {
    let mut engine = engine();
    let together = engine.explain(None);
    let keys = (0..PODS).map(|position| format!("d/p{position}"));
    let apart: Vec<u8> = keys.flat_map(|key| engine.explain(Some(&[key]))).collect();
    assert_eq!(together, apart);
    let mut lines = values(&together);
    let selected: Vec<bool> = lines.iter().map(|line| !line["selected"].is_null()).collect();
    assert_eq!(selected, [true, true, false, true, true, false]);
    for line in &mut lines {
        line["pod"] = "".into();
    }
    assert_eq!(lines[..3], lines[3..]);
}
