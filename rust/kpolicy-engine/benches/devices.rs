//! Pods with a claim each, among 500 nodes of 8 devices: `cargo bench -p kpolicy-engine --bench devices`.
//!
//! A call decides 100 pods, one after another, and then takes them back. Half of the devices are in
//! use: the first ones of each node, or any.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark may end with a panic")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kpolicy_engine::Engine;
use kpolicy_engine::api::{Applied, BindOutcome, Still, Verdict};
use serde_json::{Value, json};

const NODES: usize = 500;
const DEVICES: usize = 8;
const PODS: usize = 100;
const DRIVER: &str = "d.x";
const VERSION: &str = "resource.k8s.io/v1";

fn node(index: usize) -> [Value; 2] {
    let name = format!("node-{index:03}");
    let device = |number: usize| {
        json!({"name": format!("device-{number}"), "attributes": {
            "model": {"string": "a"}, "index": {"int": number},
            "serial": {"string": format!("{name}-{number}")}}})
    };
    let devices: Vec<Value> = (0..DEVICES).map(device).collect();
    let slice = json!({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": name},
        "spec": {"driver": DRIVER, "nodeName": name, "devices": devices,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}}});
    [node, slice]
}

fn claim(name: &str, selector: &str, status: &Value) -> Value {
    let ask = json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1,
        "selectors": [{"cel": {"expression": selector}}]});
    json!({"apiVersion": VERSION, "kind": "ResourceClaim", "status": status,
        "metadata": {"name": name, "namespace": "d", "uid": format!("claim-{name}")},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": ask}]}}})
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "c", "resourceClaimName": name}]}})
}

/// A name and whether a device of a node is in use.
type Use = (&'static str, fn(usize, usize) -> bool);

const USES: [Use; 2] = [
    ("the first in use", |_, number| number < DEVICES / 2),
    ("any in use", |node, number| (node * 2_654_435_761) >> (number + 3) & 1 == 1),
];

fn engine(is_used: fn(usize, usize) -> bool) -> Engine {
    let lines: Vec<Value> =
        serde_json::from_str(include_str!("../tests/hostile/device_selectors.json"))
            .expect("the selectors are JSON");
    let selector = |name: &str| {
        let line = lines.iter().find(|line| line["name"] == name).expect("it is there");
        (line["text"].as_str().unwrap_or_default().to_owned(), line["expression"].clone())
    };
    let (of_class, own) = (selector("driver"), selector("ordinary"));
    let mut objects: Vec<Value> = (0..NODES).flat_map(node).collect();
    objects.push(json!({"apiVersion": VERSION, "kind": "DeviceClass", "metadata": {"name": "c"},
        "spec": {"selectors": [{"cel": {"expression": of_class.0}}]}}));
    for node in 0..NODES {
        let results = (0..DEVICES).filter(|number| is_used(node, *number)).map(|number| {
            json!({"request": "r", "driver": DRIVER, "pool": format!("node-{node:03}"),
                "device": format!("device-{number}")})
        });
        let results: Vec<Value> = results.collect();
        if !results.is_empty() {
            let status = json!({"allocation": {"devices": {"results": results}}});
            objects.push(claim(&format!("used-{node}"), &own.0, &status));
        }
    }
    for index in 0..PODS {
        objects.push(claim(&format!("p{index}"), &own.0, &json!({})));
        objects.push(pod(&format!("p{index}")));
    }
    let mut engine = support::loaded(1, &support::default_program());
    support::apply(&mut engine, &json!({"apiVersion": "v1", "kind": "List", "items": objects}));
    engine.load_selectors(&[of_class, own].map(|(text, expression)| (text, Ok(expression))));
    engine
}

fn claims(criterion: &mut Criterion) {
    for (name, is_used) in USES {
        let mut engine = engine(is_used);
        let uids: Vec<Arc<str>> = (0..PODS).map(|index| format!("p{index}").into()).collect();
        let failed: Vec<(Arc<str>, BindOutcome)> =
            uids.iter().map(|uid| (Arc::clone(uid), BindOutcome::Failed)).collect();
        let mut group = criterion.benchmark_group("a claim each");
        group.throughput(Throughput::Elements(PODS as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let batch = engine.schedule(&uids, 0, &Still);
                assert!(batch.decisions.iter().all(|own| own.verdict == Verdict::Placed));
                engine.settle(&failed, 0, &mut Applied::default());
            });
        });
        group.finish();
    }
}

criterion_group!(devices, claims);
criterion_main!(devices);
