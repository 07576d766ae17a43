//! `NodeName`: a pod that names a node goes there or nowhere.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::part::{Part, Parts};
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Status};

pub(crate) const NAME: &str = "NodeName";
pub(crate) const MISMATCH: &str = "node(s) didn't match the requested node name";

#[derive(Debug)]
pub(crate) struct NodeName;

#[derive(Debug, Clone)]
struct PreparedNodeName {
    wanted: Arc<str>,
}

impl Filter for NodeName {
    fn key(&self, pod: &Pod, key: &mut Key) {
        // A pod that names a node is not pending, so this is about pods judged for explanation.
        key.push_text(&pod.node_name);
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        (!pod.node_name.is_empty()).then(|| -> Box<dyn PreparedFilter> {
            Box::new(PreparedNodeName { wanted: Arc::clone(&pod.node_name) })
        })
    }

    fn events(&self) -> Events {
        Events::of(&[Event::NodeAdd])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence])
    }

    fn wakes(&self, _: &Pod, _: Event, _: &Occurrence, _: &Cluster) -> bool {
        true
    }
}

impl PreparedFilter for PreparedNodeName {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::EXISTENCE)
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        if node.node.name == self.wanted { Code::PASS } else { Code::reject(1) }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unresolvable(MISMATCH)
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
