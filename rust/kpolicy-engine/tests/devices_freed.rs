//! Preemption that frees devices (`freesDevices`): whose devices count as free, and that the pod for
//! which others went gets them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Decision, Kind, PreBindWrite, Still, Verdict};
use kpolicy_engine::model::{Event, Meta};
use serde_json::{Value, json};

const VERSION: &str = "resource.k8s.io/v1";

fn program(frees_devices: bool, release: &str) -> Value {
    let mut program = support::default_program();
    program["release"] = json!(release);
    if frees_devices {
        program["profiles"][0]["preemption"]["freesDevices"] = json!(true);
    }
    program
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "50"}}})
}

fn class() -> Value {
    json!({"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"}})
}

/// The devices of a pool that a node has, or all nodes.
fn slice(pool: &str, node: Option<&str>, devices: &Value) -> Value {
    let mut spec = json!({"driver": "x", "devices": devices,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}});
    match node {
        Some(node) => spec["nodeName"] = json!(node),
        None => spec["allNodes"] = json!(true),
    }
    json!({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": pool}, "spec": spec})
}

fn plain(count: usize) -> Value {
    (0..count).map(|device| json!({"name": format!("d{device}")})).collect()
}

fn claim(name: &str, count: usize, status: &Value) -> Value {
    let request = json!({"name": "r", "exactly": {"deviceClassName": "gpu",
        "allocationMode": "ExactCount", "count": count}});
    json!({"apiVersion": VERSION, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"devices": {"requests": [request]}}, "status": status})
}

fn users(pods: &[&str]) -> Value {
    pods.iter().map(|pod| json!({"resource": "pods", "name": pod, "uid": pod})).collect()
}

/// The status of a claim that has devices of a pool, reserved for these pods.
fn held(pool: &str, devices: &[&str], pods: &[&str]) -> Value {
    let results: Vec<Value> = devices
        .iter()
        .map(|device| json!({"request": "r", "driver": "x", "pool": pool, "device": device}))
        .collect();
    json!({"allocation": {"devices": {"results": results}}, "reservedFor": users(pods)})
}

fn pod(name: &str, priority: i32, node: Option<&str>, claims: &[&str]) -> Value {
    let claims: Vec<Value> =
        claims.iter().map(|claim| json!({"name": claim, "resourceClaimName": claim})).collect();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"priority": priority, "resourceClaims": claims,
                 "containers": [{"name": "c", "image": "i"}]}});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running", "startTime": "2026-01-01T00:00:00Z"});
    }
    pod
}

fn engine(frees_devices: bool, objects: &[Value]) -> Engine {
    let mut engine = support::loaded(1, &program(frees_devices, "1.37"));
    objects.iter().for_each(|object| drop(support::apply(&mut engine, object)));
    engine
}

fn decide(engine: &mut Engine, pod: &str) -> Decision {
    engine.schedule(&[pod.into()], 0, &Still).decisions.remove(0)
}

fn victims(decision: &Decision) -> Vec<&str> {
    decision.victims.iter().map(|victim| &*victim.uid).collect()
}

fn remove(engine: &mut Engine, pod: &str) -> Applied {
    let mut applied = Applied::default();
    let meta = Meta { namespace: "d".into(), name: pod.into(), uid: pod.into(), ..Meta::default() };
    engine.apply(Event::Gone(Kind::Pod, meta.into()), 0, &mut applied);
    applied
}

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

// --- Random clusters ------------------------------------------------------------------------------

struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

const SEEDS: u64 = 400;
const NODES: usize = 3;
const LOW: usize = 12;
const HIGH: usize = 4;

fn random_slice(draws: &mut Draws, pool: &str, node: Option<&str>) -> Value {
    let has_counters = draws.one_in(3);
    let devices: Value = (0..2 + draws.below(3))
        .map(|index| {
            let mut device = json!({"name": format!("d{index}")});
            if has_counters {
                let slots = (1 + draws.below(3)).to_string();
                device["consumesCounters"] =
                    json!([{"counterSet": "card", "counters": {"slots": {"value": slots}}}]);
            }
            if draws.one_in(4) {
                device["capacity"] = json!({"memory": {"value": "8Gi"}});
                device["allowMultipleAllocations"] = json!(true);
            }
            if draws.one_in(5) {
                device["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
            }
            device
        })
        .collect();
    let mut slice = slice(pool, node, &devices);
    if has_counters {
        slice["spec"]["sharedCounters"] =
            json!([{"name": "card", "counters": {"slots": {"value": "5"}}}]);
    }
    slice
}

fn random_claim(draws: &mut Draws, name: &str) -> Value {
    let mut claim = claim(name, 1 + draws.below(2), &json!({}));
    let exactly = &mut claim["spec"]["devices"]["requests"][0]["exactly"];
    if draws.one_in(3) {
        exactly["capacity"] = json!({"requests": {"memory": format!("{}Gi", 1 + draws.below(6))}});
    }
    if draws.one_in(2) {
        exactly["tolerations"] = json!([{"key": "k", "operator": "Exists"}]);
    }
    claim
}

/// An engine, and the claims as the API server has them.
struct Tried {
    engine: Engine,
    claims: BTreeMap<String, Value>,
    pods: BTreeMap<String, Value>,
}

impl Tried {
    fn show_claim(&mut self, name: &str, claim: Value) {
        support::apply(&mut self.engine, &claim);
        self.claims.insert(name.to_owned(), claim);
    }

    /// A placed pod is bound: its claims are written, then the pod.
    fn bind(&mut self, decision: &Decision) {
        let pod = decision.uid.to_string();
        for write in &*decision.writes {
            let PreBindWrite::Claim(work) = write else { panic!("{write:?}") };
            let mut claim = self.claims[&*work.claim].clone();
            if !work.allocation.is_empty() {
                claim["status"]["allocation"] =
                    serde_json::from_str(&work.allocation).expect("JSON");
            }
            let mut users = claim["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
            users.push(json!({"resource": "pods", "name": pod, "uid": pod}));
            claim["status"]["reservedFor"] = json!(users);
            self.show_claim(&work.claim, claim);
        }
        self.engine.settle(
            &[(decision.uid.clone(), BindOutcome::Bound)],
            0,
            &mut Applied::default(),
        );
        let mut bound = self.pods[&pod].clone();
        bound["spec"]["nodeName"] = json!(&*decision.node);
        bound["status"] = json!({"phase": "Running"});
        support::apply(&mut self.engine, &bound);
    }

    /// The pods go, and the controller of claims gives up what nobody uses any more.
    fn evict(&mut self, pods: &[String]) {
        for pod in pods {
            remove(&mut self.engine, pod);
        }
        for (name, mut claim) in self.claims.clone() {
            let users = claim["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
            let is_left = |user: &Value| !pods.iter().any(|pod| user["uid"].as_str() == Some(pod));
            let left: Vec<Value> = users.iter().filter(|user| is_left(user)).cloned().collect();
            if left.len() == users.len() {
                continue;
            }
            claim["status"] = match left.is_empty() {
                true => json!({}),
                false => {
                    json!({"allocation": claim["status"]["allocation"], "reservedFor": left})
                }
            };
            self.show_claim(&name, claim);
        }
    }
}

fn random(seed: u64) -> Tried {
    let mut draws = Draws(seed);
    let release = ["1.37", "1.37", "1.36"][draws.below(3)];
    let mut tried = Tried {
        engine: support::loaded(seed, &program(true, release)),
        claims: BTreeMap::new(),
        pods: BTreeMap::new(),
    };
    support::apply(&mut tried.engine, &class());
    for index in 0..NODES {
        let name = format!("n{index}");
        support::apply(&mut tried.engine, &node(&name));
        let slice = random_slice(&mut draws, &name, Some(&name));
        support::apply(&mut tried.engine, &slice);
    }
    if draws.one_in(3) {
        let slice = random_slice(&mut draws, "net", None);
        support::apply(&mut tried.engine, &slice);
    }
    for index in 0..LOW + HIGH {
        let name = format!("p{index:02}");
        let claim = random_claim(&mut draws, &name);
        tried.show_claim(&name, claim);
        let priority = if index < LOW { 0 } else { 10 };
        let mut claims = vec![name.clone()];
        // Some pods use the claim of another one too.
        if index < LOW && index > 0 && draws.one_in(4) {
            claims.push(format!("p{:02}", draws.below(index)));
        }
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        let pod = pod(&name, priority, None, &claims);
        support::apply(&mut tried.engine, &pod);
        tried.pods.insert(name, pod);
    }
    for index in 0..LOW {
        let decision = decide(&mut tried.engine, &format!("p{index:02}"));
        if decision.verdict == Verdict::Placed {
            tried.bind(&decision);
        }
    }
    tried
}

#[test]
fn after_its_victims_are_gone_the_pod_fits_on_the_node_that_it_was_nominated_to() {
    let (mut looked_at, mut with_several) = (0, 0);
    for seed in 0..SEEDS {
        let mut tried = random(seed);
        for index in LOW..LOW + HIGH {
            let uid: Arc<str> = format!("p{index:02}").into();
            let decision = decide(&mut tried.engine, &uid);
            if decision.verdict == Verdict::Placed {
                tried.bind(&decision);
                continue;
            }
            if decision.victims.is_empty() {
                continue;
            }
            let gone: Vec<String> =
                decision.victims.iter().map(|victim| victim.uid.to_string()).collect();
            looked_at += 1;
            with_several += usize::from(gone.len() > 1);
            let mut applied = Applied::default();
            let evicted: Vec<Arc<str>> = gone.iter().map(|pod| pod.as_str().into()).collect();
            tried.engine.settle_room(&uid, &evicted, true, &mut applied);
            tried.evict(&gone);
            let scratch = tried.engine.decide_from_scratch(&uid);
            assert_eq!(
                (scratch.verdict, &scratch.node),
                (Verdict::Placed, &decision.nominated_node),
                "seed {seed}, {uid} after {gone:?}: {}",
                scratch.message
            );
            let now = decide(&mut tried.engine, &uid);
            assert_eq!(now, scratch, "seed {seed}");
            tried.bind(&now);
        }
    }
    assert!(looked_at > 200 && with_several > 20, "{looked_at}, {with_several}");
}
