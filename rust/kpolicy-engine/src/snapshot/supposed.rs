//! Pods and nodes as they would be with a part of them changed, for the sake of argument.
//!
//! A supposed pod is only a row: nothing of the snapshot changes. A supposed node takes the place of
//! the one that is there; whoever puts it there puts the other back before anything else happens.

use std::sync::Arc;

use crate::model::{self, Labels, SpreadConstraint, Toleration};
use crate::resources::Requests;

use super::Cluster;
use super::containers::Containers;
use super::log::Change;
use super::node::{Node, NodeSlot};
use super::pod::{Identity, NodeAffinity, Pod, PodAffinity, PodTables, Template};

/// The parts of a pod that are to be others; `None`: as they are.
#[derive(Debug, Default)]
pub(crate) struct PodParts {
    pub(crate) labels: Option<Labels>,
    pub(crate) requests: Option<Requests>,
    pub(crate) containers: Option<Containers>,
    pub(crate) tolerations: Option<Box<[Toleration]>>,
    pub(crate) node_affinity: Option<NodeAffinity>,
    pub(crate) pod_affinity: Option<PodAffinity>,
    pub(crate) spread: Option<Box<[SpreadConstraint]>>,
}

impl PodTables {
    /// A row with other parts of one.
    pub(crate) fn supposed(&mut self, pod: &Pod, parts: PodParts) -> Pod {
        let mut template = Template::clone(&pod.template);
        let set = &mut template;
        parts.requests.into_iter().for_each(|new| set.requests = self.requests.intern(new));
        parts.containers.into_iter().for_each(|new| set.containers = self.containers.intern(new));
        parts.spread.into_iter().for_each(|new| set.spread = self.spreads.intern(new));
        if let Some(new) = parts.tolerations {
            set.tolerations = self.tolerations.intern(new);
        }
        if let Some(new) = parts.node_affinity {
            set.node_affinity = self.node_affinities.intern(new);
        }
        if let Some(new) = parts.pod_affinity {
            set.pod_affinity = self.pod_affinities.intern(new);
        }
        let mut supposed = Pod { template: self.templates.intern(template), ..pod.clone() };
        if let Some(labels) = parts.labels {
            let identity = Identity { namespace: pod.namespace().clone(), labels };
            supposed.identity = self.identities.intern(identity);
        }
        supposed
    }
}

impl Cluster {
    /// The pod with other parts.
    pub(crate) fn supposed_pod(&mut self, pod: &Pod, parts: PodParts) -> Pod {
        self.tables.supposed_pod(pod, parts)
    }

    /// A supposed pod is not needed any more.
    pub(crate) fn drop_supposed(&mut self, supposed: &Pod, pod: &Pod) {
        self.tables.release(supposed, Some(pod));
    }

    /// Puts a changed node in the place of the one that is there, which is given back.
    pub(crate) fn suppose_node(
        &mut self,
        slot: NodeSlot,
        change: impl FnOnce(&mut model::Node),
    ) -> Option<Arc<Node>> {
        let old = self.nodes.shared(slot)?;
        let mut object = old.object.clone();
        object.taints = old.taints.iter().cloned().collect();
        change(&mut object);
        let new = Arc::new(self.tables.node(object));
        self.exchange_node(slot, &old, new);
        Some(old)
    }

    /// Undoes [`Cluster::suppose_node`].
    pub(crate) fn put_back_node(&mut self, slot: NodeSlot, node: Arc<Node>) {
        if let Some(supposed) = self.nodes.shared(slot) {
            self.exchange_node(slot, &supposed, node);
        }
    }

    fn exchange_node(&mut self, slot: NodeSlot, old: &Node, new: Arc<Node>) {
        let parts = old.changed_parts(&new);
        self.nodes.set(new);
        self.log.push(Change::Node(slot, parts));
    }
}
