//! `NodePorts`: host ports that the pod wants and pods on the node already hold.
//!
//! Specification: Kubernetes API `ContainerPort.hostPort`; `0.0.0.0` is every address, `::` is not.
//! Reads: pods on the node; the pod's host ports. Two containers of one pod are not checked against
//! each other.

use crate::event::{Event, Events, Occurrence};
use crate::intern::Shared;
use crate::model::HostPort;
use crate::part::{Part, Parts};
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Status};

pub(crate) const NAME: &str = "NodePorts";

const REASON: &str = "node(s) didn't have free ports for the requested pod ports";
const TAKEN: Code = Code::reject(1);
const EVERY_ADDRESS: &str = "0.0.0.0";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NodePorts;

#[derive(Debug, Clone)]
struct PreparedNodePorts {
    wanted: Shared<Box<[HostPort]>>,
}

impl Filter for NodePorts {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.ports.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let wanted = pod.template.ports.clone();
        if wanted.is_empty() { None } else { Some(Box::new(PreparedNodePorts { wanted })) }
    }

    fn events(&self) -> Events {
        Events::of(&[Event::PodDelete, Event::NodeAdd])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::Load])
    }

    /// Only a pod that leaves gives a port back.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::PodAdd, Event::PodLabel, Event::PodScaleDown])
    }

    fn wakes(&self, pod: &Pod, event: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match (event, occurrence) {
            (Event::PodDelete, Occurrence::Pod { old: Some(gone), is_assigned: true, .. }) => {
                conflict(&pod.template.ports, &gone.template.ports)
            }
            (Event::PodDelete, _) => false,
            _ => true,
        }
    }
}

impl PreparedFilter for PreparedNodePorts {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE).and_load()
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        if node.load.pods_with_ports == 0 {
            return Code::PASS;
        }
        let is_taken = node.load.pods.iter().any(|pod| conflict(&self.wanted, &pod.template.ports));
        if is_taken { TAKEN } else { Code::PASS }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unschedulable(REASON)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

fn conflict(wanted: &[HostPort], held: &[HostPort]) -> bool {
    wanted.iter().any(|want| held.iter().any(|have| collide(want, have)))
}

fn collide(want: &HostPort, have: &HostPort) -> bool {
    let is_everywhere = |port: &HostPort| port.ip.as_ref() == EVERY_ADDRESS;
    want.port == have.port
        && want.protocol == have.protocol
        && (want.ip == have.ip || is_everywhere(want) || is_everywhere(have))
}

#[cfg(test)]
mod tests {
    use super::collide;
    use crate::model::HostPort;

    fn port(text: &str) -> HostPort {
        let mut parts = text.split('/');
        let mut next = || parts.next().unwrap_or_default();
        HostPort { ip: next().into(), protocol: next().into(), port: next().parse().unwrap() }
    }

    #[test]
    fn only_the_v4_wildcard_is_every_address() {
        let table = [
            ("0.0.0.0/TCP/80", "0.0.0.0/TCP/80", true),
            ("0.0.0.0/TCP/80", "127.0.0.1/TCP/80", true),
            ("127.0.0.1/TCP/80", "0.0.0.0/TCP/80", true),
            ("127.0.0.1/TCP/80", "127.0.0.2/TCP/80", false),
            ("127.0.0.1/TCP/80", "127.0.0.1/UDP/80", false),
            ("127.0.0.1/TCP/80", "127.0.0.1/TCP/81", false),
            ("::/TCP/80", "127.0.0.1/TCP/80", false),
        ];
        for (want, have, collides) in table {
            assert_eq!(collide(&port(want), &port(have)), collides, "{want} {have}");
        }
    }
}
