//! The filter: labels in which the nodes of a service agree.
//!
//! Specification: what the pod's node selector says of these labels is wanted of a node; of the
//! others, if a service selects the pod, what the node of a pod with all its labels has.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{Kind, Labels};
use crate::part::{Part, Parts};
use crate::rules::default_selector::services;
use crate::rules::selected_pods::moves_nodes;
use crate::rules::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Status};
use crate::snapshot::pod::Identity;
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::ServiceAffinity;
use super::peers::Peers;

const REASON: &str = "node(s) didn't match service affinity";
const ELSEWHERE: Code = Code::reject(1);

#[derive(Debug, Clone)]
struct PreparedServiceFilter {
    identity: Shared<Identity>,
    labels: Arc<[Box<str>]>,
    /// What the pod itself says.
    own: Labels,
    has_service: bool,
    /// Only where they are asked.
    peers: Option<Peers>,
    wanted: Labels,
}

impl Filter for ServiceAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        if !self.affinity.is_empty() {
            key.push(pod.identity.id());
            key.push(pod.template.node_affinity.id());
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        if self.affinity.is_empty() {
            return None;
        }
        let selector = pod.template.node_affinity.selector.as_ref();
        let of_selector = |label: &'_ str| selector?.get(label);
        let own = pairs(&self.affinity, of_selector);
        let has_service = services(&pod.identity, cluster).next().is_some();
        let is_open = self.affinity.iter().any(|label| own.get(label).is_none());
        let mut prepared = PreparedServiceFilter {
            identity: pod.identity.clone(),
            labels: self.affinity.iter().cloned().collect(),
            own,
            has_service,
            peers: (has_service && is_open).then(|| Peers::of(pod, cluster)),
            wanted: Labels::default(),
        };
        prepared.wanted = prepared.wanted_now(cluster);
        Some(Box::new(prepared))
    }

    /// kube-scheduler tries a rule at every change of taints if the rule registers new nodes
    /// without their taints.
    fn events(&self) -> Events {
        Events::of(&[
            Event::PodAdd,
            Event::PodDelete,
            Event::PodLabel,
            Event::NodeAdd,
            Event::NodeLabel,
            Event::NodeTaint,
        ])
        .with(Events::of(&Event::of_object(Kind::Service)))
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels, Part::OtherPods, Part::OtherNodes])
    }

    /// It compares labels of nodes that pods of a service are on, and no resources.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::PodScaleDown, Event::NodeAllocatable])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        match occurrence {
            Occurrence::Pod { old, new, .. } => {
                let sides = [old.as_ref(), new.as_ref()];
                sides.into_iter().flatten().any(|other| other.namespace() == pod.namespace())
            }
            Occurrence::Node { .. } | Occurrence::Object(_) => true,
            Occurrence::Time { .. } => false,
        }
    }

    fn kinds(&self) -> &[Kind] {
        if self.affinity.is_empty() { &[] } else { &[Kind::Service] }
    }
}

impl PreparedServiceFilter {
    fn wanted_now(&self, cluster: &Cluster) -> Labels {
        let first = self.peers.as_ref().and_then(Peers::first);
        let node = first.and_then(|slot| cluster.nodes().view(slot));
        let theirs = |label: &str| node?.node.object.meta.labels.get(label);
        pairs(&self.labels, |label| self.own.get(label).or_else(|| theirs(label)))
    }

    fn is_current(&self, changes: Changes<'_>, cluster: &Cluster) -> bool {
        let is_service = |change: &Change| matches!(change, Change::Object(Kind::Service));
        let has_service = || services(&self.identity, cluster).next().is_some();
        !moves_nodes(changes)
            && (!changes.iter().any(is_service) || self.has_service == has_service())
    }

    fn argue(&mut self, cluster: &Cluster, change: impl FnOnce(&mut Peers)) {
        if let Some(peers) = &mut self.peers {
            change(peers);
            self.wanted = self.wanted_now(cluster);
        }
    }
}

/// Labels that have a value, with it.
fn pairs<'a>(labels: &[Box<str>], value: impl Fn(&str) -> Option<&'a str>) -> Labels {
    let labels = labels.iter().map(AsRef::as_ref);
    labels.filter_map(|label| Some((label, value(label)?))).collect()
}

impl PreparedFilter for PreparedServiceFilter {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        if !self.is_current(changes, cluster) {
            return Refresh::Again;
        }
        let Some(peers) = &mut self.peers else { return Refresh::Nodes };
        for change in changes.iter() {
            match change {
                Change::PodPut(slot, pod) => peers.put(*slot, pod, cluster),
                Change::PodTaken(slot, pod) => peers.take(*slot, pod, cluster),
                Change::Node(..) | Change::Object(_) | Change::Time(..) => {}
            }
        }
        let wanted = self.wanted_now(cluster);
        if wanted == self.wanted {
            return Refresh::Nodes;
        }
        self.wanted = wanted;
        Refresh::All
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        let labels = &node.node.object.meta.labels;
        let agrees = self.wanted.iter().all(|(key, value)| labels.get(key) == Some(value));
        if agrees { Code::PASS } else { ELSEWHERE }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unschedulable(REASON)
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.argue(cluster, |peers| peers.put(node.slot, pod, cluster));
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.argue(cluster, |peers| peers.take(node.slot, pod, cluster));
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        let labels = self.own.heap_bytes() + self.wanted.heap_bytes();
        HeldBytes::Changing(size_of_val(self) + labels + self.peers.heap_bytes())
    }
}
