//! The prepared form of a built-in reads only parts that the rule declares. Wakes of its pods
//! follow from the declared parts.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

mod support;

use std::sync::Arc;

use kpolicy_engine::Engine;
use kpolicy_engine::api::{Still, Verdict};
use kpolicy_engine::event::{Event, Events};
use kpolicy_engine::part::Part;
use kpolicy_engine::rules::catalog;
use kpolicy_engine::snapshot::NodeParts;
use serde_json::{Value, json};

fn engine_with(name: &str) -> Engine {
    let args = match name {
        "ServiceAffinity" => json!({"affinityLabels": ["zone"]}),
        "NodeLabel" => json!({"presentLabels": ["zone"]}),
        _ => json!({}),
    };
    let filter = json!({"name": name, "builtin": name, "args": args});
    let profile = json!({"schedulerName": "*", "scores": [], "filters": [filter]});
    let program = json!({"format": 1, "hash": "h", "policies": [], "profiles": [profile]});
    support::loaded(1, &program)
}

/// A pod that every rule has something to say to, but for claims and groups.
fn demanding_pod() -> Value {
    let selector = json!({"matchLabels": {"app": "web"}});
    let term = json!([{"topologyKey": "zone", "labelSelector": selector}]);
    let resources = json!({"requests": {"cpu": "1"}});
    let ports = json!([{"containerPort": 80, "hostPort": 80}]);
    json!({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "w", "namespace": "d", "uid": "w", "labels": {"app": "web"},
        "annotations": {"alibabacloud.com/gpu-milli": "500"}},
    "spec": {
        "nodeName": "",
        "hostNetwork": true,
        "hostUsers": false,
        "nodeSelector": {"zone": "a"},
        "containers": [{"name": "c", "image": "i", "ports": ports, "resources": resources}],
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term},
        },
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}],
        "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "mine"}},
            {"name": "g", "gcePersistentDisk": {"pdName": "disk"}},
            {"name": "e", "awsElasticBlockStore": {"volumeID": "disk"}},
            {"name": "a", "azureDisk": {"diskName": "disk", "diskURI": "u"}},
            {"name": "o", "cinder": {"volumeID": "disk"}},
        ]}})
}

fn pods() -> [Value; 3] {
    let mut named = demanding_pod();
    named["spec"]["nodeName"] = json!("n");
    let mut claiming = demanding_pod();
    claiming["spec"]["resourceClaims"] = json!([{"name": "r", "resourceClaimName": "r"}]);
    claiming["spec"]["schedulingGroup"] = json!({"podGroupName": "g"});
    [demanding_pod(), named, claiming]
}

#[test]
fn what_a_built_in_reads_is_declared() {
    let mut prepared_rules = 0;
    for name in catalog::filter_names() {
        let mut was_prepared = false;
        for pod in pods() {
            let mut engine = engine_with(name);
            let node = json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n", "labels": {"zone": "a"}},
                "status": {"allocatable": {"cpu": "4", "pods": "10"}}});
            support::apply(&mut engine, &node);
            support::apply(&mut engine, &pod);
            let cluster = engine.cluster();
            let pod = &cluster.pods().get("w").expect("the pod was applied").pod;
            let rule = &engine.program().profiles[0].filters[0];
            let Some(prepared) = rule.prepare(pod, cluster) else { continue };
            was_prepared = true;
            let reads = prepared.reads();
            let declared = rule.parts().of_node().with(NodeParts::EXISTENCE);
            assert_eq!(declared.with(reads.node), declared, "{name} reads more than it declares");
            assert!(!reads.load || rule.parts().has(Part::Load), "{name} reads pods on the node");
        }
        assert!(was_prepared, "{name} had nothing to say to any pod");
        prepared_rules += 1;
    }
    assert!(prepared_rules >= 19, "{prepared_rules}");
}

#[test]
fn what_a_built_in_does_not_wait_for_is_named() {
    let mut unhelpful = 0;
    for name in catalog::filter_names() {
        let engine = engine_with(name);
        let rule = &engine.program().profiles[0].filters[0];
        let waits_for = rule.events().with(rule.more_events());
        for event in rule.parts().events().with(Events::of_objects(rule.kinds())).iter() {
            let is_named = rule.unhelpful_events().contains(event);
            assert_ne!(waits_for.contains(event), is_named, "{name}: {event:?}");
            unhelpful += usize::from(is_named);
        }
        assert!(!rule.unhelpful_events().contains(Event::NodeAdd), "{name}");
    }
    assert!(unhelpful > 20, "{unhelpful}");
}

/// kube-scheduler has no hint for it: `NodeVolumeLimits` reads which nodes there are.
#[test]
fn a_new_node_without_limits_wakes_who_exceeds_those_of_all_others() {
    let mut engine = engine_with("NodeVolumeLimits");
    let node = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    let volume = json!({"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": []});
    let drivers = json!([{"name": "d", "nodeID": "n", "allocatable": {"count": 0}}]);
    let claimed = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    let objects = [
        node("n"),
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n"},
               "spec": {"drivers": drivers}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
               "spec": volume}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
               "metadata": {"name": "c", "namespace": "d"}, "spec": {"volumeName": "v"}}),
        json!({"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": "w", "namespace": "d", "uid": "w"},
               "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": claimed}}),
    ];
    for object in &objects {
        support::apply(&mut engine, object);
    }
    let waiting = [Arc::from("w")];
    assert_eq!(engine.schedule(&waiting, 0, &Still).decisions[0].verdict, Verdict::Parked);
    let applied = support::apply(&mut engine, &node("m"));
    assert_eq!(applied.wakes.iter().map(|wake| wake.event).collect::<Vec<_>>(), ["NodeAdd"]);
    assert_eq!(engine.schedule(&waiting, 0, &Still).decisions[0].verdict, Verdict::Placed);
}
