//! Devices against a naive model of the API server: whatever the order of answers, watch events, failed
//! binds and deletions, no device is given to two claims, and every free device can be had.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kpolicy_codec::{Keep, file};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, PreBindWrite, Still, Verdict};
use kpolicy_engine::model::{Event, Object};
use serde_json::{Value, json};

const NODES: usize = 3;
const DEVICES: usize = 3;
const PODS: usize = 14;
const STEPS: usize = 200;
const SEEDS: u64 = 40;

struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }
}

/// The API server, with a watch that lags behind, and the binds under way.
struct Naive {
    claims: BTreeMap<String, Value>,
    version: u64,
    watch: VecDeque<Value>,
    /// The allocation that each placed pod still has to write; `None`: it is written.
    binding: BTreeMap<String, Option<Value>>,
    bound: BTreeSet<String>,
}

fn name(index: usize) -> String {
    format!("p{index}")
}

fn objects() -> Vec<Value> {
    let mut all = vec![json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": {"name": "gpu"}, "spec": {}})];
    for index in 0..NODES {
        let node = format!("n{index}");
        let devices: Vec<Value> =
            (0..DEVICES).map(|device| json!({"name": format!("d{device}")})).collect();
        all.push(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "50"}}}));
        all.push(json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": {"name": node}, "spec": {"driver": "x", "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices}}));
    }
    for index in 0..PODS {
        all.push(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name(index), "namespace": "d", "uid": name(index)},
            "spec": {"containers": [{"name": "c", "image": "i"}],
                     "resourceClaims": [{"name": "c", "resourceClaimName": name(index)}]}}));
    }
    all
}

impl Naive {
    fn new() -> Self {
        let (claims, watch) = (BTreeMap::new(), VecDeque::new());
        Self { claims, version: 1, watch, binding: BTreeMap::new(), bound: BTreeSet::new() }
    }

    /// Stores a claim, as a write does, and shows it to the watch.
    fn store(&mut self, claim: &str, status: Value) -> Value {
        self.version += 1;
        let request = json!({"name": "r", "exactly": {"deviceClassName": "gpu",
            "allocationMode": "ExactCount", "count": 1}});
        let stored = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": claim, "namespace": "d", "uid": claim,
                         "resourceVersion": self.version.to_string()},
            "spec": {"devices": {"requests": [request]}}, "status": status});
        self.claims.insert(claim.to_owned(), stored.clone());
        self.watch.push_back(stored.clone());
        stored
    }

    /// The devices of all claims; panics where two claims have one.
    fn held(&self) -> BTreeSet<String> {
        let mut held = BTreeSet::new();
        for (claim, stored) in &self.claims {
            for result in stored["status"]["allocation"]["devices"]["results"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let device = format!("{}/{}", result["pool"], result["device"]);
                assert!(held.insert(device.clone()), "{claim} has {device}, which another has");
            }
        }
        held
    }
}

fn object(value: &Value) -> Object {
    let mut found = None;
    let unreadable = file::objects(value.to_string().as_bytes(), Keep(None), &mut |event| {
        if let Event::Present(object) = event {
            found = Some(object);
        }
    });
    assert!(unreadable.is_empty(), "{unreadable:?}");
    found.expect("an object")
}

fn settle(engine: &mut Engine, pod: &str, outcome: BindOutcome) {
    engine.settle(&[(pod.into(), outcome)], 0, &mut Applied::default());
}

/// One step of somebody, and how many pods it placed.
fn step(engine: &mut Engine, api: &mut Naive, draws: &mut Draws) -> usize {
    let pod = name(draws.below(PODS));
    match draws.below(10) {
        // The watch shows some of what was written.
        0..=2 => {
            for _ in 0..draws.below(4) {
                if let Some(claim) = api.watch.pop_front() {
                    support::apply(engine, &claim);
                }
            }
            0
        }
        // A batch is decided.
        3..=5 => {
            let free = |pod: &String| !api.binding.contains_key(pod) && !api.bound.contains(pod);
            let uids: Vec<Arc<str>> =
                (0..4).map(|_| name(draws.below(PODS))).filter(free).map(Arc::from).collect();
            let uids: BTreeSet<Arc<str>> = uids.into_iter().collect();
            let uids: Vec<Arc<str>> = uids.into_iter().collect();
            let mut placed = 0;
            for decision in engine.schedule(&uids, 0, &Still).decisions {
                if decision.verdict != Verdict::Placed {
                    continue;
                }
                placed += 1;
                let [PreBindWrite::Claim(work)] = &*decision.writes else {
                    panic!("{:?}", decision.writes)
                };
                let allocation = serde_json::from_str(&work.allocation).ok();
                api.binding.insert(decision.uid.to_string(), allocation);
            }
            placed
        }
        // A claim is written; the answer may be lost.
        6 | 7 => {
            let Some(Some(allocation)) = api.binding.get(&pod).cloned() else { return 0 };
            if api.claims[&pod]["status"]["allocation"].is_object() {
                return 0;
            }
            let user = json!([{"resource": "pods", "name": pod, "uid": pod}]);
            let status = json!({"allocation": allocation, "reservedFor": user});
            let stored = api.store(&pod, status);
            api.binding.insert(pod.clone(), None);
            if draws.below(3) > 0 {
                engine.wrote(object(&stored), &mut Applied::default());
            } else {
                // The write is looked up before anything else is decided, as `take_back` does.
                engine.wrote(object(&api.claims[&pod]), &mut Applied::default());
                api.binding.remove(&pod);
                settle(engine, &pod, BindOutcome::Failed);
            }
            0
        }
        // A bind ends.
        8 => {
            match api.binding.remove(&pod) {
                Some(None) if draws.below(2) == 0 => {
                    api.bound.insert(pod);
                }
                Some(_) => settle(engine, &pod, BindOutcome::Failed),
                None => {}
            }
            0
        }
        // The pod of a claim ends, and a controller frees its devices.
        _ => {
            if api.bound.remove(&pod) {
                settle(engine, &pod, BindOutcome::Failed);
                api.store(&pod, json!({}));
            }
            0
        }
    }
}

#[test]
fn no_device_is_given_twice_whatever_comes_in_which_order() {
    let (mut placed, mut most) = (0, 0);
    for seed in 0..SEEDS {
        let mut engine = support::loaded(seed, &support::default_program());
        let (mut api, mut draws) = (Naive::new(), Draws(seed));
        for each in objects() {
            support::apply(&mut engine, &each);
        }
        for index in 0..PODS {
            api.store(&name(index), json!({}));
        }
        while let Some(claim) = api.watch.pop_front() {
            support::apply(&mut engine, &claim);
        }
        for _ in 0..STEPS {
            placed += step(&mut engine, &mut api, &mut draws);
            most = most.max(api.held().len());
        }
        // At rest, all devices can be had.
        for (pod, _) in std::mem::take(&mut api.binding) {
            settle(&mut engine, &pod, BindOutcome::Failed);
        }
        while let Some(claim) = api.watch.pop_front() {
            support::apply(&mut engine, &claim);
        }
        let held = api.held().len();
        let open: Vec<Arc<str>> = (0..PODS)
            .map(name)
            .filter(|pod| !api.claims[pod]["status"]["allocation"].is_object())
            .map(Arc::from)
            .collect();
        let decisions = engine.schedule(&open, 0, &Still).decisions;
        let now = decisions.iter().filter(|own| own.verdict == Verdict::Placed).count();
        assert_eq!(held + now, NODES * DEVICES, "seed {seed}: {held} held, {now} given");
    }
    assert!(placed > 500, "{placed} placements");
    assert_eq!(most, NODES * DEVICES, "all devices are in use now and then");
}

/// Pods that are alike share what was found out about them. A claim that an earlier attempt made for one
/// of them keeps only this one from its node.
#[test]
fn a_claim_that_an_earlier_attempt_left_is_its_own_pods() {
    let mut engine = Engine::new(1);
    assert!(engine.load(&support::default_program()).is_ok());
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "50"}}});
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}});
    let slice = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": "n"}, "spec": {"driver": "x", "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d0"}, {"name": "d1"}]}});
    let left = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "left", "namespace": "d", "uid": "left",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "first", "uid": "first",
                                 "controller": true}]},
        "spec": {"devices": {"requests": []}}});
    for value in [node, class, slice, left] {
        support::apply(&mut engine, &value);
    }
    for pod in ["first", "second"] {
        support::apply(
            &mut engine,
            &json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": pod, "namespace": "d", "uid": pod},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {
                    "requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}}]}}),
        );
    }
    let uids: [Arc<str>; 2] = ["first".into(), "second".into()];
    let decisions = engine.schedule(&uids, 0, &Still).decisions;
    assert_eq!(decisions[0].verdict, Verdict::Parked, "{}", decisions[0].message);
    assert!(decisions[0].message.contains("cannot schedule extended resource claim"));
    assert_eq!(decisions[1].verdict, Verdict::Placed, "{}", decisions[1].message);
}

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
