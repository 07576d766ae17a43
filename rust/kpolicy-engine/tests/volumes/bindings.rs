//! What must be written before a pod is bound, and what other pods see of it.

use kpolicy_engine::model::Object;
use kpolicy_engine::rules::volume_binding::{self, Bindings};
use kpolicy_engine::snapshot::Cluster;
use serde_json::{Value, json};

use super::clusters::{self, claim_json, claimed, cluster, node_json, pod, pod_json};

fn class(name: &str, provisioner: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": provisioner,
           "metadata": {"name": name}, "volumeBindingMode": "WaitForFirstConsumer"})
}

fn volume(name: &str, gibibytes: u32, claim: &Value) -> Value {
    let capacity = json!({"storage": format!("{gibibytes}Gi")});
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"capacity": capacity, "storageClassName": "local", "claimRef": claim,
                    "accessModes": ["ReadWriteOnce"]},
           "status": {"phase": "Available"}})
}

fn claim(name: &str, class: &str, gibibytes: u32) -> Value {
    let requests = json!({"storage": format!("{gibibytes}Gi")});
    claim_json(
        name,
        &json!({"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": requests}}),
    )
}

fn two_nodes() -> [Value; 4] {
    [
        node_json("n1", &json!({}), &json!({})),
        node_json("n2", &json!({}), &json!({})),
        class("local", "kubernetes.io/no-provisioner"),
        class("made", "p"),
    ]
}

fn decided(cluster: &Cluster, name: &str, node: &str) -> Result<Bindings, Vec<String>> {
    let slot = cluster.nodes().find(node).expect("the node is there");
    let view = cluster.nodes().view(slot).expect("the node is there");
    volume_binding::decide(&pod(cluster, name), cluster, view)
        .map_err(|status| status.reasons.iter().map(ToString::to_string).collect())
}

fn volumes(bindings: &Bindings) -> Vec<(&str, &str)> {
    let pairs = bindings.bind.iter();
    pairs.map(|each| (&*each.volume.meta.name, &*each.claim.meta.name)).collect()
}

#[test]
fn what_is_assumed_is_taken() {
    let mut objects = two_nodes().to_vec();
    objects.extend([
        volume("small", 2, &Value::Null),
        volume("large", 9, &Value::Null),
        claim("a", "local", 1),
        claim("b", "local", 1),
        claim("c", "local", 1),
        pod_json("first", None, &claimed(&["a"])),
        pod_json("second", None, &claimed(&["b"])),
        pod_json("third", None, &claimed(&["c"])),
    ]);
    let mut cluster = cluster(&objects);
    let first = decided(&cluster, "first", "n1").expect("a volume is free");
    assert_eq!(volumes(&first), [("small", "a")]);
    for (name, volume, claim) in [("first", "small", "a"), ("second", "large", "b")] {
        let bindings = decided(&cluster, name, "n1").expect("a volume is free");
        assert_eq!(volumes(&bindings), [(volume, claim)]);
        for object in bindings.assumed("n1") {
            clusters::put(&mut cluster, object);
        }
    }
    let again = decided(&cluster, "first", "n2").expect("the volume is its own now");
    assert_eq!(volumes(&again), [("small", "a")]);
    assert_eq!(again.assumed("n2"), [], "it says so already");
    let none = "node(s) didn't find available persistent volumes to bind";
    assert_eq!(decided(&cluster, "third", "n1"), Err(vec![none.to_owned()]));
}

#[test]
fn a_claim_that_is_provisioned_stays_with_its_node() {
    let mut objects = two_nodes().to_vec();
    objects.extend([claim("m", "made", 1), pod_json("p", None, &claimed(&["m"]))]);
    let mut cluster = cluster(&objects);
    let bindings = decided(&cluster, "p", "n1").expect("its class provisions");
    assert!(bindings.bind.is_empty());
    let assumed = bindings.assumed("n1");
    let [Object::PersistentVolumeClaim(claim)] = &assumed[..] else { panic!("{assumed:?}") };
    assert_eq!(claim.meta.annotations.get("volume.kubernetes.io/selected-node"), Some("n1"));
    for object in assumed {
        clusters::put(&mut cluster, object);
    }
    assert!(decided(&cluster, "p", "n1").is_ok());
    assert!(decided(&cluster, "p", "n2").is_err());
}

#[test]
fn a_volume_that_its_user_bound_is_taken_and_not_marked() {
    const MARK: &str = "pv.kubernetes.io/bound-by-controller";
    let mut objects = two_nodes().to_vec();
    objects.extend([
        volume("small", 1, &Value::Null),
        volume("own", 9, &json!({"namespace": "ns", "name": "a"})),
        claim("a", "local", 1),
        claim("b", "local", 1),
        pod_json("p", None, &claimed(&["b", "a"])),
    ]);
    let bindings = decided(&cluster(&objects), "p", "n1").expect("both have a volume");
    assert_eq!(volumes(&bindings), [("small", "b"), ("own", "a")]);
    let written: Vec<_> = bindings
        .assumed("n1")
        .into_iter()
        .map(|object| match object {
            Object::PersistentVolume(volume) => {
                let uid = volume.claim.as_ref().map(|(_, _, uid)| uid.to_string());
                (volume.meta.name.to_string(), uid, volume.meta.annotations.get(MARK).is_some())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let want =
        |name: &str, claim: &str, is_marked| (name.to_owned(), Some(claim.to_owned()), is_marked);
    assert_eq!(written, [want("small", "b", true), want("own", "a", false)]);
}
