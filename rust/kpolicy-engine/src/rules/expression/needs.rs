//! The parts of the cluster that an expression depends on, by the facts that it names. Cache keys,
//! refreshing and wakes follow from them.

use kpolicy_cel::{Expression, Name};

use crate::event::{Event, Events};
use crate::model::Kind;
use crate::part::{Part, Parts};
use crate::rules::Key;
use crate::snapshot::{NodeParts, Pod};

use super::facts::{self, Root};

/// The parts of the world that expressions read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Needs(Parts);

const fn of(parts: &[Part]) -> Parts {
    Parts::of(parts)
}

/// Parts of the pending pod.
const OF_POD: Parts = of(&[
    Part::PodIdentity,
    Part::PodRequests,
    Part::PodTolerations,
    Part::PodPriority,
    Part::PodNodeAffinity,
    Part::PodTemplate,
    Part::PodAnnotations,
    Part::PodName,
    Part::PodApiValues,
]);

/// The facts that an expression names.
pub(super) fn facts_of(expression: &Expression) -> impl Iterator<Item = &Name> {
    let constant = expression.reads().iter().map(|read| &read.fact);
    constant.chain(expression.dynamic_facts())
}

impl Needs {
    /// Of all facts that an expression names, or the first one that the engine does not know.
    pub(crate) fn of(expression: &Expression) -> Result<Self, String> {
        let special = [Root::Victim, Root::Tenant, Root::Queue, Root::Allocation];
        Self::of_all(expression, |root| !special.contains(&root))
    }

    /// The needs of an expression that may also read a victim.
    pub(crate) fn with_victim(expression: &Expression) -> Result<Self, String> {
        let special = [Root::Tenant, Root::Queue, Root::Allocation];
        Self::of_all(expression, |root| !special.contains(&root))
    }

    /// The needs of an expression about a pod in the queue, for which no node is looked at.
    pub(crate) fn of_queue(expression: &Expression) -> Result<Self, String> {
        let special = [Root::Victim, Root::Node, Root::Allocation];
        Self::of_all(expression, |root| !special.contains(&root))
    }

    /// The needs of an expression that judges an allocation of devices, whatever node gives it.
    pub(crate) fn with_allocation(expression: &Expression) -> Result<Self, String> {
        let known = [Root::Pod, Root::Namespace, Root::Now, Root::Allocation];
        Self::of_all(expression, |root| known.contains(&root))
    }

    fn of_all(expression: &Expression, is_there: impl Fn(Root) -> bool) -> Result<Self, String> {
        let is_there = |fact: &Name| facts::row(fact).is_some_and(|(root, _)| is_there(root));
        let constant = expression.reads().iter().map(|read| &read.fact);
        let dynamic = expression.dynamic_facts();
        let parts = constant.chain(dynamic).try_fold(Parts::NONE, |sum, fact| {
            let parts = facts::parts(fact).filter(|_| is_there(fact));
            parts.map(|parts| sum.with(parts)).ok_or_else(|| fact.text.to_string())
        })?;
        Ok(Self(parts))
    }

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0.with(other.0))
    }

    pub(crate) fn parts(self) -> Parts {
        self.0
    }

    /// Of the node itself.
    pub(crate) fn node(self) -> NodeParts {
        self.0.of_node()
    }

    /// Pods on the node, or what they hold.
    pub(crate) fn load(self) -> bool {
        self.0.meets(of(&[Part::Load, Part::LoadInDetail]))
    }

    pub(crate) fn other_pods(self) -> bool {
        self.0.has(Part::OtherPods)
    }

    pub(crate) fn other_nodes(self) -> bool {
        self.0.has(Part::OtherNodes)
    }

    /// Kinds of objects besides pods and nodes that are read.
    pub(crate) fn kinds(self) -> Vec<Kind> {
        let events = self.0.events();
        let is_read = |kind: &Kind| events.contains(Event::ObjectUpdate(*kind));
        Kind::ALL.into_iter().filter(is_read).collect()
    }

    /// Whether an answer may change while the pod stays as it is and no node is looked at.
    pub(crate) fn is_of_cluster(self) -> bool {
        self.other_pods() || self.other_nodes() || self.0.meets(Parts::OBJECTS)
    }

    /// Whether two states of a pod differ in what is read of it.
    pub(crate) fn tells_apart(self, old: &Pod, new: &Pod) -> bool {
        let key = |pod| {
            let mut key = Key::default();
            self.key(pod, &mut key);
            key
        };
        key(old) != key(new)
    }

    pub(crate) fn key(self, pod: &Pod, key: &mut Key) {
        let template = &pod.template;
        let parts = [
            (Part::PodIdentity, pod.identity.id()),
            (Part::PodRequests, template.requests.id()),
            (Part::PodTolerations, template.tolerations.id()),
            (Part::PodPriority, u64::from(template.priority.cast_unsigned())),
            (Part::PodNodeAffinity, template.node_affinity.id()),
            (Part::PodTemplate, template.id()),
            (Part::PodAnnotations, pod.annotations.id()),
            (Part::PodApiValues, pod.api_values.id()),
        ];
        parts.into_iter().filter(|(part, _)| self.0.has(*part)).for_each(|(_, id)| key.push(id));
        if self.0.has(Part::Claims) && !template.resource_claims.is_empty() {
            key.push_text(&pod.uid);
            for (name, made) in pod.claim_statuses.iter().flat_map(|statuses| statuses.iter()) {
                key.push_text(name);
                key.push_text(made.as_deref().unwrap_or_default());
            }
        }
        if self.0.has(Part::PodName) {
            key.push_text(&pod.uid);
            key.push_text(&pod.name);
            key.push(template.volumes.id());
        }
    }

    /// Events that may change an answer; new nodes are always new.
    pub(crate) fn events(self) -> Events {
        self.0.with(of(&[Part::NodeExistence])).events()
    }

    /// Whether a change of a node in these parts may change the node's answer.
    pub(crate) fn is_changed_by(self, parts: NodeParts) -> bool {
        parts.meets(self.node().with(NodeParts::EXISTENCE))
    }

    /// Whether the pending pod's own parts are read.
    pub(crate) fn reads_pod(self) -> bool {
        self.0.meets(OF_POD)
    }
}
