//! Nodes as the engine holds them: a part that only node updates change, and the load of pods.
//!
//! A rule judges a [`NodeView`], which may also be a hypothetical node, with pods added or removed.

use std::sync::Arc;

use crate::intern::{Interner, Shared};
use crate::model::{self, Taint};
use crate::resources::{Allocatable, Amounts, NonZero};

use super::pod::Pod;

/// A node's place in every column. Stays with the node until it is deleted, then is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeSlot(u32);

impl NodeSlot {
    /// The position in a column.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// `None` beyond what 32 bits count.
    pub(crate) fn at(index: usize) -> Option<Self> {
        u32::try_from(index).ok().map(Self)
    }
}

/// A set of parts of a node that differ, or that a rule reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeParts(u16);

impl NodeParts {
    pub(crate) const NONE: Self = Self(0);
    /// Appeared or vanished; every rule reads it.
    pub const EXISTENCE: Self = Self(1);
    pub(crate) const LABELS: Self = Self(1 << 1);
    pub(crate) const TAINTS: Self = Self(1 << 2);
    pub(crate) const UNSCHEDULABLE: Self = Self(1 << 3);
    pub(crate) const ALLOCATABLE: Self = Self(1 << 4);
    pub(crate) const CAPACITY: Self = Self(1 << 5);
    pub(crate) const CONDITIONS: Self = Self(1 << 6);
    pub(crate) const ANNOTATIONS: Self = Self(1 << 7);
    pub(crate) const IMAGES: Self = Self(1 << 8);
    pub(crate) const FEATURES: Self = Self(1 << 9);
    /// What expressions read by API path.
    pub const API_VALUES: Self = Self(1 << 10);
    pub(crate) const ALL: Self = Self((1 << 11) - 1);

    /// The parts of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets have a part in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What only updates of the node itself change.
#[derive(Debug)]
pub struct Node {
    /// `metadata.name`.
    pub name: Arc<str>,
    pub(crate) object: model::Node,
    pub(crate) allocatable: Allocatable,
    pub(crate) capacity: Allocatable,
    pub(crate) taints: Shared<Box<[Taint]>>,
    /// A number that follows from the name alone, to draw lots by.
    pub draw_number: u64,
}

/// What pods on the node hold.
#[derive(Debug, Clone, Default)]
pub struct Load {
    pub(crate) pods: Vec<Arc<Pod>>,
    pub(crate) requested: Amounts,
    pub(crate) requested_nonzero: NonZero,
    /// How many of `pods` want host ports.
    pub pods_with_ports: u32,
    /// How many of `pods` have volumes that a rule reads.
    pub pods_with_volumes: u32,
    /// How many of `pods` have any affinity or anti-affinity to pods.
    pub pods_with_affinity: u32,
    /// How often a newer row took the place of one that weighs the same, which no log tells of.
    pub rows_replaced: u64,
}

/// One node as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    /// The node's place in columns.
    pub slot: NodeSlot,
    /// The node without its pods.
    pub node: &'a Node,
    pub(crate) load: &'a Load,
}

/// The tables behind the shared parts of nodes.
#[derive(Debug, Default)]
pub(crate) struct NodeTables {
    taints: Interner<Box<[Taint]>>,
}

impl NodeTables {
    pub(crate) fn row(&mut self, mut object: model::Node, names: &mut Interner<Arc<str>>) -> Node {
        let name: Arc<str> = object.meta.name.as_ref().into();
        Node {
            draw_number: draw_number_of(&name),
            name,
            allocatable: Allocatable::of(&object.allocatable, names),
            capacity: Allocatable::of(&object.capacity, names),
            taints: self.taints.intern(std::mem::take(&mut object.taints)),
            object,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.taints.bytes()
    }

    /// Drops what nobody holds.
    pub(crate) fn sweep(&mut self) {
        self.taints.sweep();
    }
}

/// FNV-1a, 64 bits.
fn draw_number_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Node {
    /// What differs between two states of one node.
    pub fn changed_parts(&self, new: &Self) -> NodeParts {
        let (old, fresh) = (&self.object, &new.object);
        let mut parts = NodeParts::NONE;
        let mut note = |differs: bool, part: NodeParts| {
            if differs {
                parts = parts.with(part);
            }
        };
        note(old.meta.labels != fresh.meta.labels, NodeParts::LABELS);
        note(self.taints != new.taints, NodeParts::TAINTS);
        note(old.unschedulable != fresh.unschedulable, NodeParts::UNSCHEDULABLE);
        note(old.allocatable != fresh.allocatable, NodeParts::ALLOCATABLE);
        note(old.capacity != fresh.capacity, NodeParts::CAPACITY);
        note(old.conditions != fresh.conditions, NodeParts::CONDITIONS);
        note(old.meta.annotations != fresh.meta.annotations, NodeParts::ANNOTATIONS);
        note(old.images != fresh.images, NodeParts::IMAGES);
        note(old.declared_features != fresh.declared_features, NodeParts::FEATURES);
        note(old.api_values != fresh.api_values, NodeParts::API_VALUES);
        parts
    }
}

impl Load {
    pub(crate) fn put(&mut self, pod: Arc<Pod>) {
        self.count(&pod, 1);
        self.pods.push(pod);
    }

    /// Takes the pod away; false if it was not there.
    pub fn take(&mut self, uid: &str) -> bool {
        // From the end, since a hypothetical case removes the pod that it added last.
        let Some(position) = self.pods.iter().rposition(|pod| pod.uid.as_ref() == uid) else {
            return false;
        };
        let pod = self.pods.swap_remove(position);
        self.count(&pod, -1);
        true
    }

    fn count(&mut self, pod: &Pod, sign: i64) {
        let requests = pod.requests();
        self.requested.add(&requests.held, sign);
        let nonzero = &mut self.requested_nonzero;
        nonzero.cpu_milli =
            nonzero.cpu_milli.saturating_add(requests.held_nonzero.cpu_milli.saturating_mul(sign));
        nonzero.memory =
            nonzero.memory.saturating_add(requests.held_nonzero.memory.saturating_mul(sign));
        let step = |count: &mut u32, is_counted: bool| {
            if is_counted {
                *count = if sign > 0 { count.saturating_add(1) } else { count.saturating_sub(1) };
            }
        };
        step(&mut self.pods_with_ports, !pod.template.ports.is_empty());
        step(&mut self.pods_with_volumes, !pod.template.volumes.is_empty());
        step(&mut self.pods_with_affinity, !pod.template.pod_affinity.is_empty());
    }
}
