//! Profiles of tenants: which pods they serve, and what a program may not say.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Still, Verdict};
use serde_json::{Value, json};

/// A profile that needs a label of nodes.
fn profile(label: &str, tenant: &Value) -> Value {
    let filters = json!([{"name": format!("{label}/needs"), "builtin": "NodeLabel",
        "args": {"presentLabels": [label]}}]);
    json!({"schedulerName": "kpolicy", "filters": filters, "scores": [], "tenant": tenant})
}

fn tenant(name: &str, namespaces: &[&str]) -> Value {
    json!({"name": name, "namespaces": namespaces, "policiesFrom": 0})
}

fn program(profiles: &[Value]) -> Value {
    json!({"format": 1, "hash": "sha256:test", "policies": ["base"], "profiles": profiles})
}

fn node_of(engine: &mut Engine, namespace: &str) -> String {
    let uid = format!("{namespace}-uid");
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace, "uid": uid},
        "spec": {"schedulerName": "kpolicy", "containers": [{"name": "c", "image": "i"}]}});
    support::apply(engine, &pod);
    let uid: Arc<str> = uid.into();
    let decision = engine.schedule(&[uid], 0, &Still).decisions.remove(0);
    assert_eq!(decision.verdict, Verdict::Placed, "{namespace}: {}", decision.message);
    decision.node.to_string()
}

#[test]
fn a_pod_is_decided_by_the_profile_of_its_tenant() {
    let mut engine = support::loaded(
        1,
        &program(&[
            profile("shared", &Value::Null),
            profile("a", &tenant("a", &["a", "a-too"])),
            profile("b", &tenant("b", &["b"])),
        ]),
    );
    for name in ["shared", "a", "b"] {
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": name, "labels": {name: "yes"}},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}});
        support::apply(&mut engine, &node);
    }
    let decided = ["a", "other", "b", "a-too"].map(|name| node_of(&mut engine, name));
    assert_eq!(decided, ["a", "shared", "b", "a"]);
}

#[test]
fn a_program_in_which_a_pod_has_two_profiles_is_refused() {
    let refused = |profiles: &[Value]| {
        let refusals = Engine::new(1).load(&program(profiles)).expect_err("two profiles");
        refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>()
    };
    let (a, shared) = (profile("a", &tenant("a", &["x", "y"])), profile("c", &Value::Null));
    assert_eq!(refused(&[a.clone(), profile("b", &tenant("b", &["y"]))]), ["PR106"]);
    assert_eq!(refused(&[shared.clone(), a.clone(), shared]), ["PR106"]);
    assert_eq!(refused(&[a, profile("b", &tenant("", &["z"]))]), ["PR106"]);
}
