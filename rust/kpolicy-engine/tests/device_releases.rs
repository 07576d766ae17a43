//! What releases and their gates make of devices, and time of a claim whose devices are not ready.

#![allow(clippy::expect_used, reason = "a test may end with a panic")]

mod support;

use kpolicy_engine::api::{Still, Verdict};
use serde_json::{Value, json};

/// Filters in order, under a release with some gates set.
fn program(filters: &[&str], release: &str, gates: &Value) -> Value {
    let filters: Vec<Value> =
        filters.iter().map(|name| json!({"name": name, "builtin": name, "args": {}})).collect();
    json!({
        "format": 1, "hash": "sha256:test", "policies": [], "tieBreak": "random",
        "release": release, "featureGates": gates,
        "profiles": [{"schedulerName": "*", "percentageOfNodesToScore": 100, "filters": filters,
            "scores": [{"name": "DynamicResources", "builtin": "DynamicResources", "weight": 2,
                        "args": {}}]}],
    })
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "50"}}})
}

fn class() -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {}})
}

fn slice(spec: &Value) -> Value {
    let mut slice = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": "s"}, "spec": {"driver": "x",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}}});
    for (name, value) in spec.as_object().expect("an object") {
        slice["spec"][name] = value.clone();
    }
    slice
}

fn claim(name: &str, devices: &Value, status: &Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"devices": devices}, "status": status})
}

fn one_gpu() -> Value {
    json!({"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu",
        "allocationMode": "ExactCount", "count": 1}}]})
}

fn pod(name: &str, claims: &[&str], cpu: &str) -> Value {
    let claims: Vec<Value> =
        claims.iter().map(|claim| json!({"name": claim, "resourceClaimName": claim})).collect();
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"resourceClaims": claims, "containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": cpu}}}]}})
}

/// What becomes of a pod with one claim; empty: it is placed.
fn fate(release: &str, gates: &Value, slice_spec: &Value, devices: &Value) -> String {
    let mut engine = support::loaded(1, &program(&["DynamicResources"], release, gates));
    let all = [node("n"), class(), slice(slice_spec), claim("c", devices, &json!({}))];
    for value in all.iter().chain([&pod("p", &["c"], "1")]) {
        support::apply(&mut engine, value);
    }
    let decision = engine.schedule(&["p".into()], 0, &Still).decisions.remove(0);
    match decision.verdict {
        Verdict::Placed => String::new(),
        _ => decision.message.to_string(),
    }
}

#[test]
fn gates_of_devices_are_those_of_the_release_and_of_its_operator() {
    let none_left = "cannot allocate all claims";
    let counters = json!([{"name": "set", "counters": {"c": {"value": "1"}}}]);
    let consumes = json!([{"counterSet": "set", "counters": {"c": {"value": "1"}}}]);
    let exactly = |more: &Value| {
        let mut request = one_gpu();
        for (name, value) in more.as_object().expect("an object") {
            request["requests"][0]["exactly"][name] = value.clone();
        }
        request
    };
    let plain = json!({"nodeName": "n", "devices": [{"name": "d"}]});
    let listed = json!({"requests": [{"name": "r",
        "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}]});
    let mut distinct = one_gpu();
    distinct["constraints"] = json!([{"distinctAttribute": "x/a"}]);
    // Gate, slice, devices of the claim, what is said where it is off.
    let cases = [
        (
            "DRAPartitionableDevices",
            json!({"perDeviceNodeSelection": true, "devices": [{"name": "d", "nodeName": "n"}]}),
            one_gpu(),
            none_left,
        ),
        (
            "DRAPartitionableDevices",
            json!({"nodeName": "n", "sharedCounters": counters,
                "devices": [{"name": "d", "consumesCounters": consumes}]}),
            one_gpu(),
            none_left,
        ),
        (
            "DRADeviceBindingConditions",
            json!({"nodeName": "n", "devices": [{"name": "d", "bindingConditions": ["ready"],
                "bindingFailureConditions": ["failed"]}]}),
            one_gpu(),
            none_left,
        ),
        (
            "DRAConsumableCapacity",
            json!({"nodeName": "n", "devices": [{"name": "d",
                "attributes": {"a": {"string": "1"}}}]}),
            distinct,
            "claim d/c, constraint #0: empty constraint (unsupported constraint type?)",
        ),
        (
            "DRAAdminAccess",
            plain.clone(),
            exactly(&json!({"adminAccess": true})),
            "claim d/c, request r: admin access is requested, but the feature is disabled",
        ),
        (
            "DRAPrioritizedList",
            plain.clone(),
            listed,
            "resource claim d/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
        ),
    ];
    let on = |gate: &str, release: &str| match gate {
        "DRAAdminAccess" | "DRAPrioritizedList" => true,
        _ => release >= "1.36",
    };
    for (gate, slice, devices, said) in &cases {
        for release in ["1.34", "1.35", "1.36", "1.37"] {
            let by_default = fate(release, &json!({}), slice, devices);
            match on(gate, release) {
                true => assert_eq!(by_default, "", "{gate} in {release}"),
                false => assert!(by_default.contains(said), "{gate} in {release}: {by_default}"),
            }
        }
        assert_eq!(fate("1.35", &json!({*gate: true}), slice, devices), "", "{gate} set");
        let off = fate("1.35", &json!({*gate: false}), slice, devices);
        assert!(off.contains(said), "{gate} taken back: {off}");
    }
    // A capacity that the device does not have is not looked at where shares are not known.
    let capacity = exactly(&json!({"capacity": {"requests": {"memory": "1Gi"}}}));
    assert_eq!(fate("1.35", &json!({}), &plain, &capacity), "");
    assert!(fate("1.36", &json!({}), &plain, &capacity).contains(none_left));
}

#[test]
fn a_claim_with_devices_beside_a_new_one_fails_the_score_of_1_35() {
    let placed = |release: &str, claims: &[&str]| {
        let mut engine = support::loaded(1, &program(&["DynamicResources"], release, &json!({})));
        let held = json!({"allocation": {"devices": {"results": [
            {"request": "r", "driver": "x", "pool": "n", "device": "d0"}]}}});
        let everywhere = json!({"allNodes": true, "devices": [{"name": "d0"}, {"name": "d1"}]});
        let all = [
            node("n"),
            node("m"),
            class(),
            slice(&everywhere),
            claim("old", &one_gpu(), &held),
            claim("new", &one_gpu(), &json!({})),
            pod("p", claims, "1"),
        ];
        for value in &all {
            support::apply(&mut engine, value);
        }
        let decision = engine.schedule(&["p".into()], 0, &Still).decisions.remove(0);
        (decision.verdict, decision.message.to_string())
    };
    let (verdict, message) = placed("1.35", &["old", "new"]);
    assert_eq!(verdict, Verdict::Failed);
    assert_eq!(
        message,
        "running Score plugins: plugin \"DynamicResources\" failed with: number of allocations 1 is smaller than number of claims"
    );
    for (release, claims) in [
        ("1.34", &["old", "new"][..]),
        ("1.36", &["old", "new"]),
        ("1.35", &["old"]),
        ("1.35", &["new"]),
    ] {
        assert_eq!(placed(release, claims).0, Verdict::Placed, "{release} {claims:?}");
    }
}

/// The devices of a claim that a pod shares are not ready. What was found out about its nodes holds
/// until they have taken too long.
#[test]
fn devices_that_take_too_long_keep_a_pod_away_although_nothing_changed() {
    const SECOND: i64 = 1_000_000_000;
    let filters = ["DynamicResources", "NodeResourcesFit"];
    let mut engine = support::loaded(1, &program(&filters, "1.37", &json!({})));
    let conditions = json!([{"request": "r", "driver": "x", "pool": "n", "device": "d",
        "bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}]);
    let held = json!({
        "allocation": {"allocationTimestamp": "1970-01-01T00:10:00Z",
                       "devices": {"results": conditions}},
        "reservedFor": [{"resource": "pods", "name": "other", "uid": "other"}],
    });
    for value in [node("n"), class(), claim("c", &one_gpu(), &held), pod("p", &["c"], "100")] {
        support::apply(&mut engine, &value);
    }
    let mut message_at = |seconds: i64| {
        engine.schedule(&["p".into()], seconds * SECOND, &Still).decisions.remove(0).message
    };
    let is_late = |message: &str| message.contains("resourceclaim not available on the node");
    for seconds in [700, 1200] {
        let message = message_at(seconds);
        assert!(message.contains("Insufficient cpu") && !is_late(&message), "{message}");
    }
    let message = message_at(1201);
    assert!(is_late(&message), "{message}");
    assert!(!is_late(&message_at(1190)), "the clock was put back");
}
