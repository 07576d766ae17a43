//! Recorded answers of kube-scheduler's plugins for each rule, and what they would bind and
//! provision.

use std::collections::BTreeMap;

use kpolicy_engine::rules::volume_binding;
use kpolicy_engine::snapshot::{Cluster, Pod};
use serde_json::{Map, Value, json};

use super::clusters::{self, RULES};

fn decided(pod: &Pod, cluster: &Cluster) -> (Value, usize) {
    let mut by_node = Map::new();
    let mut steps = 0;
    for view in cluster.nodes().iter() {
        let Ok(bindings) = volume_binding::decide(pod, cluster, view) else { continue };
        let bind =
            bindings.bind.iter().map(|each| json!([each.volume.meta.name, each.claim.meta.name]));
        let bind: Vec<Value> = bind.collect();
        let provision = bindings.provision.iter().map(|claim| json!(claim.meta.name));
        let provision: Vec<Value> = provision.collect();
        steps += bind.len() + provision.len();
        by_node.insert(view.node.name.to_string(), json!({"bind": bind, "provision": provision}));
    }
    (by_node.into(), steps)
}

#[test]
fn every_recorded_answer_agrees() {
    let rules: BTreeMap<&str, _> =
        RULES.into_iter().map(|name| (name, clusters::rule(name))).collect();
    let (mut answers, mut rejections, mut steps) = (0, 0, 0);
    let cases = clusters::recorded_cases();
    for (position, (cluster, expected)) in cases.iter().enumerate() {
        let mut made = Cluster::default();
        for object in clusters::objects(cluster) {
            clusters::put(&mut made, object);
        }
        for want in expected.as_array().expect("answers are a list") {
            let key = want["pod"].as_str().unwrap_or_default();
            let entries = made.pods().in_order();
            let entry = entries.iter().find(|entry| entry.pod.key() == key);
            let pod = &entry.unwrap_or_else(|| panic!("{position}: no pod {key}")).pod;
            for (name, rule) in &rules {
                let mut have = clusters::verdicts(rule.as_ref(), pod, &made);
                if !want[name]["decide"].is_null() {
                    let (decided, count) = decided(pod, &made);
                    have.insert("decide".into(), decided);
                    steps += count;
                }
                assert_eq!(Value::from(have), want[name], "cluster {position}, {key}, {name}");
                answers += 1;
                let nodes = want[name]["nodes"].as_object();
                rejections += nodes.map_or(1, Map::len);
            }
        }
    }
    println!("{answers} answers, {rejections} rejections, {steps} bindings");
    assert_eq!((cases.len(), answers, rejections, steps), (160, 3_420, 1_701, 235));
}
