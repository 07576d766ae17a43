//! The golden cases of each release of kube-scheduler, as far as their rules exist in the catalog: every verdict
//! of every filter by itself, every raw score, and, once all rules of the profile exist, the first
//! failing filter, weighted scores, best nodes and messages.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Decision, Still};
use kpolicy_engine::release::Release;
use kpolicy_engine::rules::catalog;
use kpolicy_engine::threads::Threads;
use serde_json::{Value, json};

#[derive(Debug, Default)]
struct Compared {
    cases: usize,
    pods: usize,
    verdicts: usize,
    raw: usize,
    weighted: usize,
    messages: usize,
    full_messages: usize,
    candidates: usize,
}

/// Args of the recorded configurations that the default profile does not have.
fn args(config: &str, plugin: &str) -> Value {
    match (config, plugin) {
        ("most-allocated", "NodeResourcesFit") => json!({"scoringStrategy": {
            "type": "MostAllocated", "resources": [
                {"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1},
                {"name": "example.com/gpu", "weight": 5}]}}),
        ("requested-to-capacity-ratio", "NodeResourcesFit") => json!({"scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 2}],
            "requestedToCapacityRatio": {"shape": [
                {"utilization": 0, "score": 2}, {"utilization": 40, "score": 10},
                {"utilization": 80, "score": 7}, {"utilization": 100, "score": 0}]}}}),
        ("interpod-args-and-fit-ignored", "NodeResourcesFit") => json!({
            "ignoredResources": ["example.com/gpu"],
            "scoringStrategy": {"type": "LeastAllocated", "resources": [
                {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1},
                {"name": "ephemeral-storage", "weight": 2}]}}),
        ("interpod-args-and-fit-ignored", "NodeResourcesBalancedAllocation") => {
            json!({"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1},
                                 {"name": "ephemeral-storage", "weight": 1}]})
        }
        ("interpod-args-and-fit-ignored", "InterPodAffinity") => json!({
            "hardPodAffinityWeight": 37, "ignorePreferredTermsOfExistingPods": true}),
        ("added-affinity-and-default-spread", "NodeAffinity") => json!({"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 40, "preference": {"matchExpressions": [
                    {"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]}}]}}),
        ("added-affinity-and-default-spread", "PodTopologySpread") => json!({
            "defaultingType": "List", "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                 "whenUnsatisfiable": "DoNotSchedule"},
                {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname",
                 "whenUnsatisfiable": "ScheduleAnyway"}]}),
        _ => json!({}),
    }
}

fn weight(config: &str, plugin: &str, default: i64) -> i64 {
    match (config, plugin) {
        ("weights-and-disabled", "TaintToleration") => 7,
        ("weights-and-disabled", "NodeResourcesBalancedAllocation") => 4,
        _ => default,
    }
}

/// Rules that a configuration leaves out.
fn without(config: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match config {
        "weights-and-disabled" => (&["NodePorts"], &["ImageLocality", "InterPodAffinity"]),
        _ => (&[], &[]),
    }
}

fn program(config: &str) -> Value {
    let mut program = support::program(&|name| args(config, name), &|name, default| {
        weight(config, name, default)
    });
    let (filters, scores) = without(config);
    let drop = |list: &mut Value, names: &[&str]| {
        let rules = list.as_array_mut().expect("rules are a list");
        rules.retain(|rule| names.iter().all(|name| rule["name"] != *name));
    };
    drop(&mut program["profiles"][0]["filters"], filters);
    drop(&mut program["profiles"][0]["scores"], scores);
    program
}

fn by_name<'a>(list: &'a Value, key: &str) -> BTreeMap<&'a str, &'a Value> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| (item[key].as_str().unwrap_or_default(), item)).collect()
}

fn status(value: &Value) -> (String, BTreeSet<String>) {
    let reasons = value["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
    let reasons = reasons.iter().map(ToString::to_string).collect();
    (value["code"].to_string(), reasons)
}

fn compare_filters(have: &Value, want: &Value, place: &str, compared: &mut Compared) {
    let (have, want) = (by_name(have, "plugin"), by_name(want, "plugin"));
    for plugin in support::FILTERS {
        if catalog::filter(plugin).is_some() {
            let status_of = |found: Option<&&Value>| found.map(|value| status(value));
            assert_eq!(
                status_of(have.get(plugin)),
                status_of(want.get(plugin)),
                "{place} {plugin}"
            );
            compared.verdicts += 1;
        }
    }
}

fn compare_raw(have: &Value, want: &Value, place: &str, compared: &mut Compared) {
    let (Some(have), Some(want)) = (have.as_object(), want.as_object()) else { return };
    for (plugin, _) in support::SCORES {
        // These depend on which nodes are feasible, so only all rules together give them.
        if catalog::score(plugin).is_some() && (plugin != "PodTopologySpread" || all_exist()) {
            assert_eq!(have.get(plugin), want.get(plugin), "{place} {plugin}");
            compared.raw += 1;
        }
    }
}

fn all_exist() -> bool {
    support::FILTERS.iter().all(|name| catalog::filter(name).is_some())
        && support::SCORES.iter().all(|(name, _)| catalog::score(name).is_some())
}

/// Which of the candidates is picked may be drawn; `pick` has its own tests.
fn compare_preemption(have: &Value, want: &Value, place: &str, compared: &mut Compared) {
    for part in ["candidates", "pdbViolations", "message"] {
        assert_eq!(have.get(part), want.get(part), "{place} {part}");
    }
    assert_eq!(have["node"].is_null(), want["node"].is_null(), "{place}: {have}");
    let is_candidate = |node: &str| !want["candidates"][node].is_null();
    assert!(have["node"].as_str().is_none_or(is_candidate), "{place}: {have}");
    compared.candidates += want["candidates"].as_object().map_or(0, serde_json::Map::len);
}

fn compare_pod(have: &Value, want: &Value, place: &str, compared: &mut Compared) {
    compared.pods += 1;
    assert_eq!(have["preEnqueue"], want["preEnqueue"], "{place}");
    let is_whole = all_exist();
    if is_whole {
        assert_eq!(have["preFilter"], want["preFilter"], "{place}");
    }
    if let Some(full) = want["fullMessage"].as_str().filter(|_| is_whole) {
        assert_eq!(have["fullMessage"], full, "{place}");
        compared.full_messages += 1;
    }
    if !is_whole && (!want["preFilter"].is_null() || !have["preFilter"].is_null()) {
        return;
    }
    let (have_nodes, want_nodes) =
        (by_name(&have["nodes"], "name"), by_name(&want["nodes"], "name"));
    for (name, want) in &want_nodes {
        let have = have_nodes.get(name).unwrap_or_else(|| panic!("{place}: no node {name}"));
        let place = format!("{place} {name}");
        if want["filter"]["plugin"] != "PreFilter" || is_whole {
            compare_filters(&have["allFilters"], &want["allFilters"], &place, compared);
        }
        compare_raw(&have["raw"], &want["raw"], &place, compared);
        if is_whole {
            assert_eq!(have["filter"]["plugin"], want["filter"]["plugin"], "{place}");
            assert_eq!(status(&have["filter"]), status(&want["filter"]), "{place}");
            assert_eq!(have["weighted"], want["weighted"], "{place}");
            assert_eq!(have["total"], want["total"], "{place}");
            compared.weighted += 1;
        }
    }
    if is_whole {
        assert_eq!(have["best"], want["best"], "{place}");
        if let Some(message) = want["message"].as_str() {
            compare_preemption(&have["preemption"], &want["preemption"], place, compared);
            let have = have["message"].as_str().unwrap_or_default();
            assert_eq!(have, message, "{place}");
            compared.messages += 1;
        }
    }
}

/// The program of a case.
fn program_of(case: &Value, release: Release) -> Value {
    let config = case["config"].as_str().unwrap_or_default();
    let mut program =
        program(config.rsplit('/').next().unwrap_or_default().trim_end_matches(".yaml"));
    program["release"] = release.name().into();
    program
}

/// Places all pods of a case in as few calls as that takes, with so many threads; or one by one.
fn placed(case: &Value, release: Release, threads: Option<usize>) -> (Vec<Decision>, String) {
    let mut engine = Engine::with_threads(1, Arc::new(Threads::new(threads.unwrap_or(1))));
    // The clusters are small.
    engine.look_ahead(1);
    engine.load(&program_of(case, release)).expect("the program is good");
    support::apply(&mut engine, &case["cluster"]);
    let uids: Vec<Arc<str>> = engine.pending().into_iter().map(|pod| pod.uid).collect();
    let mut decisions = Vec::new();
    let mut left = uids.as_slice();
    while !left.is_empty() {
        let count = if threads.is_some() { left.len() } else { 1 };
        let decided = engine.schedule(&left[..count], 0, &Still).decisions;
        left = &left[decided.len()..];
        decisions.extend(decided);
    }
    (decisions, format!("{} {:?}", engine.program().units_spent(), engine.statistics()))
}

#[test]
fn pods_are_placed_alike_with_any_number_of_threads() {
    let mut decisions = 0;
    let release = Release::NEWEST;
    for path in support::golden_paths(release) {
        let case = support::golden_case(&path);
        let one = placed(&case, release, Some(1));
        assert_eq!(one, placed(&case, release, Some(2)), "{}", path.display());
        assert_eq!(one, placed(&case, release, Some(4)), "{}", path.display());
        assert_eq!(one.0, placed(&case, release, None).0, "{}: one by one", path.display());
        decisions += one.0.len();
    }
    assert!(decisions > 1_000, "{decisions}");
}

fn every_verdict_of(release: Release) -> Compared {
    let mut compared = Compared::default();
    for path in support::golden_paths(release) {
        let case = support::golden_case(&path);
        let mut engine = support::loaded(1, &program_of(&case, release));
        support::apply(&mut engine, &case["cluster"]);
        let lines = engine.explain(None);
        let lines: BTreeMap<String, Value> = lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).expect("a line is JSON"))
            .map(|line: Value| (line["pod"].as_str().unwrap_or_default().to_owned(), line))
            .collect();
        let place = path.file_stem().map(|stem| stem.to_string_lossy());
        let place = place.map(|stem| format!("{} {stem}", release.name()));
        for want in case["expected"].as_array().expect("answers are a list") {
            let pod = want["pod"].as_str().unwrap_or_default();
            let place = format!("{} {pod}", place.as_deref().unwrap_or_default());
            let have = lines.get(pod).unwrap_or_else(|| panic!("{place}: no answer"));
            compare_pod(have, want, &place, &mut compared);
        }
        compared.cases += 1;
    }
    compared
}

#[test]
fn every_recorded_verdict_agrees() {
    for release in Release::ALL {
        let compared = every_verdict_of(release);
        println!("{} {compared:?}", release.name());
        assert_eq!((compared.cases, compared.pods), (132, 1693));
        assert!(compared.verdicts > 50_000 && compared.raw > 20_000, "{compared:?}");
        // Full messages were not recorded of 1.36.
        let full = if release == Release::V1_36 { 0 } else { 264 };
        if all_exist() {
            assert_eq!((compared.weighted, compared.messages), (18_645, 320));
            assert_eq!((compared.candidates, compared.full_messages), (140, full));
        }
    }
}
