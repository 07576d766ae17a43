//! Shared by the engine's tests: golden cases, programs of built-ins, pods and nodes.

#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use kpolicy_codec::{Keep, file};
use kpolicy_engine::Engine;
use kpolicy_engine::api::Applied;
use kpolicy_engine::release::Release;
use kpolicy_engine::rules::catalog;
use serde_json::{Value, json};

/// kube-scheduler's default profile, filters in order.
pub(crate) const FILTERS: [&str; 14] = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
];

/// Scores of the default profile and their weights. A release leaves out those that it has not got.
pub(crate) const SCORES: [(&str, i64); 9] = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("VolumeBinding", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
];

/// Args of one plugin in one of the recorded configurations.
pub(crate) type Args<'a> = dyn Fn(&str) -> Value + 'a;

/// A program that serves every pod with the default profile, as far as its rules exist.
pub(crate) fn program(args: &Args<'_>, weight: &dyn Fn(&str, i64) -> i64) -> Value {
    let filters: Vec<Value> = FILTERS
        .iter()
        .filter(|name| catalog::filter(name).is_some())
        .map(|name| json!({"name": name, "builtin": name, "args": args(name)}))
        .collect();
    let scores: Vec<Value> = SCORES
        .iter()
        .filter(|(name, _)| catalog::score(name).is_some())
        .map(|(name, default)| {
            let weight = weight(name, *default);
            json!({"name": name, "builtin": name, "weight": weight, "args": args(name)})
        })
        .collect();
    json!({
        "format": 1, "hash": "sha256:test", "policies": [], "tieBreak": "random",
        "profiles": [{
            "schedulerName": "*", "percentageOfNodesToScore": 100,
            "filters": filters, "scores": scores,
            "preemption": {"policy": "LowerPriority", "minCandidateNodesPercentage": 10,
                           "minCandidateNodesAbsolute": 100},
        }],
    })
}

pub(crate) fn default_program() -> Value {
    program(&|_| json!({}), &|_, weight| weight)
}

pub(crate) fn loaded(seed: u64, document: &Value) -> Engine {
    let mut engine = Engine::new(seed);
    if let Err(refusals) = engine.load(document) {
        panic!("the program is refused: {refusals:#?}");
    }
    engine
}

/// Applies objects written as JSON.
pub(crate) fn apply(engine: &mut Engine, objects: &Value) -> Applied {
    let mut applied = Applied::default();
    apply_into(engine, objects, &mut applied);
    applied
}

pub(crate) fn apply_into(engine: &mut Engine, objects: &Value, applied: &mut Applied) {
    let body = objects.to_string();
    let paths = engine.paths();
    let unreadable = file::objects(body.as_bytes(), Keep(Some(&paths)), &mut |event| {
        engine.apply(event, 0, applied);
    });
    assert!(unreadable.is_empty(), "{unreadable:?}");
}

/// The recorded cases of a release.
pub(crate) fn golden_paths(release: Release) -> Vec<PathBuf> {
    let folder = format!("../../tests/conformance/kube-scheduler-{}", release.name());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the golden cases are in the repository")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    paths.sort();
    paths
}

/// The recorder wrote the status of nodes that were not looked at after it had asked the filters, so it
/// named filters that kube-scheduler, which writes it before (`findNodesThatFitPod`), does not.
pub(crate) fn golden_case(path: &Path) -> Value {
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("a case can be opened"))
        .read_to_string(&mut text)
        .expect("a case is gzipped text");
    for filter in FILTERS {
        let late = format!("plugin(s) [NodeAffinity {filter}]");
        text = text.replace(&late, "plugin(s) [NodeAffinity]");
    }
    serde_json::from_str(&text).expect("a case is JSON")
}

/// Numbers at random, the same ones for a seed.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let place = self.below(from.len());
        from.get(place).expect("there is one")
    }
}

/// How long this thread has run so far: other processes of the machine do not matter. Zero where the
/// kernel does not say. The kernel adds up only at ticks of some milliseconds, and when a thread gives up
/// its processor.
pub(crate) fn processor_time() -> Duration {
    thread::yield_now();
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// How long this thread has run since then.
pub(crate) fn processor_time_since(began: Duration) -> Duration {
    processor_time().saturating_sub(began)
}
