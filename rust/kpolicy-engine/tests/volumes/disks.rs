//! Limits of one kind of disk, as old policies name them.

use kpolicy_engine::event::Occurrence;
use serde_json::{Value, json};

use super::clusters::{
    self, claim_json, claimed, cluster, node_json, pod, pod_json, put_json, rejected, rule,
};

const NO_LIMIT: fn() -> Value = || json!({});

fn ebs(ids: &[String]) -> Value {
    let volume = |id: &String| json!({"name": id, "awsElasticBlockStore": {"volumeID": id}});
    ids.iter().map(volume).collect()
}

fn numbered(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("vol-{number}")).collect()
}

#[test]
fn a_node_takes_as_many_as_its_cloud_allows() {
    let m5 = json!({"node.kubernetes.io/instance-type": "m5.large"});
    let objects = [
        node_json("plain", &json!({}), &NO_LIMIT()),
        node_json("nitro", &m5, &NO_LIMIT()),
        node_json("told", &m5, &json!({"attachable-volumes-aws-ebs": "27"})),
        pod_json("plain-has", Some("plain"), &ebs(&numbered(0..25))),
        pod_json("nitro-has", Some("nitro"), &ebs(&numbered(0..25))),
        pod_json("told-has", Some("told"), &ebs(&numbered(0..25))),
        pod_json("same", None, &ebs(&numbered(24..25))),
        pod_json("one", None, &ebs(&numbered(25..26))),
        pod_json("three", None, &ebs(&numbered(25..28))),
        pod_json("fifteen", None, &ebs(&numbered(25..40))),
    ];
    let cluster = cluster(&objects);
    let of = |name: &str| rejected(rule("EBSLimits").as_ref(), &pod(&cluster, name), &cluster);
    assert_eq!(of("same"), [""; 0]);
    assert_eq!(of("one"), ["nitro"]);
    assert_eq!(of("three"), ["nitro", "told"]);
    assert_eq!(of("fifteen"), ["nitro", "plain", "told"]);
    let said = clusters::verdicts(rule("EBSLimits").as_ref(), &pod(&cluster, "one"), &cluster);
    let want =
        json!({"nitro": {"code": "Unschedulable", "reasons": ["node(s) exceed max volume count"]}});
    assert_eq!(said["nodes"], want);
}

#[test]
fn claims_count_by_volume_or_class() {
    let limit = json!({"attachable-volumes-gce-pd": "2"});
    let volume = |name: &str, disk: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
               "spec": {"gcePersistentDisk": {"pdName": disk}}})
    };
    let other = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "csi"},
                       "spec": {"csi": {"driver": "d", "volumeHandle": "h"}}});
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                       "metadata": {"name": "pd"}, "provisioner": "kubernetes.io/gce-pd"});
    let mut cluster = cluster(&[
        node_json("n", &json!({}), &limit),
        volume("v1", "d1"),
        volume("v1-again", "d1"),
        other,
        class,
        claim_json("one", &json!({"volumeName": "v1"})),
        claim_json("one-again", &json!({"volumeName": "v1-again"})),
        claim_json("csi", &json!({"volumeName": "csi"})),
        claim_json("unbound", &json!({"storageClassName": "pd"})),
        claim_json("gone", &json!({"volumeName": "gone", "storageClassName": "pd"})),
        claim_json("unknown", &json!({"storageClassName": "other"})),
        pod_json("has", Some("n"), &claimed(&["one", "unknown", "missing"])),
        pod_json("fits", None, &claimed(&["one-again", "csi", "unbound", "unknown"])),
        pod_json("exceeds", None, &claimed(&["unbound", "gone"])),
    ]);
    let of = |cluster: &kpolicy_engine::snapshot::Cluster, name: &str| {
        rejected(rule("GCEPDLimits").as_ref(), &pod(cluster, name), cluster)
    };
    assert_eq!(of(&cluster, "fits"), [""; 0]);
    assert_eq!(of(&cluster, "exceeds"), ["n"]);

    let migrated = "storage.alpha.kubernetes.io/migrated-plugins";
    put_json(
        &mut cluster,
        &json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "spec": {"drivers": []},
                "metadata": {"name": "n", "annotations": {migrated: "kubernetes.io/gce-pd"}}}),
    );
    assert_eq!(of(&cluster, "exceeds"), [""; 0], "the CSI driver's limit counts now");
}

#[test]
fn each_kind_counts_its_own() {
    let volumes = json!([{"name": "a", "cinder": {"volumeID": "c"}},
                         {"name": "b", "azureDisk": {"diskName": "d", "diskURI": "u"}}]);
    let limits = json!({"attachable-volumes-cinder": "0", "attachable-volumes-azure-disk": "0"});
    let cluster = cluster(&[node_json("n", &json!({}), &limits), pod_json("p", None, &volumes)]);
    let of = |name: &str| {
        let prepared = rule(name).prepare(&pod(&cluster, "p"), &cluster);
        prepared.map(|_| rejected(rule(name).as_ref(), &pod(&cluster, "p"), &cluster).len())
    };
    assert_eq!(of("CinderLimits"), Some(1));
    assert_eq!(of("AzureDiskLimits"), Some(1));
    assert_eq!(of("EBSLimits"), None);
    assert_eq!(of("GCEPDLimits"), None);
}

#[test]
fn another_instance_type_or_allocatable_is_looked_at_again() {
    let plain = |labels: Value, limit: Value| node_json("n", &labels, &limit);
    let volumes = ebs(&numbered(0..1));
    let mut cluster = cluster(&[plain(json!({}), NO_LIMIT()), pod_json("p", None, &volumes)]);
    let prepared = rule("EBSLimits").prepare(&pod(&cluster, "p"), &cluster).expect("it has a disk");
    let m5 = json!({"node.kubernetes.io/instance-type": "m5.large"});
    let limit = json!({"attachable-volumes-aws-ebs": "1"});
    for node in [plain(m5.clone(), NO_LIMIT()), plain(m5, limit)] {
        let changed = put_json(&mut cluster, &node);
        let [Occurrence::Node { parts, .. }] = &changed[..] else { panic!("{changed:?}") };
        assert!(prepared.reads().node.meets(*parts), "{parts:?}");
    }
}
