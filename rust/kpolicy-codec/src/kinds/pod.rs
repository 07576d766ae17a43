//! Pods. Defaults of the API: scheduler name `default-scheduler`, priority 0.

use kpolicy_engine::model::{
    ApiValues, ClaimSource, Container, Kind, Phase, Pod, PodClaim, SpreadConstraint, Toleration,
    Volume,
};
use serde::de::{Deserialize, Deserializer};

use crate::wire::affinity::AffinityWire;
use crate::wire::container::{ContainerStatus, ResourcesWire, status_resources, with_statuses};
use crate::wire::map::{AmountMap, TextMap};
use crate::wire::meta::MetaWire;
use crate::wire::scalar::{Text, Time};
use crate::wire::sequence::{Element, List, Models};
use crate::wire::wire;

wire! {
    struct PodWire<'a> {
        "metadata" => meta: MetaWire<'a>,
        "spec" => spec: SpecWire<'a>,
        "status" => status: StatusWire<'a>,
    }
}

wire! {
    struct SpecWire<'a> {
        "nodeName" => node_name: Text<'a>,
        "schedulerName" => scheduler_name: Text<'a>,
        "priority" => priority: i32,
        "priorityClassName" => priority_class_name: Text<'a>,
        "preemptionPolicy" => preemption_policy: Text<'a>,
        "schedulingGates" => gates: List<NamedWire<'a>>,
        "nodeSelector" => node_selector: Option<TextMap>,
        "affinity" => affinity: AffinityWire<'a>,
        "tolerations" => tolerations: Models<Toleration>,
        "topologySpreadConstraints" => spread_constraints: Models<SpreadConstraint>,
        "containers" => containers: Models<Container>,
        "initContainers" => init_containers: Models<Container>,
        "overhead" => overhead: AmountMap,
        "resources" => resources: ResourcesWire,
        "volumes" => volumes: Models<Volume>,
        "resourceClaims" => resource_claims: Models<PodClaim>,
        "schedulingGroup" => group: Option<GroupWire<'a>>,
        "workloadRef" => workload: Option<WorkloadWire<'a>>,
        "hostNetwork" => host_network: bool,
        "hostUsers" => host_users: Option<bool>,
        "serviceAccountName" => service_account_name: Text<'a>,
    }
}

wire! {
    struct StatusWire<'a> {
        "phase" => phase: Text<'a>,
        "startTime" => started: Time,
        "nominatedNodeName" => nominated_node_name: Text<'a>,
        "conditions" => conditions: Models<Condition>,
        "containerStatuses" => containers: Models<ContainerStatus>,
        "initContainerStatuses" => init_containers: Models<ContainerStatus>,
        "resources" => resources: Option<ResourcesWire>,
        "allocatedResources" => allocated: AmountMap,
        "resourceClaimStatuses" => claims: List<ClaimStatusWire<'a>>,
    }
}

wire! {
    pub(crate) struct PodClaimWire<'a> {
        "name" => name: Text<'a>,
        "resourceClaimName" => claim: Option<Text<'a>>,
        "resourceClaimTemplateName" => template: Option<Text<'a>>,
    }
}

wire! {
    struct ClaimStatusWire<'a> {
        "name" => name: Text<'a>,
        "resourceClaimName" => claim: Option<Text<'a>>,
    }
}

wire! {
    struct NamedWire<'a> {
        "name" => name: Text<'a>,
    }
}

wire! {
    struct GroupWire<'a> {
        "podGroupName" => name: Text<'a>,
    }
}

wire! {
    /// What release 1.35 had in place of a scheduling group.
    struct WorkloadWire<'a> {
        "podGroup" => group: Text<'a>,
    }
}

wire! {
    struct ConditionWire<'a> {
        "type" => kind: Text<'a>,
        "status" => status: Text<'a>,
        "reason" => reason: Text<'a>,
    }
}

/// The conditions that a rule reads.
#[derive(PartialEq, Eq)]
enum Condition {
    ResizeInfeasible,
    PreemptedByScheduler,
}

const SCHEDULER_NAME_DEFAULT: &str = "default-scheduler";

pub(crate) fn decode<'de, D: Deserializer<'de>>(json: D) -> Result<Pod, D::Error> {
    let PodWire { meta, spec, status } = PodWire::deserialize(json)?;
    let generation = meta.generation;
    let (meta, owner) = meta.into_meta(Kind::Pod);
    let group = spec.group.map(|group| group.name);
    let group = group.or(spec.workload.map(|workload| workload.group));
    Ok(Pod {
        meta,
        generation,
        owner,
        node_name: spec.node_name.boxed(),
        nominated_node_name: status.nominated_node_name.boxed(),
        scheduler_name: spec.scheduler_name.boxed_or(SCHEDULER_NAME_DEFAULT),
        priority: spec.priority,
        priority_class_name: spec.priority_class_name.boxed(),
        never_preempts: &*spec.preemption_policy == "Never",
        phase: phase(&status.phase),
        start_seconds: status.started.0,
        scheduling_gates: spec.gates.boxed(|gate| gate.name.boxed()),
        node_selector: spec.node_selector.map(|selector| selector.0),
        affinity: spec.affinity.into_model(),
        tolerations: spec.tolerations.0,
        spread_constraints: spec.spread_constraints.0,
        resize_infeasible: status.conditions.0.contains(&Condition::ResizeInfeasible),
        preempted_by_scheduler: status.conditions.0.contains(&Condition::PreemptedByScheduler),
        containers: with_statuses(spec.containers, status.containers),
        init_containers: with_statuses(spec.init_containers, status.init_containers),
        overhead: spec.overhead.0,
        pod_level_requests: spec.resources.requests.map(|requests| requests.0),
        pod_level_limits: spec.resources.limits.0,
        status_resources: status_resources(status.resources, status.allocated).map(Box::new),
        volumes: spec.volumes.0,
        resource_claims: spec.resource_claims.0,
        claim_statuses: status
            .claims
            .boxed(|claim| (claim.name.boxed(), claim.claim.map(Text::boxed))),
        pod_group: group.map(Text::boxed),
        host_network: spec.host_network,
        host_users: spec.host_users,
        service_account_name: spec.service_account_name.boxed(),
        api_values: ApiValues::default(),
    })
}

impl<'de> Element<'de> for PodClaim {
    type Wire = PodClaimWire<'de>;

    fn from_wire(wire: PodClaimWire<'de>) -> Option<Self> {
        let source = match (wire.claim, wire.template) {
            (Some(claim), _) => ClaimSource::Claim(claim.boxed()),
            (None, Some(_)) => ClaimSource::Template,
            (None, None) => ClaimSource::Unknown,
        };
        Some(Self { name: wire.name.boxed(), source })
    }
}

fn phase(text: &str) -> Phase {
    match text {
        "" | "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        _ => Phase::Unknown,
    }
}

impl<'de> Element<'de> for Condition {
    type Wire = ConditionWire<'de>;

    fn from_wire(wire: ConditionWire<'de>) -> Option<Self> {
        match (&*wire.kind, &*wire.reason, &*wire.status) {
            ("PodResizePending", "Infeasible", _) => Some(Self::ResizeInfeasible),
            ("DisruptionTarget", "PreemptionByScheduler", "True") => {
                Some(Self::PreemptedByScheduler)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::object::tests::{pod, refused};
    use kpolicy_engine::model::{ClaimSource, HostPort, Kind, Phase, PodClaim, Quantity};

    const FULL: &str = r#"{
      "apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7",
        "creationTimestamp": "1970-01-01T00:01:00Z", "deletionTimestamp": "1970-01-01T00:02:00Z",
        "labels": {"b": "2", "a": "1"},
        "annotations": {"x": "y", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "ownerReferences": [
          {"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "u0"},
          {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u1",
           "controller": true}],
        "managedFields": [{"fieldsV1": {"f:metadata": {}}}]},
      "spec": {"nodeName": "n1", "schedulerName": "kpolicy", "priority": -5,
        "priorityClassName": "low", "preemptionPolicy": "Never", "hostNetwork": true,
        "hostUsers": false, "serviceAccountName": "robot", "nodeSelector": {},
        "schedulingGates": [{"name": "g2"}, {"name": "g1"}],
        "schedulingGroup": {"podGroupName": "gang"},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
        "overhead": {"cpu": "10m"}, "resources": {"requests": {"cpu": 3}},
        "tolerations": [{"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 3},
                        {"operator": "Exists"}, {"key": "k", "operator": "Lt", "value": "5"}],
        "containers": [
          {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"},
            "limits": {"cpu": "1", "memory": "1Gi"}},
           "ports": [{"containerPort": 80}, {"hostPort": 80, "containerPort": 80},
                     {"hostPort": 81, "hostIP": "10.0.0.1", "protocol": "UDP"}]}],
        "initContainers": [
          {"name": "i", "restartPolicy": "Always",
           "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
      "status": {"phase": "Running", "startTime": "1970-01-01T00:03:00Z",
        "nominatedNodeName": "n2",
        "resourceClaimStatuses": [{"name": "t", "resourceClaimName": "made"}, {"name": "u"}],
        "conditions": [
          {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
          {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
        "containerStatuses": [{"name": "other", "resources": {}},
          {"name": "c", "allocatedResources": {"cpu": "50m"},
           "resources": {"requests": {"cpu": "60m"}}}],
        "resources": {"requests": {"cpu": "4"}}}}"#;

    #[test]
    fn metadata_and_scalars_are_kept() {
        let pod = pod(FULL);
        assert_eq!((&*pod.meta.namespace, &*pod.meta.name, &*pod.meta.uid), ("n", "p", "u"));
        assert_eq!(&*pod.meta.resource_version, "7");
        assert_eq!((pod.meta.creation_seconds, pod.meta.deletion_seconds), (Some(60), Some(120)));
        assert_eq!(pod.meta.labels.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
        assert_eq!(pod.meta.annotations.iter().collect::<Vec<_>>(), [("x", "y")]);
        assert_eq!(&*pod.owner.expect("it has a controller").uid, "u1");
        assert_eq!((&*pod.node_name, &*pod.nominated_node_name), ("n1", "n2"));
        assert_eq!((&*pod.scheduler_name, pod.priority), ("kpolicy", -5));
        assert_eq!((&*pod.priority_class_name, pod.never_preempts), ("low", true));
        assert_eq!((pod.phase, pod.start_seconds), (Phase::Running, Some(180)));
        assert_eq!((pod.host_network, pod.host_users), (true, Some(false)));
        assert_eq!(&*pod.service_account_name, "robot");
        assert_eq!(pod.pod_group.as_deref(), Some("gang"));
        assert_eq!(*pod.scheduling_gates, ["g2".into(), "g1".into()]);
        assert_eq!(
            *pod.resource_claims,
            [PodClaim { name: "gpu".into(), source: ClaimSource::Claim("c".into()) }]
        );
        assert_eq!(*pod.claim_statuses, [("t".into(), Some("made".into())), ("u".into(), None)]);
        assert!(pod.node_selector.is_some_and(|selector| selector.is_empty()));
        assert!(pod.resize_infeasible && pod.preempted_by_scheduler);
    }

    #[test]
    fn a_pod_is_in_a_group_however_the_release_says_it() {
        let group = |spec: &str| {
            let pod = pod(&format!(r#"{{"metadata": {{"name": "p"}}, "spec": {{{spec}}}}}"#));
            pod.pod_group.map(String::from)
        };
        assert_eq!(group(""), None);
        assert_eq!(group(r#""schedulingGroup": null, "workloadRef": null"#), None);
        assert_eq!(group(r#""schedulingGroup": {"podGroupName": "g"}"#).as_deref(), Some("g"));
        assert_eq!(group(r#""schedulingGroup": {"new": 1}"#).as_deref(), Some(""));
        let workload =
            r#""workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "k"}"#;
        assert_eq!(group(workload).as_deref(), Some("g"));
    }

    #[test]
    fn containers_have_defaults_and_their_own_status() {
        let pod = pod(FULL);
        let container = &pod.containers[0];
        let cpu = |millis: i128| Some(Quantity::from_nanos(millis * 1_000_000));
        assert_eq!(container.requests.get("cpu").copied(), cpu(100));
        assert_eq!(container.requests.get("memory"), Some(&Quantity::from_units(1 << 30)));
        assert_eq!(container.limits.get("cpu").copied(), cpu(1_000));
        let port = |ip: &str, protocol: &str, port| HostPort {
            ip: ip.into(),
            protocol: protocol.into(),
            port,
        };
        assert_eq!(
            *container.host_ports,
            [port("0.0.0.0", "TCP", 80), port("10.0.0.1", "UDP", 81)]
        );
        let status = container.status.as_deref().expect("its status speaks of resources");
        assert_eq!(status.allocated.get("cpu").copied(), cpu(50));
        let requests = status.requests.as_ref().expect("and of requests");
        assert_eq!(requests.get("cpu").copied(), cpu(60));
        let sidecar = &pod.init_containers[0];
        assert!(sidecar.restarts_always && sidecar.restarts_all_containers);
        assert_eq!(sidecar.status, None);
        assert_eq!(pod.overhead.get("cpu").copied(), cpu(10));
        let whole = pod.pod_level_requests.expect("requests of the whole pod");
        assert_eq!(whole.get("cpu").copied(), cpu(3_000));
        let whole = pod.status_resources.and_then(|status| status.requests).expect("in status too");
        assert_eq!(whole.get("cpu").copied(), cpu(4_000));
    }

    #[test]
    fn what_is_absent_has_the_defaults_of_the_api() {
        let bare = pod(r#"{"metadata": {"name": "p"}}"#);
        assert_eq!((&*bare.meta.namespace, &*bare.meta.uid), ("default", "default/p"));
        assert_eq!((&*bare.scheduler_name, bare.priority), ("default-scheduler", 0));
        assert_eq!((bare.phase, bare.host_users), (Phase::Pending, None));
        assert_eq!((&bare.affinity, &bare.node_selector), (&None, &None));
        let nulls = pod(r#"{"metadata": {"name": "p", "labels": null, "annotations": null,
                "ownerReferences": null, "creationTimestamp": null, "uid": null},
                "spec": {"affinity": null, "containers": null, "nodeSelector": null,
                  "tolerations": null, "priority": null, "overhead": null, "hostUsers": null,
                  "resources": null, "schedulerName": null, "volumes": null}, "status": null}"#);
        assert_eq!(nulls, bare);
    }

    #[test]
    fn of_duplicate_keys_the_last_counts() {
        let pod = pod(r#"{"metadata": {"name": "a", "name": "p", "labels": {"a": "1", "a": "2"}},
                "spec": {"priority": 1, "priority": 2}, "spec": {"priority": 3}}"#);
        assert_eq!((&*pod.meta.name, pod.priority), ("p", 3));
        assert_eq!(pod.meta.labels.iter().collect::<Vec<_>>(), [("a", "2")]);
    }

    #[test]
    fn a_wrong_type_is_named_with_its_place() {
        let cases = [
            (
                r#"{"metadata":{"name":"p"},
                    "spec":{"containers":[{},{"resources":{"requests":{"cpu":true}}}]}}"#,
                "Pod p",
                "spec.containers[1].resources.requests.cpu: a quantity is a string or a number",
            ),
            (
                r#"{"metadata":{"name":"p"},
                    "spec":{"containers":[{"resources":{"requests":{"cpu":"-1"}}}]}}"#,
                "Pod p",
                "spec.containers[0].resources.requests.cpu: an amount must not be negative",
            ),
            (
                r#"{"metadata":{"name":"p","namespace":"n"},"spec":{"overhead":{"cpu":"1e"}}}"#,
                "Pod n/p",
                "spec.overhead.cpu: a quantity ends with one of",
            ),
            (
                r#"{"metadata":{"name":"p","labels":{"a":1}}}"#,
                "Pod p",
                "metadata.labels.a: invalid type: integer `1`, expected a string",
            ),
            (
                r#"{"metadata":{"name":"p","creationTimestamp":"yesterday"}}"#,
                "Pod p",
                "metadata.creationTimestamp: a time is written as in",
            ),
            (
                r#"{"metadata":{"name":"p"},"spec":{"priority":2147483648}}"#,
                "Pod p",
                "spec.priority: invalid value: integer `2147483648`, expected i32",
            ),
            (
                r#"{"metadata":{"name":"p"},"spec":{"containers":{}}}"#,
                "Pod p",
                "spec.containers: invalid type: map, expected a list",
            ),
            (r#"{"metadata":[]}"#, "here", "metadata: invalid type: sequence, expected an object"),
            ("[]", "here", "invalid type: sequence, expected an object"),
            ("null", "here", "invalid type: null, expected an object"),
            (r#"{"metadata":{"generateName":"p-"}}"#, "here", "metadata.name is missing"),
        ];
        for (json, object, message) in cases {
            let unreadable = refused(Kind::Pod, json);
            assert_eq!(unreadable.object, object, "{json}");
            assert!(unreadable.message.starts_with(message), "{json}: {}", unreadable.message);
        }
    }
}
