//! Containers of a pod, each with its status.
//!
//! Two defaults of the API are applied here: a limit without a request is also the request; the
//! protocol of a host port is TCP and its address all addresses.

use kpolicy_engine::model::{Container, HostPort, Quantity, ResourceList, StatusResources};

use super::map::AmountMap;
use super::scalar::Text;
use super::sequence::{Element, List, Models};
use super::wire;

wire! {
    pub(crate) struct ContainerWire<'a> {
        "name" => name: Text<'a>,
        "image" => image: Text<'a>,
        "resources" => resources: ResourcesWire,
        "ports" => ports: Models<HostPort>,
        "restartPolicy" => restart_policy: Text<'a>,
        "restartPolicyRules" => restart_rules: List<RestartRuleWire<'a>>,
    }
}

wire! {
    pub(crate) struct ResourcesWire {
        "requests" => requests: Option<AmountMap>,
        "limits" => limits: AmountMap,
    }
}

wire! {
    pub(crate) struct PortWire<'a> {
        "hostPort" => host_port: i32,
        "hostIP" => host_ip: Text<'a>,
        "protocol" => protocol: Text<'a>,
    }
}

wire! {
    pub(crate) struct RestartRuleWire<'a> {
        "action" => action: Text<'a>,
    }
}

wire! {
    pub(crate) struct ContainerStatusWire<'a> {
        "name" => name: Text<'a>,
        "resources" => resources: Option<ResourcesWire>,
        "allocatedResources" => allocated: AmountMap,
    }
}

/// What the status of a container says of its resources.
pub(crate) struct ContainerStatus {
    name: Box<str>,
    resources: StatusResources,
}

/// Each container with its status, found by name.
pub(crate) fn with_statuses(
    containers: Models<Container>,
    statuses: Models<ContainerStatus>,
) -> Box<[Container]> {
    let mut containers = containers.0;
    for status in statuses.0 {
        let is_meant = |container: &&mut Container| {
            container.status.is_none() && container.name == status.name
        };
        if let Some(container) = containers.iter_mut().find(is_meant) {
            container.status = Some(Box::new(status.resources));
        }
    }
    containers
}

impl<'de> Element<'de> for Container {
    type Wire = ContainerWire<'de>;

    fn from_wire(wire: ContainerWire<'de>) -> Option<Self> {
        let limits = wire.resources.limits.0;
        Some(Self {
            name: wire.name.boxed(),
            image: wire.image.boxed(),
            requests: requests_or_limits(wire.resources.requests.unwrap_or_default().0, &limits),
            limits,
            host_ports: wire.ports.0,
            restarts_always: &*wire.restart_policy == "Always",
            restarts_all_containers: wire
                .restart_rules
                .0
                .iter()
                .any(|rule| &*rule.action == "RestartAllContainers"),
            status: None,
        })
    }
}

/// The API takes a container's limits for its requests where it names no requests. Objects from the
/// API server have these defaults already; objects in a file may lack them.
fn requests_or_limits(requests: ResourceList, limits: &ResourceList) -> ResourceList {
    if limits.iter().all(|(name, _)| requests.get(name).is_some()) {
        return requests;
    }
    let pairs = |list: &ResourceList| -> Vec<(Box<str>, Quantity)> {
        list.iter().map(|(name, amount)| (name.into(), *amount)).collect()
    };
    pairs(limits).into_iter().chain(pairs(&requests)).collect()
}

impl<'de> Element<'de> for HostPort {
    type Wire = PortWire<'de>;

    fn from_wire(wire: PortWire<'de>) -> Option<Self> {
        (wire.host_port > 0).then(|| Self {
            ip: wire.host_ip.boxed_or("0.0.0.0"),
            protocol: wire.protocol.boxed_or("TCP"),
            port: wire.host_port,
        })
    }
}

impl<'de> Element<'de> for ContainerStatus {
    type Wire = ContainerStatusWire<'de>;

    fn from_wire(wire: ContainerStatusWire<'de>) -> Option<Self> {
        let resources = status_resources(wire.resources, wire.allocated)?;
        Some(Self { name: wire.name.boxed(), resources })
    }
}

/// `None` where the status says nothing of resources.
pub(crate) fn status_resources(
    resources: Option<ResourcesWire>,
    allocated: AmountMap,
) -> Option<StatusResources> {
    if resources.is_none() && allocated.0.is_empty() {
        return None;
    }
    let requests = resources.map(|resources| resources.requests.unwrap_or_default().0);
    Some(StatusResources { requests, allocated: allocated.0 })
}
