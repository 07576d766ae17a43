//! The cluster before which rules are measured: nodes with the labels that rules read, a pod on each,
//! volumes of every zone; and pods that ask for something of every rule.

use serde_json::{Map, Value, json};

/// Label keys of every node, and how many values each has; 0: one a node.
const LABELS: [(&str, usize); 15] = [
    ("kubernetes.io/hostname", 0),
    ("topology.kubernetes.io/zone", 10),
    ("topology.kubernetes.io/region", 2),
    ("disk", 2),
    ("rank", 50),
    ("licence.kpolicy.dev/product", 5),
    ("node.kpolicy.dev/lifecycle", 2),
    ("node.kpolicy.dev/price", 20),
    ("node.kpolicy.dev/carbon", 20),
    ("tenancy.kpolicy.dev/tenant", 8),
    ("nvidia.com/gpu.product", 3),
    ("maintenance.kpolicy.dev/window", 12),
    ("data.kpolicy.dev/serves", 30),
    ("capacity.kpolicy.dev/type", 2),
    ("gpu.kpolicy.dev/model", 3),
];
const VOLUMES: usize = 200;

/// Whether every node has every label, or one node in a hundred lacks each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labelled {
    Everywhere,
    Mostly,
}

fn node(index: usize, labelled: Labelled) -> Value {
    let name = format!("node-{index:05}");
    let mut labels = Map::new();
    for (position, (key, values)) in LABELS.iter().enumerate() {
        let value = match values {
            0 => name.clone(),
            values => (index % values).to_string(),
        };
        if labelled == Labelled::Everywhere || index % 100 != 7 * position % 100 {
            labels.insert((*key).to_owned(), value.into());
        }
    }
    let amounts = json!({"cpu": "32", "memory": "128Gi", "pods": "110", "nvidia.com/gpu": "4"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts, "capacity": amounts,
            "images": [{"names": [format!("image-{}:1", index % 40)], "sizeBytes": 90_000_000}]}})
}

fn placed(index: usize) -> Value {
    let (name, app) = (format!("placed-{index:05}"), format!("app-{}", index % 50));
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": app}},
        "spec": {"nodeName": format!("node-{index:05}"), "containers": [{"name": "c",
            "image": "image-1:1", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": app}}}}]}}}})
}

fn volume(index: usize, class: &str, claim: Option<&str>) -> Value {
    let zone = (index % 10).to_string();
    let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("{class}-{index:04}"), "uid": format!("{class}-{index:04}"),
            "labels": {"topology.kubernetes.io/zone": zone}},
        "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": class, "csi": {"driver": "csi.example.com",
                "volumeHandle": format!("h{index}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]}}},
        "status": {"phase": "Available"}});
    if let Some(claim) = claim {
        volume["spec"]["claimRef"] = json!({"namespace": "d", "name": claim, "uid": claim});
        volume["status"]["phase"] = json!("Bound");
    }
    volume
}

fn claim(name: &str, class: &str, volume: Option<&str>) -> Value {
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "d", "uid": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "5Gi"}}},
        "status": {"phase": "Pending"}});
    if let Some(volume) = volume {
        claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
        claim["spec"]["volumeName"] = json!(volume);
        claim["status"]["phase"] = json!("Bound");
    }
    claim
}

/// The objects of a cluster without pending pods.
pub(crate) fn objects(nodes: usize, labelled: Labelled) -> Value {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "late"}, "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [
            {"key": "topology.kubernetes.io/region", "values": ["0", "1"]}]}]});
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "d"}, "spec": {"selector": {"app": "app-1"}}});
    let bound = volume(3, "bound", Some("bound"));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "d", "labels": {"tenancy.kpolicy.dev/tenant": "1"}}});
    let mut items =
        vec![namespace, class, service, bound, claim("bound", "bound", Some("bound-0003"))];
    items.extend((0..nodes).map(|index| node(index, labelled)));
    items.extend((0..nodes).map(placed));
    items.extend((0..VOLUMES).map(|index| volume(index, "late", None)));
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// A pod that every rule has something to say to, with its claim.
pub(crate) fn pod(name: &str) -> Value {
    let own_claim = format!("{name}-data");
    let apps = json!({"matchLabels": {"app": "app-1"}});
    let constraint = |key: &str, when: &str| {
        json!({"maxSkew": 5_000, "topologyKey": key,
        "whenUnsatisfiable": when, "labelSelector": apps})
    };
    let term = |key: &str| json!({"topologyKey": key, "labelSelector": apps});
    let exists = |key: &str| json!({"key": key, "operator": "Exists"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": "app-1",
            "licence.kpolicy.dev/product": "1", "tenancy.kpolicy.dev/tenant": "1"},
            "annotations": {"data.kpolicy.dev/reads": "1"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r",
                "uid": "r", "controller": true}]},
        "spec": {"priority": 5,
            "containers": [{"name": "c", "image": "image-1:1",
                "ports": [{"containerPort": 80, "hostPort": 8080}],
                "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
                    "limits": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "1"}}}],
            "nodeSelector": {"disk": "1"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "bound"}},
                {"name": "b", "persistentVolumeClaim": {"claimName": own_claim}}],
            "topologySpreadConstraints": [
                constraint("topology.kubernetes.io/zone", "DoNotSchedule"),
                constraint("kubernetes.io/hostname", "ScheduleAnyway")],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                        {"matchExpressions": [exists("topology.kubernetes.io/zone")]}]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5,
                        "preference": {"matchExpressions": [exists("rank")]}}]},
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "podAffinityTerm": term("topology.kubernetes.io/zone")}]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    term("kubernetes.io/hostname")]}}}});
    json!({"apiVersion": "v1", "kind": "List", "items": [claim(&own_claim, "late", None), pod]})
}
