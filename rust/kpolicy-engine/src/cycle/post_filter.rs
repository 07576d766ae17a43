//! The stage after no node fits: preemption, and the text about it for the user.
//!
//! Specification: `DynamicResources` is asked before preemption, and up to 1.36 reports so for a pod
//! without claims. If a rule before it rejected the whole pod, it was never prepared, which
//! ends the attempt with `not found`.

use std::sync::Arc;

use crate::api::{ClaimRelease, Victim};
use crate::heap::HeapBytes;
use crate::preemption::{self, Attempt, Candidate, CandidateMemo, Search, Trimmed, Unplaced};
use crate::rules::Rejection;
use crate::rules::dynamic_resources::PostFilter;
use crate::snapshot::{Cluster, NodeSlot, Pod};
use crate::timing::StatusCode;

const NOT_PREPARED: &str = "not found";
const PREFIX: &str = "preemption: ";

/// What came of making room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) nominated: Option<NodeSlot>,
    /// In order of importance.
    pub(crate) victims: Vec<Victim>,
    /// What goes behind the reasons. Up to 1.36 it is empty where room was found.
    pub(crate) message: String,
    /// An earlier nomination does not hold any more. In kube-scheduler it still holds if the pod
    /// may not evict any pod, or if looking for victims failed.
    pub(crate) is_tried: bool,
    /// The result stays the same until something changes: nothing was random, and nothing failed.
    pub(crate) is_settled: bool,
    /// Looking for victims takes more work than one decision may.
    pub(crate) is_too_much: bool,
    /// What `DynamicResources` gives up for the pod.
    pub(crate) gives_up: Option<ClaimRelease>,
    /// None of what extenders left makes room, or there is room that they were not asked about.
    pub(crate) is_spent: bool,
}

/// Victims are named by texts of the snapshot.
impl HeapBytes for Room {
    fn heap_bytes(&self) -> usize {
        self.victims.capacity() * size_of::<Victim>()
            + self.message.heap_bytes()
            + self.gives_up.as_ref().map_or(0, HeapBytes::heap_bytes)
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
        Some(own) if before_preemption(unplaced, None) != Before::Fails => {
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
    let found = claims_given_up(unplaced);
    let gives_up = found.as_ref().and_then(PostFilter::gives_up);
    let before = before_preemption(unplaced, found.as_ref());
    let room = making_room(unplaced, before, trimmed, memo);
    Room { gives_up, ..room }
}

fn making_room(
    unplaced: Unplaced<'_>,
    before: Before,
    trimmed: Option<&Trimmed>,
    memo: &mut CandidateMemo,
) -> Room {
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
            message: found_message(unplaced, chosen),
            is_tried: true,
            ..Room::default()
        };
    }
    Room {
        message: message_of(before, &attempt, unplaced.cluster),
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
        generation: pod.generation,
    }
}

/// What `DynamicResources` says of a pod that it has looked at.
fn claims_given_up(unplaced: Unplaced<'_>) -> Option<PostFilter> {
    let Unplaced { question, profile, rejected, cluster, .. } = unplaced;
    let rule = profile.devices.as_ref().filter(|_| rejected.pre_filter.is_none())?;
    let own = profile.dynamic_resources();
    let reached = rejected.nodes.iter().filter(|node| Some(node.filter) == own);
    Some(PostFilter::of(rule, question.pod, cluster, reached.map(|node| node.slot)))
}

fn before_preemption(unplaced: Unplaced<'_>, found: Option<&PostFilter>) -> Before {
    let Unplaced { question, profile, rejected, .. } = unplaced;
    match (profile.dynamic_resources(), rejected.pre_filter.as_deref()) {
        (None, _) => Before::Silent,
        (Some(own), Some((filter, status)))
            if *filter < own && status.rejection == Rejection::Unresolvable =>
        {
            Before::Fails
        }
        (Some(_), _) => {
            let nothing = question.program.followed.traits().nothing_to_deallocate;
            Before::Says(found.map_or(nothing, PostFilter::reason))
        }
    }
}

/// What goes behind the reasons where room was found. What was said before preemption is not
/// reported then.
fn found_message(unplaced: Unplaced<'_>, chosen: &Candidate) -> String {
    let node = unplaced.cluster.nodes().view(chosen.slot);
    match node.filter(|_| unplaced.question.program.followed.traits().tells_of_room) {
        Some(node) => {
            let (name, victims) = (&node.node.name, chosen.victims.len());
            format!(
                "{PREFIX}found a potential placement for pod on node {name}, preempting {victims} \
                 victims"
            )
        }
        None => String::new(),
    }
}

/// What goes behind the reasons after looking for room in vain.
fn message_of(before: Before, attempt: &Attempt, cluster: &Cluster) -> String {
    let text = format!("{PREFIX}{}", attempt.message(cluster.nodes().len()));
    // kube-scheduler reports only the failure then, not the messages before it.
    if matches!(attempt, Attempt::Failed(_)) { text } else { message(before, &text) }
}

/// What goes behind the reasons of a pod for which this came of looking for room. Without an attempt the
/// profile does not look.
pub(crate) fn told(unplaced: Unplaced<'_>, attempt: Option<&Attempt>) -> String {
    let found = claims_given_up(unplaced);
    match (before_preemption(unplaced, found.as_ref()), attempt) {
        (Before::Fails, _) => NOT_PREPARED.to_owned(),
        (before, None) => message(before, ""),
        (before, Some(attempt)) => match attempt.chosen() {
            Some(chosen) => found_message(unplaced, chosen),
            None => message_of(before, attempt, unplaced.cluster),
        },
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
