//! The rules: filters that a node must pass to get a pod, and scores that compare nodes.
//!
//! Contains the two traits that rules implement, [`Filter`] and [`Score`], and their prepared
//! forms, which hold what a rule computed for one *sub-shape*: all pods that agree in what the rule
//! put into its [`Key`]. The cycle keeps prepared forms and their verdicts per node from decision
//! to decision, and asks again only where something changed that the rule says it reads.
//! `docs/internals/adding-a-built-in.md` shows how to add one. The snapshot does not change within
//! a call.

pub mod catalog;
pub mod normalization;
pub mod status;

pub mod container_limits;
pub mod decision_work;
pub mod default_selector;
pub mod dynamic_resources;
pub mod equal_priority;
pub mod expression;
pub mod gang_scheduling;
pub mod image_locality;
pub mod inter_pod_affinity;
pub(crate) mod label_classes;
pub mod label_lanes;
pub mod lanes;
pub mod node_affinity;
pub mod node_declared_features;
pub mod node_label;
pub mod node_name;
pub mod node_ports;
pub mod node_prefer_avoid_pods;
pub mod node_resources_balanced;
pub mod node_resources_fit;
pub mod node_resources_least_allocated;
pub mod node_resources_most_allocated;
pub mod node_selection;
pub mod node_unschedulable;
pub mod node_volume_limits;
pub mod node_zones;
pub mod placed;
pub mod pod_topology_spread;
pub mod priority_sort;
pub mod requested_to_capacity_ratio;
pub mod reservation;
pub mod resource_args;
pub mod resource_balance;
pub mod resource_limits;
pub mod resource_mean;
pub mod resource_scoring;
pub mod scale;
pub mod scheduling_gates;
pub mod selected_pods;
pub mod selector_spread;
pub mod service_affinity;
pub mod taint_toleration;
pub mod tolerations;
pub mod volume_binding;
pub mod volume_claims;
pub mod volume_migration;
pub mod volume_restrictions;
pub mod volume_zone;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::model::Kind;
use crate::part::Parts;
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

pub use normalization::{Fitted, IGNORED, Normalization};
pub use placed::{FilterRule, ScoreRule};
pub use reservation::Reservation;
pub use scale::Scale;
pub use status::{Code, Fault, Rejection, Status};

/// What a rule reads of a pod, as ids and numbers. Pods with equal keys get equal answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Key(Vec<u64>);

impl Key {
    /// Usually the id of a facet (`pod.template.tolerations.id()`).
    pub fn push(&mut self, part: u64) {
        self.0.push(part);
    }

    /// A text of any length.
    pub fn push_text(&mut self, text: &str) {
        self.push(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            self.push(chunk.iter().fold(0, |part, byte| part << 8 | u64::from(*byte)));
        }
    }

    pub fn parts(&self) -> &[u64] {
        &self.0
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What of a node an answer rests on: when that changes, this node is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    pub node: NodeParts,
    /// Which pods are on the node, or what they hold.
    pub load: bool,
}

impl Reads {
    pub const fn parts(node: NodeParts) -> Self {
        Self { node, load: false }
    }

    #[must_use]
    pub const fn and_load(self) -> Self {
        Self { load: true, ..self }
    }
}

/// What a prepared form makes of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Only nodes that changed in what [`Reads`] names are to be asked again.
    Nodes,
    /// Every node is to be asked again.
    All,
    /// It is out of date: prepare anew.
    Again,
}

/// What a prepared filter says before any node is looked at (kube-scheduler's PreFilter).
#[derive(Debug, Clone, Copy)]
pub enum Stage<'a> {
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
    fn kinds(&self) -> &'static [Kind] {
        &[]
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
    fn reads(&self) -> Reads;

    /// Follows the changes since the last call (or since `prepare`).
    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let _ = (changes, cluster);
        Refresh::Nodes
    }

    fn stage(&self) -> Stage<'_> {
        Stage::Check
    }

    /// The only nodes that can do, where that is known beforehand.
    fn only_nodes(&self) -> Option<&NodeNames> {
        None
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code;

    /// As `check` for every node, by slot. Slots without a node may be left as they are.
    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        for view in cluster.nodes().iter() {
            if let Some(code) = codes.get_mut(view.slot.index()) {
                *code = self.check(cluster, view);
            }
        }
    }

    /// From how many changed nodes on asking all of so many is quicker than asking those.
    fn worth_asking_all(&self, nodes: usize) -> usize {
        nodes
    }

    /// Whether `check` may give codes made with [`Code::fail`].
    fn can_fail(&self) -> bool {
        false
    }

    /// What a code that `check` gave for this node means.
    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status;

    /// Whether equal codes have equal descriptions on all nodes.
    fn describes_by_code(&self) -> bool {
        true
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

    /// Whether pods on other nodes, and which pods are put or taken for the sake of argument
    /// elsewhere, leave a node's answer as it is, until `refresh` says that all are to be asked again.
    /// What is known of a node under some assumption is then kept as long as the node is.
    fn is_local(&self) -> bool {
        false
    }

    /// A copy for a hypothetical world.
    fn fork(&self) -> Box<dyn PreparedFilter>;

    /// What it holds in memory, itself included.
    fn bytes(&self) -> usize {
        size_of_val(self)
    }
}

/// Whether a prepared filter lets any node pass; `None` passes everywhere.
fn passes_somewhere(prepared: Option<&dyn PreparedFilter>, cluster: &Cluster) -> bool {
    let Some(prepared) = prepared else { return true };
    match prepared.stage() {
        Stage::Skip => true,
        Stage::Reject(_) => false,
        Stage::Check => cluster.nodes().iter().any(|view| prepared.check(cluster, view).passes()),
    }
}

/// Nodes that passed every filter in this cycle.
#[derive(Debug, Clone, Copy)]
pub struct Feasible<'a> {
    /// By slot.
    pub mask: &'a [bool],
    pub count: usize,
}

impl Feasible<'_> {
    pub fn has(self, node: NodeView<'_>) -> bool {
        self.mask.get(node.slot.index()).copied().unwrap_or(false)
    }
}

/// A rule that says how good a node is for a pod.
pub trait Score: Debug + Send + Sync {
    /// As [`Filter::key`].
    fn key(&self, pod: &Pod, key: &mut Key);

    /// As [`Filter::prepare`].
    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>>;

    /// As [`Filter::kinds`].
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    /// From now on it scores as kube-scheduler 1.`minor` did, as far as releases disagree. `true`: on
    /// that release's scale; otherwise on 0–100, which the caller brings to that scale.
    fn score_as(&mut self, minor: i64) -> bool {
        let _ = minor;
        false
    }
}

/// A score made ready for all pods of one key.
pub trait PreparedScore: Debug + Send + Sync {
    fn reads(&self) -> Reads;

    /// As [`PreparedFilter::refresh`].
    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let _ = (changes, cluster);
        Refresh::Nodes
    }

    /// Whether raw scores depend on which nodes are feasible. Then `see_feasible` is called before
    /// any node is asked, and whenever the set changed.
    fn reads_feasible(&self) -> bool {
        false
    }

    fn see_feasible(&mut self, cluster: &Cluster, feasible: Feasible<'_>) {
        let _ = (cluster, feasible);
    }

    /// It has nothing to say in this cycle.
    fn is_skipped(&self) -> bool {
        false
    }

    /// Why it could not be prepared: the whole cycle fails, where more than one node is to be scored.
    fn problem(&self) -> Option<&str> {
        None
    }

    /// The score before normalising; [`IGNORED`] leaves the node out of normalising, with 0.
    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64;

    /// Why `raw` gave [`IGNORED`] for this node, where an expression could not be evaluated.
    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        let _ = (cluster, node);
        None
    }

    /// As `raw` for every node, by slot. Slots without a node may be left as they are.
    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        for view in cluster.nodes().iter() {
            if let Some(cell) = raw.get_mut(view.slot.index()) {
                *cell = self.raw(cluster, view);
            }
        }
    }

    /// As [`PreparedFilter::worth_asking_all`].
    fn worth_asking_all(&self, nodes: usize) -> usize {
        nodes
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::AsIs
    }

    /// As [`PreparedFilter::bytes`].
    fn bytes(&self) -> usize {
        size_of_val(self)
    }

    /// For [`Normalization::Whole`]: from the raw scores of the feasible nodes to 0–100, by slot.
    fn normalize_all(
        &self,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        let _ = (cluster, feasible, raw, normalized);
    }
}
