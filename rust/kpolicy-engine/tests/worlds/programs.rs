//! Random programs: rules with arguments, weights and conditions.
//!
//! Built-ins are drawn from the engine's own catalogue, so that a new one is tried at once. The
//! arguments of built-ins are drawn here.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use kpolicy_engine::rules::catalog;
use kpolicy_engine::rules::expression::facts;
use serde_json::{Value, json};

use crate::draws::Draws;
use crate::support::{FILTERS, SCORES};

/// Of which some score from 0 to 10, and of which formulas differ.
const RELEASES: [i64; 5] = [15, 16, 20, 21, 22];

fn expressions() -> &'static Value {
    static RULES: OnceLock<Value> = OnceLock::new();
    RULES.get_or_init(|| {
        serde_json::from_str(include_str!("rules.json")).expect("the rules are JSON")
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn resources(draws: &mut Draws) -> Value {
    let mut resources = vec![json!({"name": "cpu", "weight": 1 + draws.below(3)})];
    if draws.one_in(2) {
        resources.push(json!({"name": "memory", "weight": 1 + draws.below(3)}));
    }
    if draws.one_in(3) {
        resources.push(json!({"name": "example.com/gpu", "weight": 1 + draws.below(5)}));
    }
    json!(resources)
}

/// Of a filter or a score; the same for both where a built-in has both.
fn args(draws: &mut Draws, name: &str) -> Value {
    match name {
        "NodeResourcesFit" => {
            let strategy =
                draws.pick(&["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]);
            let mut strategy = json!({"type": strategy, "resources": resources(draws)});
            if strategy["type"] == "RequestedToCapacityRatio" {
                let (low, high) = (draws.below(11), draws.below(11));
                strategy["requestedToCapacityRatio"] = json!({"shape": [
                    {"utilization": 0, "score": low}, {"utilization": 60, "score": high},
                    {"utilization": 100, "score": 10 - low}]});
            }
            let mut args = json!({"scoringStrategy": strategy});
            if draws.one_in(4) {
                args["ignoredResources"] = json!(["example.com/gpu"]);
            }
            if draws.one_in(4) {
                args["ignoredResourceGroups"] = json!(["example.com"]);
            }
            args
        }
        "NodeResourcesBalancedAllocation" => json!({"resources": resources(draws)}),
        "NodeAffinity" if draws.one_in(2) => json!({"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "rank", "operator": "Exists"}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 30, "preference":
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["hdd"]}]}}]}}),
        "InterPodAffinity" => json!({"hardPodAffinityWeight": draws.below(101),
            "ignorePreferredTermsOfExistingPods": draws.one_in(2)}),
        "PodTopologySpread" if draws.one_in(2) => json!({"defaultingType": "List",
            "defaultConstraints": [
                {"maxSkew": 1 + draws.below(2), "topologyKey": "topology.kubernetes.io/zone",
                 "whenUnsatisfiable": draws.pick(&["DoNotSchedule", "ScheduleAnyway"])},
                {"maxSkew": 1 + draws.below(3), "topologyKey": "kubernetes.io/hostname",
                 "whenUnsatisfiable": "ScheduleAnyway"}]}),
        "ServiceAffinity" => json!({"affinityLabels": ["topology.kubernetes.io/zone"],
            "antiAffinityLabelsPreference": ["disk"]}),
        "NodeLabel" => json!({"presentLabels": ["rank"], "absentLabels": ["gone"],
            "presentLabelsPreference": ["disk"], "absentLabelsPreference": ["closed"]}),
        "SharedGpus" => json!({
            "devices": draws.pick(&["BestFit", "LeastFragmentation", "Random"]),
            "typicalPods": [{"cpuMilli": 1000, "gpus": 1, "weight": 1 + draws.below(3)},
                            {"gpus": 1, "gpuMilli": 300, "models": ["A"]},
                            {"cpuMilli": 500, "weight": 2}]}),
        "RequestedToCapacityRatio" => json!({"resources": resources(draws), "shape": [
            {"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}),
        _ => json!({}),
    }
}

/// Rules of the default profile are in more often than not, the others now and then. With few rules
/// a fault of one is not hidden by another that makes the cycle start over.
fn is_in(draws: &mut Draws, is_usual: bool, is_sparse: bool) -> bool {
    match (is_sparse, is_usual) {
        (true, _) => draws.one_in(12),
        (false, true) => !draws.one_in(8),
        (false, false) => draws.one_in(4),
    }
}

fn condition(draws: &mut Draws) -> Option<Value> {
    let with_conditions: Vec<&Value> = list(&expressions()["filters"])
        .iter()
        .filter(|rule| !list(&rule["match"]).is_empty())
        .collect();
    draws.one_in(12).then(|| draws.pick(&with_conditions)["match"].clone())
}

/// Some of the criteria, each at most once.
fn order(draws: &mut Draws) -> Value {
    let mut left = vec![
        "fewestPdbViolations",
        "lowestMaxPriority",
        "smallestPrioritySum",
        "fewestVictims",
        "latestStart",
    ];
    let many = 1 + draws.below(left.len());
    let drawn = (0..many).map(|_| left.swap_remove(draws.below(left.len())));
    drawn.collect::<Vec<_>>().into()
}

pub(crate) fn program(draws: &mut Draws) -> Value {
    let is_plain = draws.one_in(4);
    let is_sparse = !is_plain && draws.one_in(2);
    let (mut filters, mut scores) = (Vec::new(), Vec::new());
    // Rules that filter and score share their arguments.
    let mut drawn: Vec<(&str, Value)> = Vec::new();
    let mut args_of = |draws: &mut Draws, name: &'static str| -> Value {
        if is_plain {
            return json!({});
        }
        if let Some((_, args)) = drawn.iter().find(|(have, _)| *have == name) {
            return args.clone();
        }
        let args = args(draws, name);
        drawn.push((name, args.clone()));
        args
    };
    let usual = FILTERS.iter().copied();
    let others = catalog::filter_names().into_iter().filter(|name| !FILTERS.contains(name));
    for name in usual.chain(others) {
        let is_usual = FILTERS.contains(&name);
        if (is_plain && is_usual) || (!is_plain && is_in(draws, is_usual, is_sparse)) {
            let mut rule = json!({"name": name, "builtin": name, "args": args_of(draws, name)});
            if let (false, Some(condition)) = (is_plain, condition(draws)) {
                rule["match"] = condition;
            }
            filters.push(rule);
        }
    }
    for name in catalog::score_names() {
        let usual = SCORES.iter().find(|(have, _)| *have == name);
        if (is_plain && usual.is_some()) || (!is_plain && is_in(draws, usual.is_some(), is_sparse))
        {
            let weight = match usual {
                Some((_, weight)) if is_plain => *weight,
                _ => i64::try_from(draws.below(6)).expect("it is small"),
            };
            let mut rule = json!({"name": name, "builtin": name, "weight": weight, "args": args_of(draws, name)});
            if let (false, Some(condition)) = (is_plain, condition(draws)) {
                rule["match"] = condition;
            }
            if !is_plain && draws.one_in(5) {
                rule["release"] = json!(draws.pick(&RELEASES));
            }
            scores.push(rule);
        }
    }
    if !is_plain && !draws.one_in(3) {
        // Few, since each rejects: with one alone, whoever waits for it waits for nothing else.
        let most = if is_sparse { 2 } else { 5 };
        let mut drawn = |rules: &Value| -> Vec<Value> {
            let mut left: Vec<&Value> = list(rules).iter().collect();
            let many = 1 + draws.below(most);
            (0..many).map(|_| left.swap_remove(draws.below(left.len())).clone()).collect()
        };
        filters.extend(drawn(&expressions()["filters"]));
        scores.extend(drawn(&expressions()["scores"]));
    }
    let percentage = if is_plain || !draws.one_in(12) { 100 } else { draws.below(101) };
    let mut profile = json!({"schedulerName": "default-scheduler",
        "percentageOfNodesToScore": percentage, "filters": filters, "scores": scores});
    if !is_plain && draws.one_in(3) {
        let mut left: Vec<&Value> = list(&expressions()["devices"]).iter().collect();
        let many = 1 + draws.below(2);
        let drawn = (0..many).map(|_| left.swap_remove(draws.below(left.len())).clone());
        profile["devices"] = drawn.collect::<Vec<_>>().into();
    }
    if is_plain || !draws.one_in(12) {
        let policy = if draws.one_in(12) { "Never" } else { "LowerPriority" };
        let (share, absolute) = if draws.one_in(6) { (20, 1) } else { (10, 100) };
        profile["preemption"] = json!({"policy": policy, "minCandidateNodesPercentage": share,
                                       "minCandidateNodesAbsolute": absolute});
        // Drawn with the share, so that older worlds stay what they were.
        if share == 20 {
            profile["preemption"]["freesDevices"] = json!(true);
        }
        if !is_plain && draws.one_in(6) {
            profile["preemption"]["victims"] = draws.pick(list(&expressions()["victims"])).clone();
        }
        if !is_plain && draws.one_in(4) {
            profile["preemption"]["order"] = order(draws);
        }
    }
    json!({"format": 1, "hash": "sha256:test", "policies": expressions()["policies"],
           "limits": expressions()["limits"],
           "tieBreak": draws.pick(&["random", "random", "name", "leastPods"]), "profiles": [profile]})
}

/// The facts that a filter, its conditions and its message read, by the filter's name.
pub(crate) fn facts_of(document: &Value, rule: &str) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for profile in list(&document["profiles"]) {
        for filter in list(&profile["filters"]).iter().filter(|filter| filter["name"] == rule) {
            note_facts(filter, &mut facts);
        }
    }
    facts
}

/// The facts of the engine's table but those of victims and of allocations, which no filter reads.
pub(crate) fn known_facts() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let names = facts().into_iter().map(|(name, ..)| name);
        let elsewhere = ["victim.", "tenant.", "queue.", "allocation."];
        let is_here = |name: &String| !elsewhere.iter().any(|root| name.starts_with(root));
        names.filter(is_here).collect()
    })
}

/// The row of the engine's table that a fact has: a path of the API has that of its first part.
fn row_of(fact: &str) -> String {
    let exact = known_facts().iter().find(|name| *name == fact);
    let is_below = |name: &&String| {
        fact.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
            && name.matches('.').count() == 1
    };
    let first = || known_facts().iter().find(is_below);
    exact.or_else(first).unwrap_or_else(|| panic!("{fact} has no row")).clone()
}

fn note_facts(value: &Value, facts: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            facts.extend(fields.get("fact").and_then(Value::as_str).map(row_of));
            fields.values().for_each(|inner| note_facts(inner, facts));
        }
        Value::Array(items) => items.iter().for_each(|inner| note_facts(inner, facts)),
        _ => {}
    }
}
