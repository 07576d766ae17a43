//! Nodes that are alike share an answer about claims: it is the one that each would give itself.
//!
//! Two engines get the same objects. One of them also has a slice for selected nodes, which no node has
//! anything of: with it, each node is asked itself.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::collections::BTreeMap;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Still, Verdict};
use serde_json::{Value, json};

use support::Draws;

const NODES: usize = 8;
const PODS: usize = 6;
const SEEDS: u64 = 150;
const VERSION: &str = "resource.k8s.io/v1";
const SELECTORS: [&str; 7] =
    ["ordinary", "driver", "other", "missing", "whole", "many-30", "many-31"];

/// Texts by name, with what they compile to.
fn selectors() -> BTreeMap<String, (String, Value)> {
    let lines: Vec<Value> = serde_json::from_str(include_str!("hostile/device_selectors.json"))
        .expect("the selectors are JSON");
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    lines
        .iter()
        .map(|line| (text(line, "name"), (text(line, "text"), line["expression"].clone())))
        .collect()
}

fn device(draws: &mut Draws, index: usize) -> Value {
    let mut device = json!({"name": format!("d{index}"), "attributes": {
        "model": {"string": *draws.pick(&["a", "a", "b"])}, "index": {"int": index}}});
    if draws.one_in(3) {
        device["attributes"]["speed"] = json!({"int": draws.below(2)});
    }
    if draws.one_in(4) {
        device["capacity"] = json!({"memory": {"value": *draws.pick(&["8Gi", "16Gi"])}});
        device["allowMultipleAllocations"] = json!(draws.one_in(2));
    }
    if draws.one_in(6) {
        device["taints"] = json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]);
    }
    if draws.one_in(4) {
        device["consumesCounters"] =
            json!([{"counterSet": "set", "counters": {"slots": {"value": "1"}}}]);
    }
    if draws.one_in(8) {
        device["bindingConditions"] = json!(["ready"]);
        device["bindingFailureConditions"] = json!(["failed"]);
    }
    device
}

/// What the slice of a node has, apart from names: few kinds for many nodes.
fn kind(draws: &mut Draws) -> Value {
    let devices: Vec<Value> = (0..=draws.below(4)).map(|index| device(draws, index)).collect();
    let driver = *draws.pick(&["d.x", "d.x", "e.x"]);
    let slices = 1 + usize::from(draws.one_in(8));
    let mut spec = json!({"driver": driver, "devices": devices,
        "pool": {"generation": 1 + draws.below(2), "resourceSliceCount": slices}});
    if devices.iter().any(|device| !device["consumesCounters"].is_null()) && !draws.one_in(4) {
        spec["sharedCounters"] = json!([{"name": "set", "counters": {"slots": {"value": "2"}}}]);
    }
    spec
}

fn slice(draws: &mut Draws, kinds: &[Value]) -> Value {
    let node = draws.below(NODES);
    let mut spec = draws.pick(kinds).clone();
    let pool = if draws.one_in(10) { 0 } else { node };
    spec["pool"]["name"] = json!(format!("n{pool}"));
    match draws.below(14) {
        0 => spec["allNodes"] = json!(true),
        _ => spec["nodeName"] = json!(format!("n{node}")),
    }
    // Every device has a number of its own.
    if let Some(devices) = spec["devices"].as_array_mut() {
        for device in devices {
            device["attributes"]["serial"] = json!({"int": draws.below(1 << 20)});
        }
    }
    let name = format!("n{node}-{}", u8::from(draws.one_in(6)));
    json!({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec})
}

/// A slice, or two where its counters are in one of their own.
fn slices(draws: &mut Draws, kinds: &[Value]) -> Vec<Value> {
    let mut own = slice(draws, kinds);
    if own["spec"]["sharedCounters"].is_null() || draws.one_in(2) {
        return vec![own];
    }
    own["spec"]["pool"]["resourceSliceCount"] = json!(2);
    let mut counters = own.clone();
    let name = own["metadata"]["name"].as_str().unwrap_or_default();
    counters["metadata"]["name"] = json!(format!("{name}-counters"));
    counters["spec"]["devices"] = json!([]);
    own["spec"]["sharedCounters"] = json!([]);
    vec![counters, own]
}

fn ask(draws: &mut Draws, texts: &[String]) -> Value {
    let mut ask = json!({"deviceClassName": *draws.pick(&["c", "own"])});
    if draws.one_in(5) {
        ask["allocationMode"] = json!("All");
    } else {
        ask["allocationMode"] = json!("ExactCount");
        ask["count"] = json!(1 + draws.below(2));
    }
    if draws.one_in(2) {
        ask["selectors"] = json!([{"cel": {"expression": draws.pick(texts)}}]);
    }
    if draws.one_in(4) {
        ask["tolerations"] = json!([{"key": "k", "operator": "Exists"}]);
    }
    if draws.one_in(8) {
        ask["capacity"] = json!({"requests": {"memory": "8Gi"}});
    }
    ask
}

fn claim(draws: &mut Draws, texts: &[String], name: &str) -> Value {
    let requests: Vec<Value> = (0..=draws.below(2))
        .map(|index| {
            let name = format!("r{index}");
            if draws.one_in(3) {
                let (mut first, mut second) = (ask(draws, texts), ask(draws, texts));
                first["name"] = json!("first");
                second["name"] = json!("second");
                json!({"name": name, "firstAvailable": [first, second]})
            } else {
                let mut exactly = ask(draws, texts);
                exactly["adminAccess"] = json!(draws.one_in(10));
                json!({"name": name, "exactly": exactly})
            }
        })
        .collect();
    let attribute = format!("d.x/{}", *draws.pick(&["model", "model", "index", "serial"]));
    let constraints = match draws.below(5) {
        0 => json!([{"matchAttribute": attribute}]),
        1 => json!([{"distinctAttribute": attribute}]),
        _ => json!([]),
    };
    json!({"apiVersion": VERSION, "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "d", "uid": format!("claim-{name}")},
        "spec": {"devices": {"requests": requests, "constraints": constraints}}})
}

fn taint_rule(draws: &mut Draws) -> Value {
    let selector = match draws.below(3) {
        0 => json!({"driver": *draws.pick(&["d.x", "e.x"])}),
        1 => json!({"device": "d0"}),
        _ => json!({"pool": format!("n{}", draws.below(NODES))}),
    };
    json!({"apiVersion": VERSION, "kind": "DeviceTaintRule", "metadata": {"name": "rule"},
        "spec": {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}}})
}

fn pod(draws: &mut Draws, index: usize) -> Value {
    let name = format!("p{index}");
    let mut container = json!({"name": "c", "image": "i"});
    let mut claims = vec![json!({"name": "c", "resourceClaimName": name})];
    if draws.one_in(4) {
        container["resources"] =
            json!({"requests": {"x.com/gpu": "1"}, "limits": {"x.com/gpu": "1"}});
        claims.truncate(draws.below(2));
    }
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"containers": [container], "resourceClaims": claims}})
}

fn objects(draws: &mut Draws, texts: &[String]) -> Vec<Value> {
    let class = |name: &str, spec: Value| json!({"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec});
    let driver = json!([{"cel": {"expression": texts.get(1)}}]);
    let mut all = vec![
        class("c", json!({"extendedResourceName": "x.com/gpu"})),
        class("own", json!({"selectors": driver})),
    ];
    for index in 0..NODES {
        let mut node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{index}"), "labels": {}},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "50"}}});
        if draws.one_in(6) {
            node["status"]["allocatable"]["x.com/gpu"] = json!("1");
        }
        all.push(node);
    }
    for index in 0..PODS {
        all.push(claim(draws, texts, &format!("p{index}")));
        all.push(pod(draws, index));
    }
    if draws.one_in(3) {
        all.push(taint_rule(draws));
    }
    all
}

/// The engine that may share answers, and the one that does not.
struct Both([Engine; 2]);

impl Both {
    fn new(release: &str) -> Self {
        let mut program = support::default_program();
        program["release"] = json!(release);
        let mut both = Self([support::loaded(1, &program), support::loaded(1, &program)]);
        let nowhere = json!({"apiVersion": VERSION, "kind": "ResourceSlice",
            "metadata": {"name": "nowhere"}, "spec": {"driver": "nowhere.x",
            "pool": {"name": "nowhere", "generation": 1, "resourceSliceCount": 1},
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "nowhere", "operator": "Exists"}]}]}}});
        let [_, each] = &mut both.0;
        support::apply(each, &nowhere);
        both
    }

    fn apply(&mut self, object: &Value) {
        for engine in &mut self.0 {
            support::apply(engine, object);
        }
    }

    fn load(&mut self, selectors: &BTreeMap<String, (String, Value)>) {
        for engine in &mut self.0 {
            let wanted = engine.wanted_selectors();
            let found = selectors.values().filter(|(text, _)| wanted.contains(text));
            let compiled: Vec<(String, Result<Value, String>)> =
                found.map(|(text, expression)| (text.clone(), Ok(expression.clone()))).collect();
            engine.load_selectors(&compiled);
        }
    }

    /// Compares every answer about every pod, and lets one of them have its devices.
    fn agree(&mut self, pod: usize, seed: u64) -> Decision {
        let [shared, each] = &mut self.0;
        let text = |lines: Vec<u8>| String::from_utf8(lines).expect("lines are UTF-8");
        assert_eq!(text(shared.explain(None)), text(each.explain(None)), "seed {seed}");
        let uids = [format!("p{pod}").into()];
        let [shared, each] =
            [shared, each].map(|engine| engine.schedule(&uids, 0, &Still).decisions.remove(0));
        assert_eq!(format!("{shared:?}"), format!("{each:?}"), "seed {seed}");
        shared
    }
}

#[test]
fn nodes_that_are_alike_answer_as_each_would_itself() {
    let selectors = selectors();
    let text = |name: &&str| selectors.get(*name).expect("it is there").0.clone();
    let texts: Vec<String> = SELECTORS.iter().map(text).collect();
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let mut units = [0; 2];
    for seed in 0..SEEDS {
        let mut draws = Draws(seed);
        let release: &&str = draws.pick(&["1.36", "1.37", "1.37"]);
        let mut both = Both::new(release);
        let kinds: Vec<Value> = (0..=draws.below(3)).map(|_| kind(&mut draws)).collect();
        objects(&mut draws, &texts).iter().for_each(|object| both.apply(object));
        for _ in 0..NODES {
            slices(&mut draws, &kinds).iter().for_each(|slice| both.apply(slice));
        }
        both.load(&selectors);
        for pod in 0..PODS {
            let decision = both.agree(pod, seed);
            *verdicts.entry(format!("{:?}", decision.verdict)).or_default() += 1;
            if draws.one_in(3) {
                slices(&mut draws, &kinds).iter().for_each(|slice| both.apply(slice));
            }
            if draws.one_in(8) {
                both.apply(&taint_rule(&mut draws));
            }
        }
        let taken = both.0.map(|engine| engine.cluster().units_of_devices());
        units = [units[0] + taken[0], units[1] + taken[1]];
    }
    println!("{verdicts:?}, {units:?} units");
    assert!(units[0] * 4 < units[1] * 3, "{units:?}");
    for verdict in [Verdict::Placed, Verdict::Parked] {
        let times = verdicts.get(&format!("{verdict:?}")).copied().unwrap_or_default();
        assert!(times > 100, "{verdicts:?}");
    }
}
