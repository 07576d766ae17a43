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

use support::Draws;

const NODES: usize = 3;
const DEVICES: usize = 3;
const PODS: usize = 14;
const STEPS: usize = 200;
const SEEDS: u64 = 40;

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
