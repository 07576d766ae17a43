//! The trait of rules that say which nodes can have a pod, and of their prepared form.
//!
//! Assumes that the snapshot does not change within a call.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use kpolicy_cel::{Compared, Moments, Number};

use crate::event::{Event, Events, Occurrence};
use crate::model::Kind;
use crate::part::Parts;
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::dynamic_resources::DevicePolicy;
use super::{Code, HeldBytes, Key, Reads, Refresh, Reservation, Status};

/// What a prepared filter says before any node is looked at (kube-scheduler's PreFilter).
#[derive(Debug, Clone, Copy)]
pub enum Stage<'a> {
    /// Every node is to be checked.
    Check,
    /// It has nothing to say in this cycle; nominated pods are not put before it either.
    Skip,
    /// No node will do.
    Reject(&'a Status),
}

/// Names of nodes, sorted.
pub type NodeNames = BTreeSet<Box<str>>;

/// A rule that says which nodes can have a pod.
pub trait Filter: Debug + Send + Sync {
    /// Puts into the key all that any answer depends on besides the cluster.
    fn key(&self, pod: &Pod, key: &mut Key);

    /// Works out what does not depend on the node. `None`: nothing to say to any pod of this key,
    /// whatever the cluster (kube-scheduler's Skip).
    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>>;

    /// What may let a pod that this rule rejected through.
    fn events(&self) -> Events;

    /// Whether this event, one of `events`, is worth another try of this pod (a queueing hint). The
    /// snapshot already has the change.
    fn wakes(&self, pod: &Pod, event: Event, occurrence: &Occurrence, cluster: &Cluster) -> bool;

    /// The parts of the world that a verdict rests on, besides the pod's own (`key`) and objects
    /// (`kinds`). Whatever changes one of them may wake the pod: see [`more_events`].
    fn parts(&self) -> Parts;

    /// Events of these parts and objects that never let through a pod that this rule rejected.
    fn unhelpful_events(&self) -> Events {
        Events::NONE
    }

    /// Those of `events` that never help this pod, whatever their hint says. An explanation leaves
    /// them out.
    fn events_of_no_use_to(&self, pod: &Pod) -> Events {
        let _ = pod;
        Events::NONE
    }

    /// Those of `events` whose hint says no to some pods that may pass now.
    fn narrow_events(&self) -> Events {
        Events::NONE
    }

    /// Whether one of [`more_events`] is worth another try: by default, whether any node passes now.
    fn wakes_more(&self, pod: &Pod, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        let _ = occurrence;
        self.passes_somewhere(pod, cluster)
    }

    /// Asks all nodes anew: for what happens rarely.
    fn passes_somewhere(&self, pod: &Pod, cluster: &Cluster) -> bool {
        passes_somewhere(self.prepare(pod, cluster).as_deref(), cluster)
    }

    /// Kinds that must be watched for this rule, besides pods and nodes.
    fn kinds(&self) -> &[Kind] {
        &[]
    }

    /// What it reads of the moment of the decision.
    fn moments(&self) -> &Moments {
        &Moments::None
    }

    /// The texts that an expression is written with.
    fn words(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The numbers that an expression compares with, each with the text of the comparison.
    fn compared(&self) -> Vec<(Compared, String)> {
        Vec::new()
    }

    /// The same rule, which compares with another number there.
    fn comparing(&self, compared: &Compared, number: Number) -> Option<Box<dyn Filter>> {
        let _ = (compared, number);
        None
    }

    /// Takes what the policy says of devices.
    fn follow_policy_of_devices(&mut self, policy: &DevicePolicy) {
        let _ = policy;
    }

    /// What it promises a pod on a node that it let through, and what is to be written for that
    /// before the bind (kube-scheduler's Reserve and PreBind). `None`: nothing.
    fn reserve(&self, pod: &Pod, cluster: &Cluster, node: NodeView<'_>) -> Option<Reservation> {
        let _ = (pod, cluster, node);
        None
    }
}

/// Events that may let a pod through too, although kube-scheduler has no hint for them: whatever else
/// changes what the rule reads.
pub fn more_events(rule: &dyn Filter) -> Events {
    let read = rule.parts().events().with(Events::of_objects(rule.kinds()));
    read.without(rule.events()).with(rule.narrow_events()).without(rule.unhelpful_events())
}

/// A filter made ready for all pods of one key.
pub trait PreparedFilter: Debug + Send + Sync {
    /// What of a node its verdict rests on.
    fn reads(&self) -> Reads;

    /// Follows the changes since the last call (or since `prepare`).
    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let _ = (changes, cluster);
        Refresh::Nodes
    }

    /// What the rule says before any node is checked.
    fn stage(&self) -> Stage<'_> {
        Stage::Check
    }

    /// The only nodes that can do, where that is known beforehand.
    fn only_nodes(&self) -> Option<&NodeNames> {
        None
    }

    /// The verdict on one node.
    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code;

    /// Whether it rejects every node there may be, known without any: a cluster without nodes can ask.
    fn rejects_any_node(&self, cluster: &Cluster) -> bool {
        let _ = cluster;
        false
    }

    /// What one `check` may take besides what any rule takes, in units: that of an expression.
    fn units_a_check(&self) -> u64 {
        0
    }

    /// Whether pods that are put on a node or taken away for the sake of argument may change its verdict
    /// there.
    fn rests_on_pods(&self) -> bool {
        true
    }

    /// What it may take to count a pod of a node where pods are put and taken for the sake of argument,
    /// in units: one that was there before, comes or goes.
    fn units_a_pod(&self) -> u64 {
        0
    }

    /// Whether every node passes, where that is known without looking at each. If false, some may not.
    fn passes_all(&self, cluster: &Cluster) -> bool {
        let _ = cluster;
        false
    }

    /// As `check` for every node, by slot. Slots without a node may be left as they are.
    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        for view in cluster.nodes().iter() {
            if let Some(code) = codes.get_mut(view.slot.index()) {
                *code = self.check(cluster, view);
            }
        }
    }

    /// Whether `check_range` does a part of `check_all` in a part of its time.
    fn has_ranges(&self) -> bool {
        false
    }

    /// As `check_all`, for the slots from `first` on.
    fn check_range(&self, cluster: &Cluster, first: usize, codes: &mut [Code]) {
        one_by_one(self, cluster, first, codes);
    }

    /// From how many changed nodes on asking all of so many is quicker than asking those.
    fn worth_asking_all(&self, nodes: usize) -> usize {
        nodes
    }

    /// Whether `check` may give codes made with `Code::fail`.
    fn can_fail(&self) -> bool {
        false
    }

    /// What a code that `check` gave for this node means.
    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status;

    /// As `describe`, without what takes units to find out.
    fn describe_briefly(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        self.describe(cluster, node, code)
    }

    /// What one `describe` may take, in units: that of an expression.
    fn units_a_description(&self, code: Code) -> u64 {
        let _ = code;
        0
    }

    /// Whether equal codes have equal descriptions on all nodes.
    fn describes_by_code(&self) -> bool {
        true
    }

    /// Whether equal codes reject all nodes in the same way, whatever the reasons are.
    fn rejects_by_code(&self) -> bool {
        self.describes_by_code()
    }

    /// As `describes_by_code`, for one code.
    fn describes_code(&self, code: Code) -> bool {
        let _ = code;
        self.describes_by_code()
    }

    /// Puts a pod on a node for the sake of argument (kube-scheduler's AddPod); `node` has it already.
    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        let _ = (pod, cluster, node);
    }

    /// Takes one away (RemovePod); `node` has it no more. Each of the two undoes the other.
    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        let _ = (pod, cluster, node);
    }

    /// What answers with pods put and taken for the sake of argument have taken since this was asked
    /// last, in units, besides `units_a_check`.
    fn take_units(&self) -> u64 {
        0
    }

    /// Whether pods on other nodes, and which pods are put or taken for the sake of argument
    /// elsewhere, leave a node's answer as it is, until `refresh` says that all are to be asked again.
    /// What is known of a node under some assumption is then kept as long as the node is.
    fn is_local(&self) -> bool {
        false
    }

    /// A copy for a hypothetical world.
    fn fork(&self) -> Box<dyn PreparedFilter>;

    /// What it holds in memory, with every table and copy of its own.
    fn held_bytes(&self) -> HeldBytes;
}

/// Asks the nodes of the slots from `first` on.
pub(super) fn one_by_one<F: PreparedFilter + ?Sized>(
    filter: &F,
    cluster: &Cluster,
    first: usize,
    codes: &mut [Code],
) {
    for (index, code) in (first..).zip(codes) {
        let slot = cluster.nodes().slot_at(index);
        if let Some(view) = slot.and_then(|slot| cluster.nodes().view(slot)) {
            *code = filter.check(cluster, view);
        }
    }
}

/// Whether a prepared filter lets any node pass; `None` passes everywhere.
pub(super) fn passes_somewhere(prepared: Option<&dyn PreparedFilter>, cluster: &Cluster) -> bool {
    let Some(prepared) = prepared else { return true };
    match prepared.stage() {
        Stage::Skip => true,
        Stage::Reject(_) => false,
        Stage::Check => cluster.nodes().iter().any(|view| prepared.check(cluster, view).passes()),
    }
}
