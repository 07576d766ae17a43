//! Preemption that frees devices (`freesDevices`): whose devices count as free, and that the pod for
//! which others went gets them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod objects;
mod random;
#[path = "../support/mod.rs"]
mod support;

use kpolicy_engine::api::{Applied, PreBindWrite, Verdict};
use serde_json::{Value, json};

use objects::{claim, class, decide, engine, held, node, plain, pod, remove, slice, victims};

/// Two devices, which two pods of low priority have, and one pod of high priority.
fn two_low() -> Vec<Value> {
    vec![
        node("n"),
        class(),
        slice("n", Some("n"), &plain(2)),
        claim("a", 1, &held("n", &["d0"], &["low-a"])),
        claim("b", 1, &held("n", &["d1"], &["low-b"])),
        claim("c", 1, &json!({})),
        pod("low-a", 0, Some("n"), &["a"]),
        pod("low-b", 0, Some("n"), &["b"]),
        pod("low-without", 0, Some("n"), &[]),
        pod("high", 10, None, &["c"]),
    ]
}

#[test]
fn as_few_pods_go_as_have_the_devices_and_only_where_the_policy_says_so() {
    let decision = decide(&mut engine(true, &two_low()), "high");
    assert_eq!((&*decision.nominated_node, victims(&decision)), ("n", vec!["low-b"]));
    let decision = decide(&mut engine(false, &two_low()), "high");
    assert_eq!((&*decision.nominated_node, victims(&decision)), ("", vec![]));
    assert_eq!(
        &*decision.message,
        "0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are \
         available: 1 Preemption is not helpful for scheduling."
    );
}

#[test]
fn a_claim_is_given_up_when_all_go_that_use_it() {
    let shared = |other: i32| {
        vec![
            node("n"),
            class(),
            slice("n", Some("n"), &plain(1)),
            claim("a", 1, &held("n", &["d0"], &["low", "other"])),
            claim("c", 1, &json!({})),
            pod("low", 0, Some("n"), &["a"]),
            pod("other", other, Some("n"), &["a"]),
            pod("high", 10, None, &["c"]),
        ]
    };
    let both = decide(&mut engine(true, &shared(0)), "high");
    assert_eq!(victims(&both), ["low", "other"]);
    let one = decide(&mut engine(true, &shared(10)), "high");
    assert_eq!(victims(&one), [""; 0]);
    assert!(one.message.ends_with("1 cannot allocate all claims."), "{}", one.message);
}

#[test]
fn a_claim_that_the_pod_itself_uses_keeps_its_devices() {
    let mut objects = two_low();
    objects.pop();
    objects.push(pod("high", 10, None, &["b", "c"]));
    // `b` is not given up when `low-b` goes: `high` needs it, and another one.
    let decision = decide(&mut engine(true, &objects), "high");
    assert_eq!(victims(&decision), ["low-a"]);
}

#[test]
fn devices_for_extended_resources_are_freed_too() {
    let mut special = claim("s", 1, &held("n", &["d0"], &["low"]));
    special["metadata"]["annotations"] =
        json!({"resource.kubernetes.io/extended-resource-claim": "true"});
    special["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod",
        "controller": true, "name": "low", "uid": "low"}]);
    let with_resource = |name: &str, priority: i32, node: Option<&str>| {
        let mut pod = pod(name, priority, node, &[]);
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"example.com/gpu": "1"}});
        pod
    };
    let objects = [
        node("n"),
        class(),
        slice("n", Some("n"), &plain(1)),
        special,
        with_resource("low", 0, Some("n")),
        with_resource("high", 10, None),
    ];
    assert_eq!(victims(&decide(&mut engine(true, &objects), "high")), ["low"]);
}

#[test]
fn devices_that_all_nodes_reach_are_freed_by_pods_of_the_node_alone() {
    let objects = |node: &str| {
        vec![
            self::node("m"),
            self::node("n"),
            class(),
            slice("net", None, &plain(1)),
            claim("a", 1, &held("net", &["d0"], &["low"])),
            claim("c", 1, &json!({})),
            pod("low", 0, Some(node), &["a"]),
            pod("high", 10, None, &["c"]),
        ]
    };
    for at in ["m", "n"] {
        let decision = decide(&mut engine(true, &objects(at)), "high");
        assert_eq!((&*decision.nominated_node, victims(&decision)), (at, vec!["low"]));
    }
}

#[test]
fn counters_and_capacity_are_freed() {
    let counter =
        |amount: &str| json!([{"counterSet": "card", "counters": {"slots": {"value": amount}}}]);
    let mut cut = slice(
        "n",
        Some("n"),
        &json!([{"name": "half", "consumesCounters": counter("2")},
                {"name": "whole", "consumesCounters": counter("4")}]),
    );
    cut["spec"]["sharedCounters"] =
        json!([{"name": "card", "counters": {"slots": {"value": "4"}}}]);
    let of_counters = [
        node("n"),
        class(),
        cut,
        claim("a", 1, &held("n", &["half"], &["low"])),
        claim("c", 1, &json!({})),
        pod("low", 0, Some("n"), &["a"]),
        pod("high", 10, None, &["c"]),
    ];
    // Half of the card is in use, so `whole` cannot be had; nor is there a second half.
    assert_eq!(victims(&decide(&mut engine(true, &of_counters), "high")), ["low"]);

    let shared = slice(
        "n",
        Some("n"),
        &json!([{"name": "d0", "allowMultipleAllocations": true,
                 "capacity": {"memory": {"value": "8Gi"}}}]),
    );
    let mut share = held("n", &["d0"], &["low"]);
    share["allocation"]["devices"]["results"][0]["shareID"] =
        json!("11111111-1111-1111-1111-111111111111");
    share["allocation"]["devices"]["results"][0]["consumedCapacity"] = json!({"memory": "6Gi"});
    let mut wanted = claim("c", 1, &json!({}));
    wanted["spec"]["devices"]["requests"][0]["exactly"]["capacity"] =
        json!({"requests": {"memory": "4Gi"}});
    let of_capacity = [
        node("n"),
        class(),
        shared,
        claim("a", 1, &share),
        wanted,
        pod("low", 0, Some("n"), &["a"]),
        pod("high", 10, None, &["c"]),
    ];
    assert_eq!(victims(&decide(&mut engine(true, &of_capacity), "high")), ["low"]);
}

#[test]
fn nobody_else_goes_until_the_claim_is_given_up_and_nobody_else_gets_its_device() {
    let mut objects = two_low();
    objects.extend([claim("e", 1, &json!({})), pod("thief", 5, None, &["e"])]);
    let mut engine = engine(true, &objects);
    assert_eq!(victims(&decide(&mut engine, "high")), ["low-b"]);
    let mut applied = Applied::default();
    engine.settle_room("high", &["low-b".into()], true, &mut applied);
    remove(&mut engine, "low-b");
    // The pod is gone, and its claim still has the device.
    let waits = decide(&mut engine, "high");
    assert_eq!(victims(&waits), [""; 0]);
    assert!(
        waits.message.contains("still have devices for pods that are gone"),
        "{}",
        waits.message
    );
    let applied = support::apply(&mut engine, &claim("b", 1, &json!({})));
    assert!(applied.wakes.iter().any(|wake| &*wake.uid == "high"), "{:?}", applied.wakes);
    let thief = decide(&mut engine, "thief");
    assert_eq!(thief.verdict, Verdict::Parked);
    assert_eq!(victims(&thief), ["low-a"], "it has to make room of its own");
    let high = decide(&mut engine, "high");
    assert_eq!((high.verdict, &*high.node), (Verdict::Placed, "n"), "{}", high.message);
}

#[test]
fn who_is_nominated_finds_the_device_that_it_needs() {
    let selecting = |name: &str, model: &str| {
        let mut claim = claim(name, 1, &json!({}));
        claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] =
            json!([{"key": model, "operator": "Exists"}]);
        claim
    };
    // `d0` does for both, `d1` only for the pod that tolerates its taint.
    let devices = json!([{"name": "d0"}, {"name": "d1",
        "taints": [{"key": "k", "effect": "NoSchedule"}]}]);
    let mut nominated = pod("high", 10, None, &["c"]);
    nominated["status"] = json!({"nominatedNodeName": "n"});
    let objects = [
        node("n"),
        class(),
        slice("n", Some("n"), &devices),
        claim("c", 1, &json!({})),
        selecting("e", "k"),
        nominated,
        pod("other", 5, None, &["e"]),
    ];
    let allocated = |frees_devices: bool| {
        let other = decide(&mut engine(frees_devices, &objects), "other");
        assert_eq!(other.verdict, Verdict::Placed, "{}", other.message);
        let [PreBindWrite::Claim(work)] = &*other.writes else { panic!("{:?}", other.writes) };
        let allocation: Value = serde_json::from_str(&work.allocation).expect("JSON");
        allocation["devices"]["results"][0]["device"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!((allocated(true), allocated(false)), ("d1".to_owned(), "d0".to_owned()));
}
