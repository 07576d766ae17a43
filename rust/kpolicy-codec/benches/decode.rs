//! Reading objects from bytes: `cargo bench -p kpolicy-codec`.
//!
//! A pod and a node as an API server gives them, in a list page, as watch lines and in a file. Times
//! are of a hundred objects.

#![allow(clippy::expect_used, reason = "a benchmark may end with a panic")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kpolicy_codec::{Keep, file, list, watch};
use kpolicy_engine::model::Kind;
use serde_json::{Value, json};

const OBJECTS: usize = 100;

fn pod(number: usize) -> Value {
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10});
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{number}"), "namespace": "default",
            "uid": format!("00000000-0000-4000-8000-{number:012}"),
            "labels": {"app": "web", "pod-template-hash": "5d4f8c7b9f"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                "uid": "owner", "controller": true}]},
        "spec": {"nodeName": "node-1", "schedulerName": "default-scheduler", "priority": 0,
            "containers": [{"name": "web", "image": "registry.example.com/web:1",
                "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
                "livenessProbe": probe.clone(), "readinessProbe": probe,
                "env": [{"name": "SETTING", "value": "value"}]}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists",
                "effect": "NoExecute", "tolerationSeconds": 300}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:10Z",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "web", "ready": true, "restartCount": 0}]}})
}

fn node(number: usize) -> Value {
    let images: Vec<Value> = (0..50)
        .map(|image| {
            json!({"names": [format!("registry.example.com/image-{image}:1")], "sizeBytes": image})
        })
        .collect();
    let amounts = json!({"cpu": "32", "memory": "128Gi", "pods": "110"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": format!("node-{number}"), "labels": {
            "kubernetes.io/hostname": format!("node-{number}"), "disk": "ssd"}},
        "spec": {}, "status": {"allocatable": amounts, "capacity": amounts, "images": images,
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn items(of: fn(usize) -> Value) -> Vec<String> {
    (0..OBJECTS).map(|number| of(number).to_string()).collect()
}

fn decode(criterion: &mut Criterion) {
    for (kind, of) in [(Kind::Pod, pod as fn(usize) -> Value), (Kind::Node, node)] {
        let items = items(of);
        let page = format!(r#"{{"kind":"List","apiVersion":"v1","items":[{}]}}"#, items.join(","));
        let lines: String = items
            .iter()
            .map(|item| format!(r#"{{"type":"ADDED","object":{item}}}"#) + "\n")
            .collect();
        let mut group = criterion.benchmark_group(format!("decode/{OBJECTS} of {}", kind.name()));
        group.throughput(Throughput::Bytes(u64::try_from(page.len()).expect("a length")));
        group.bench_function(BenchmarkId::from_parameter("list page"), |bencher| {
            bencher.iter(|| {
                list::page(black_box(page.as_bytes()), kind, Keep(None), &mut |event| drop(event))
            });
        });
        group.bench_function(BenchmarkId::from_parameter("watch lines"), |bencher| {
            bencher.iter(|| {
                watch::lines(black_box(lines.as_bytes()), kind, Keep(None), &mut |event| {
                    drop(event);
                })
            });
        });
        group.bench_function(BenchmarkId::from_parameter("file"), |bencher| {
            bencher.iter(|| {
                file::objects(black_box(page.as_bytes()), Keep(None), &mut |event| drop(event))
            });
        });
        group.finish();
    }
}

criterion_group!(objects, decode);
criterion_main!(objects);
