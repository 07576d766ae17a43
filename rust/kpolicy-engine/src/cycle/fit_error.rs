//! Why no node fits a pod, in full: the text, the rules, and the result of preemption.
//!
//! A [`FitError`] can be used again for a pod of the same shape and the same priority, as long as
//! nothing in the cluster changed. One that depends on a random choice, or on the pod itself, is
//! not kept.

use std::sync::Arc;

use crate::heap::{HeapBytes, arc_bytes, flat_bytes};
use crate::judging::{Question, names_of, new_node};
use crate::message::{self, Histogram, NO_NODES};
use crate::preemption::{Trimmed, Unplaced};
use crate::rules::Rejection;
use crate::snapshot::{Cluster, Generation, Pod};

use super::post_filter::Room;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FitError {
    pub(crate) message: Arc<str>,
    /// Names of the rejecting rules, sorted.
    pub(crate) rejected_by: Vec<Arc<str>>,
    /// Positions of the rejecting filters.
    pub(crate) rules: Vec<usize>,
    /// Those of them that keep the pod from every node and that no new node helps.
    pub(crate) kept_back_by: Vec<usize>,
    /// The rule that rejected the pod as a whole, if no node was asked.
    pub(crate) before_nodes: Option<Rejection>,
    pub(crate) room: Room,
}

/// In what extenders had a say. What rests on that is not to be known again.
#[derive(Debug, Clone, Copy)]
pub(super) enum Say<'a> {
    Nothing,
    Nodes,
    /// And in who is to go.
    Room(&'a Trimmed),
}

impl FitError {
    /// What the user reads of a pod that fits nowhere, and for which this came of making room.
    pub(crate) fn of(unplaced: Unplaced<'_>, kept_back_by: Vec<usize>, room: Room) -> Self {
        let Unplaced { question, profile, rejected, prepared, cluster } = unplaced;
        let before = rejected.pre_filter.as_deref().map(|(_, status)| status.message());
        let histogram = match before {
            Some(_) => Histogram::default(),
            None => rejected.histogram(question.pod, profile, prepared, cluster),
        };
        let text = message::fit_error(
            cluster.nodes().len(),
            before.as_deref().unwrap_or_default(),
            &histogram,
            &room.message,
        );
        let rules = rejected.rules(&kept_back_by);
        Self {
            message: text.into(),
            rejected_by: names_of(rules.iter().copied(), profile),
            rules,
            kept_back_by,
            before_nodes: rejected.pre_filter.as_deref().map(|(_, status)| status.rejection),
            room,
        }
    }

    /// The outcome in a cluster without nodes. kube-scheduler clears an earlier nomination then.
    pub(crate) fn without_nodes(question: Question<'_>, cluster: &Cluster) -> Self {
        let profile = question.program.profiles.get(question.profile);
        let kept_back_by = profile
            .map(|profile| new_node::kept_back_without_nodes(question.pod, profile, cluster));
        let room = Room { is_tried: true, ..Room::default() };
        Self {
            message: NO_NODES.into(),
            rejected_by: Vec::new(),
            rules: Vec::new(),
            kept_back_by: kept_back_by.unwrap_or_default(),
            before_nodes: None,
            room,
        }
    }
}

/// A fit_error and all that it rests on besides the shape.
#[derive(Debug)]
pub(super) struct FitErrorMemo {
    rests_on: RestsOn,
    fit_error: Arc<FitError>,
}

#[derive(Debug, PartialEq, Eq)]
struct RestsOn {
    generation: Generation,
    nominations: u64,
    priority: i32,
    never_preempts: bool,
}

impl RestsOn {
    /// `None` for a pod with a nomination of its own.
    fn of(pod: &Pod, cluster: &Cluster) -> Option<Self> {
        let nominations = cluster.nominations();
        nominations.node_of(&pod.uid).is_none().then(|| Self {
            generation: cluster.generation(),
            nominations: nominations.version(),
            priority: pod.priority(),
            never_preempts: pod.template.never_preempts,
        })
    }
}

impl FitErrorMemo {
    /// Of one worked out just now. `None` where it may be another for the next pod alike.
    pub(super) fn of(fit_error: &Arc<FitError>, pod: &Pod, cluster: &Cluster) -> Option<Self> {
        let rests_on = RestsOn::of(pod, cluster).filter(|_| fit_error.room.is_settled)?;
        Some(Self { rests_on, fit_error: Arc::clone(fit_error) })
    }

    /// The fit_error, if it is what the pod would get.
    pub(super) fn for_pod(&self, pod: &Pod, cluster: &Cluster) -> Option<&Arc<FitError>> {
        (RestsOn::of(pod, cluster)? == self.rests_on).then_some(&self.fit_error)
    }
}

/// The names of rules belong to the program.
impl HeapBytes for FitError {
    fn heap_bytes(&self) -> usize {
        let rules = self.rejected_by.capacity() * size_of::<Arc<str>>()
            + flat_bytes(&self.rules)
            + flat_bytes(&self.kept_back_by);
        arc_bytes(&self.message) + rules + self.room.heap_bytes()
    }
}

impl HeapBytes for FitErrorMemo {
    fn heap_bytes(&self) -> usize {
        arc_bytes(&self.fit_error)
    }
}

impl<'a> Say<'a> {
    /// What they left of the candidates.
    pub(super) fn trimmed(self) -> Option<&'a Trimmed> {
        match self {
            Say::Room(trimmed) => Some(trimmed),
            Say::Nothing | Say::Nodes => None,
        }
    }
}
