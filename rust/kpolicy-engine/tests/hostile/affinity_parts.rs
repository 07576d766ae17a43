//! Parts of a pod's affinity with many entries.

use serde_json::{Value, json};

use crate::cluster::node_name;
use crate::growth::{Growth, Part};
use crate::spec_parts::{extend, pod_selector};

const LIST: usize = 16_000;
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(crate) static AFFINITY_PARTS: [Part; 12] = [
    Part { name: "node.required", entries_max: LIST, add: node_required },
    Part { name: "node.one-term", entries_max: LIST, add: node_one_term },
    Part { name: "node.fields", entries_max: LIST, add: node_fields },
    Part { name: "node.preferred", entries_max: LIST, add: node_preferred },
    Part { name: "pod.required", entries_max: LIST, add: pod_required },
    Part { name: "pod.preferred", entries_max: LIST, add: pod_preferred },
    Part { name: "anti.required", entries_max: LIST, add: anti_required },
    Part { name: "anti.preferred", entries_max: LIST, add: anti_preferred },
    Part { name: "anti.namespaces", entries_max: LIST, add: anti_namespaces },
    Part { name: "pod.namespace-selector", entries_max: LIST, add: pod_namespace_selector },
    Part { name: "anti.label-keys", entries_max: LIST, add: anti_label_keys },
    Part { name: "pod.equal-terms", entries_max: LIST, add: pod_equal_terms },
];

fn node_requirement(growth: &Growth, index: usize) -> Value {
    let values: Vec<String> = (0..growth.values).map(|value| growth.value(value + index)).collect();
    match index % 4 {
        0 | 1 => json!({"key": growth.key(index), "operator": "NotIn", "values": values}),
        2 => json!({"key": growth.key(index), "operator": "Gt", "values": ["5"]}),
        _ => json!({"key": growth.key(index), "operator": "In", "values": values}),
    }
}

fn node_term(growth: &Growth, index: usize) -> Value {
    let requirements: Vec<Value> =
        (0..growth.requirements).map(|place| node_requirement(growth, index + place)).collect();
    json!({"matchExpressions": requirements})
}

fn node_required(pod: &mut Value, growth: &Growth) {
    let terms = &mut pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    extend(terms, (0..growth.entries).map(|index| node_term(growth, index)));
}

fn node_one_term(pod: &mut Value, growth: &Growth) {
    let terms = &mut pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    let requirements: Vec<Value> =
        (0..growth.entries).map(|index| node_requirement(growth, index)).collect();
    extend(terms, std::iter::once(json!({"matchExpressions": requirements})));
}

fn node_fields(pod: &mut Value, growth: &Growth) {
    let terms = &mut pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    let term = |index: usize| {
        json!({"matchFields": [{"key": "metadata.name", "operator": "In",
            "values": [node_name(index)]}]})
    };
    extend(terms, (0..growth.entries).map(term));
}

fn node_preferred(pod: &mut Value, growth: &Growth) {
    let terms = &mut pod["spec"]["affinity"]["nodeAffinity"][PREFERRED];
    let term = |index: usize| json!({"weight": 1, "preference": node_term(growth, index)});
    extend(terms, (0..growth.entries).map(term));
}

fn pod_term(growth: &Growth, index: usize) -> Value {
    let mut term = json!({"topologyKey": growth.key(index),
        "labelSelector": pod_selector(growth, index)});
    if index % 3 == 1 {
        term["namespaceSelector"] = json!({});
    }
    term
}

fn terms_of(pod: &mut Value, kind: &str, growth: &Growth) {
    let terms = &mut pod["spec"]["affinity"][kind][REQUIRED];
    extend(terms, (0..growth.entries).map(|index| pod_term(growth, index)));
}

fn weighted_terms_of(pod: &mut Value, kind: &str, growth: &Growth) {
    let term = |index: usize| json!({"weight": 1, "podAffinityTerm": pod_term(growth, index)});
    extend(&mut pod["spec"]["affinity"][kind][PREFERRED], (0..growth.entries).map(term));
}

fn pod_required(pod: &mut Value, growth: &Growth) {
    terms_of(pod, "podAffinity", growth);
}

fn pod_preferred(pod: &mut Value, growth: &Growth) {
    weighted_terms_of(pod, "podAffinity", growth);
}

fn anti_required(pod: &mut Value, growth: &Growth) {
    terms_of(pod, "podAntiAffinity", growth);
}

fn anti_preferred(pod: &mut Value, growth: &Growth) {
    weighted_terms_of(pod, "podAntiAffinity", growth);
}

/// Terms that all ask for the same.
fn pod_equal_terms(pod: &mut Value, growth: &Growth) {
    let terms = &mut pod["spec"]["affinity"]["podAffinity"][REQUIRED];
    extend(terms, (0..growth.entries).map(|_| pod_term(growth, 0)));
}

fn anti_namespaces(pod: &mut Value, growth: &Growth) {
    let names: Vec<String> = (0..growth.entries).map(|index| growth.text(index)).collect();
    let mut term = pod_term(growth, 0);
    term["namespaces"] = json!(names);
    extend(&mut pod["spec"]["affinity"]["podAntiAffinity"][REQUIRED], std::iter::once(term));
}

fn pod_namespace_selector(pod: &mut Value, growth: &Growth) {
    let requirement = |index: usize| json!({"key": growth.text(index), "operator": "DoesNotExist"});
    let requirements: Vec<Value> = (0..growth.entries).map(requirement).collect();
    let mut term = pod_term(growth, 0);
    term["namespaceSelector"] = json!({"matchExpressions": requirements});
    let terms = &mut pod["spec"]["affinity"]["podAffinity"][PREFERRED];
    extend(terms, std::iter::once(json!({"weight": 1, "podAffinityTerm": term})));
}

fn anti_label_keys(pod: &mut Value, growth: &Growth) {
    let keys: Vec<String> = (0..growth.entries).map(|index| format!("l{index}")).collect();
    let mut term = pod_term(growth, 0);
    term["matchLabelKeys"] = json!(keys);
    extend(&mut pod["spec"]["affinity"]["podAntiAffinity"][REQUIRED], std::iter::once(term));
}
