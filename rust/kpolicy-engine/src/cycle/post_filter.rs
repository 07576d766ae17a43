//! The stage after no node fits: preemption, and the text about it for the user.
//!
//! Specification (since 1.34): `DynamicResources` is asked before preemption, and reports so for a
//! pod without claims. If a rule before it rejected the whole pod, it was never prepared, which
//! ends the attempt with `not found`.

use std::sync::Arc;

use crate::api::Victim;
use crate::heap::HeapBytes;
use crate::preemption::{self, Attempt, Candidate, CandidateMemo, Search, Trimmed, Unplaced};
use crate::rules::Rejection;
use crate::rules::dynamic_resources::PostFilter;
use crate::snapshot::{Cluster, NodeSlot, Pod};
use crate::timing::StatusCode;

const NO_CLAIMS: &str = "no new claims to deallocate";
const NOT_PREPARED: &str = "not found";
const PREFIX: &str = "preemption: ";

/// What came of making room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) nominated: Option<NodeSlot>,
    /// In order of importance.
    pub(crate) victims: Vec<Victim>,
    /// What goes behind the reasons; empty where room was found.
    pub(crate) message: String,
    /// An earlier nomination does not hold any more. In kube-scheduler it still holds if the pod
    /// may not evict any pod, or if looking for victims failed.
    pub(crate) is_tried: bool,
    /// The result stays the same until something changes: nothing was random, and nothing failed.
    pub(crate) is_settled: bool,
    /// Looking for victims takes more work than one decision may.
    pub(crate) is_too_much: bool,
    /// None of what extenders left makes room, or there is room that they were not asked about.
    pub(crate) is_spent: bool,
}

/// Victims are named by texts of the snapshot.
impl HeapBytes for Room {
    fn heap_bytes(&self) -> usize {
        self.victims.capacity() * size_of::<Victim>() + self.message.heap_bytes()
    }
}

impl Room {
    pub(crate) fn status(&self) -> StatusCode {
        match self.nominated {
            Some(_) => StatusCode::Success,
            None if self.is_settled || self.is_spent || self.is_too_much => {
                StatusCode::Unschedulable
            }
            None => StatusCode::Error,
        }
    }
}

/// The answer of `DynamicResources`, which is asked before preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The profile does not have it.
    Silent,
    /// It says what it did, or that it has nothing to do; preemption follows.
    Says(&'static str),
    /// It fails, and preemption is not asked.
    Fails,
}

/// Nodes on which room can be made, for extenders to choose from.
pub(crate) fn candidates(unplaced: Unplaced<'_>, memo: &mut CandidateMemo) -> Vec<Arc<Candidate>> {
    match &unplaced.profile.preemption {
        Some(own) if before_preemption(unplaced) != Before::Fails => {
            preemption::candidates(unplaced, Search::Enough(own.enough), memo)
        }
        _ => Vec::new(),
    }
}

/// Tries preemption for a pod that fits on no node, among the candidates that extenders left, if
/// there are extenders. `memo` holds findings about single nodes.
pub(crate) fn run(
    unplaced: Unplaced<'_>,
    trimmed: Option<&Trimmed>,
    memo: &mut CandidateMemo,
) -> Room {
    let before = before_preemption(unplaced);
    if before == Before::Fails {
        let message = NOT_PREPARED.to_owned();
        return Room { message, is_settled: true, ..Room::default() };
    }
    let Some(own) = &unplaced.profile.preemption else {
        // kube-scheduler clears the nomination if no PostFilter rule is asked.
        let is_tried = before == Before::Silent;
        let message = message(before, "");
        return Room { message, is_tried, is_settled: true, ..Room::default() };
    };
    let left = trimmed.and_then(|trimmed| Some((trimmed.candidates.as_ref()?, &trimmed.failure)));
    let attempt = match left {
        Some((candidates, failure)) => preemption::among(unplaced, candidates, failure),
        None => preemption::attempt(unplaced, Search::Enough(own.enough), memo),
    };
    if trimmed.is_some() && left.is_none() && attempt.chosen().is_some() {
        return Room { is_spent: true, ..Room::default() };
    }
    if let Some(chosen) = attempt.chosen() {
        return Room {
            nominated: Some(chosen.slot),
            victims: chosen.victims.iter().map(|pod| victim(pod, unplaced.cluster)).collect(),
            message: String::new(),
            is_tried: true,
            ..Room::default()
        };
    }
    let text = format!("{PREFIX}{}", attempt.message(unplaced.cluster.nodes().len()));
    Room {
        // kube-scheduler reports only the failure then, not the messages before it.
        message: match attempt {
            Attempt::Failed(_) => text,
            _ => message(before, &text),
        },
        is_tried: matches!(attempt, Attempt::NotFound { .. }),
        is_settled: !matches!(attempt, Attempt::Failed(_) | Attempt::TooMuchWork { .. }),
        is_too_much: matches!(attempt, Attempt::TooMuchWork { .. }),
        is_spent: matches!(attempt, Attempt::NoneLeft),
        ..Room::default()
    }
}

pub(crate) fn victim(pod: &Arc<Pod>, cluster: &Cluster) -> Victim {
    Victim {
        uid: Arc::clone(&pod.uid),
        namespace: Arc::clone(pod.namespace()),
        name: Arc::clone(&pod.name),
        is_terminating: pod.is_terminating || cluster.evictions().contains(&pod.uid),
    }
}

fn before_preemption(unplaced: Unplaced<'_>) -> Before {
    let (profile, rejected) = (unplaced.profile, unplaced.rejected);
    match (profile.dynamic_resources(), rejected.pre_filter.as_deref()) {
        (None, _) => Before::Silent,
        (Some(own), Some((filter, status)))
            if *filter < own && status.rejection == Rejection::Unresolvable =>
        {
            Before::Fails
        }
        (Some(own), before) => {
            let asked = profile.devices.filter(|_| before.is_none());
            let (pod, cluster) = (unplaced.question.pod, unplaced.cluster);
            let nodes = rejected.nodes.iter().filter(|node| node.filter == own);
            let found = asked.map(|rule| {
                PostFilter::of(rule, pod, cluster, nodes.map(|node| node.slot)).reason()
            });
            Before::Says(found.unwrap_or(NO_CLAIMS))
        }
    }
}

/// Joins the message before preemption with that of preemption, which may be empty.
fn message(before: Before, preemption: &str) -> String {
    match before {
        Before::Silent | Before::Says("") => preemption.to_owned(),
        Before::Fails => NOT_PREPARED.to_owned(),
        Before::Says(what) if preemption.is_empty() => what.to_owned(),
        Before::Says(what) => format!("{what}, {preemption}"),
    }
}
