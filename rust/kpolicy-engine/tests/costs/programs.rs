//! Programs with one rule each, for every built-in, and every shipped policy.

use kpolicy_engine::rules::catalog;
use serde_json::{Value, json};

/// Programs by name.
pub(crate) type Programs = Vec<(String, Value)>;

fn args(name: &str) -> Value {
    match name {
        "NodeAffinity" => json!({"addedAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 30, "preference":
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["1"]}]}}]}}),
        "ServiceAffinity" => json!({"affinityLabels": ["topology.kubernetes.io/zone"],
            "antiAffinityLabelsPreference": ["disk"]}),
        "NodeLabel" => json!({"presentLabels": ["rank"], "absentLabels": ["gone"],
            "presentLabelsPreference": ["disk"], "absentLabelsPreference": ["closed"]}),
        "RequestedToCapacityRatio" => json!({"resources": [{"name": "cpu", "weight": 1}],
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}),
        _ => json!({}),
    }
}

fn program(filters: &Value, scores: &Value) -> Value {
    json!({"format": 1, "hash": "sha256:test", "policies": [], "tieBreak": "name",
        "profiles": [{"schedulerName": "*", "percentageOfNodesToScore": 100,
            "filters": filters, "scores": scores}]})
}

/// Every filter and every score by itself.
pub(crate) fn builtins() -> Programs {
    let rule = |name: &str| json!({"name": name, "builtin": name, "args": args(name), "weight": 1});
    let filters = catalog::filter_names().into_iter().map(|name| {
        let mut rule = rule(name);
        rule.as_object_mut().expect("a rule is an object").remove("weight");
        (format!("filter {name}"), program(&json!([rule]), &json!([])))
    });
    let scores = catalog::score_names().into_iter();
    let scores =
        scores.map(|name| (format!("score {name}"), program(&json!([]), &json!([rule(name)]))));
    filters.chain(scores).collect()
}

/// Every shipped policy, serving every pod.
pub(crate) fn policies() -> Programs {
    let compiled: Value = serde_json::from_str(include_str!("policies.json")).expect("JSON");
    let programs = compiled.as_object().expect("programs by name");
    let serving_all = |(name, program): (&String, &Value)| {
        let mut program = program.clone();
        program["profiles"][0]["schedulerName"] = json!("*");
        (format!("policy {name}"), program)
    };
    programs.iter().map(serving_all).collect()
}
