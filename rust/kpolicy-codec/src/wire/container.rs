//! Containers of a pod with what the status says of each.
//!
//! Owns two defaults of the API: a limit without a request is also the request, a host port's
//! protocol is TCP and its address all addresses.

use kpolicy_engine::model::{Container, HostPort, Quantity, ResourceList, StatusResources};

use super::map::AmountMap;
use super::scalar::Text;
use super::sequence::List;
use super::wire;

wire! {
    pub struct ContainerWire<'a> {
        "name" => name: Text<'a>,
        "image" => image: Text<'a>,
        "resources" => resources: ResourcesWire,
        "ports" => ports: List<PortWire<'a>>,
        "restartPolicy" => restart_policy: Text<'a>,
        "restartPolicyRules" => restart_rules: List<RestartRuleWire<'a>>,
    }
}

wire! {
    pub struct ResourcesWire {
        "requests" => requests: Option<AmountMap>,
        "limits" => limits: AmountMap,
    }
}

wire! {
    pub struct PortWire<'a> {
        "hostPort" => host_port: i32,
        "hostIP" => host_ip: Text<'a>,
        "protocol" => protocol: Text<'a>,
    }
}

wire! {
    pub struct RestartRuleWire<'a> {
        "action" => action: Text<'a>,
    }
}

wire! {
    pub struct ContainerStatusWire<'a> {
        "name" => name: Text<'a>,
        "resources" => resources: Option<ResourcesWire>,
        "allocatedResources" => allocated: AmountMap,
    }
}

/// Each container with its status, found by name.
pub fn into_containers(
    containers: List<ContainerWire<'_>>,
    statuses: List<ContainerStatusWire<'_>>,
) -> Box<[Container]> {
    let mut statuses: Vec<(Box<str>, StatusResources)> =
        statuses.0.into_iter().filter_map(ContainerStatusWire::into_model).collect();
    containers.boxed(|wire| {
        let mut container = wire.into_model();
        let found = statuses.iter().position(|(name, _)| *name == container.name);
        container.status = found.map(|position| Box::new(statuses.swap_remove(position).1));
        container
    })
}

impl ContainerWire<'_> {
    fn into_model(self) -> Container {
        let limits = self.resources.limits.0;
        Container {
            name: self.name.boxed(),
            image: self.image.boxed(),
            requests: requests_or_limits(self.resources.requests.unwrap_or_default().0, &limits),
            limits,
            host_ports: self.ports.boxed_some(PortWire::into_model),
            restarts_always: &*self.restart_policy == "Always",
            restarts_all_containers: self
                .restart_rules
                .0
                .iter()
                .any(|rule| &*rule.action == "RestartAllContainers"),
            status: None,
        }
    }
}

/// Clause: defaulting of pods; what comes from the API server has it already.
fn requests_or_limits(requests: ResourceList, limits: &ResourceList) -> ResourceList {
    if limits.iter().all(|(name, _)| requests.get(name).is_some()) {
        return requests;
    }
    let pairs = |list: &ResourceList| -> Vec<(Box<str>, Quantity)> {
        list.iter().map(|(name, amount)| (name.into(), *amount)).collect()
    };
    pairs(limits).into_iter().chain(pairs(&requests)).collect()
}

impl PortWire<'_> {
    fn into_model(self) -> Option<HostPort> {
        (self.host_port > 0).then(|| HostPort {
            ip: self.host_ip.boxed_or("0.0.0.0"),
            protocol: self.protocol.boxed_or("TCP"),
            port: self.host_port,
        })
    }
}

impl ContainerStatusWire<'_> {
    fn into_model(self) -> Option<(Box<str>, StatusResources)> {
        let status = status_resources(self.resources, self.allocated)?;
        Some((self.name.boxed(), status))
    }
}

/// `None` where the status says nothing of resources.
pub fn status_resources(
    resources: Option<ResourcesWire>,
    allocated: AmountMap,
) -> Option<StatusResources> {
    if resources.is_none() && allocated.0.is_empty() {
        return None;
    }
    let requests = resources.map(|resources| resources.requests.unwrap_or_default().0);
    Some(StatusResources { requests, allocated: allocated.0 })
}
