//! Turns a chosen node into a reservation: the pod is assumed there, and the objects that its rules
//! promise it are in the snapshot.
//!
//! The caller writes what the decision names, and asks [`Engine::volumes`] until all claims of the
//! pod are bound.

use std::sync::Arc;

use crate::api::{AwaitedVolume, BoundAnnotation, PreBindWrite, VolumeProgress};
use crate::cycle::CycleOutcome;
use crate::rules::volume_binding;
use crate::rules::{FilterRule, Reservation};
use crate::snapshot::{NodeSlot, Pod};

use super::Engine;

/// What the rules of a profile promise a pod on a node, in their order; mostly nothing.
pub(super) type Reservations = Vec<Reservation>;

/// What is to be written before the bind.
pub(super) fn writes(reservations: &[Reservation]) -> Vec<PreBindWrite> {
    let annotation = |(key, value): &(Box<str>, Box<str>)| {
        PreBindWrite::Annotation(BoundAnnotation { key: key.clone(), value: value.clone() })
    };
    let of_one = |reservation: &Reservation| {
        let written: Vec<PreBindWrite> = reservation.annotations.iter().map(annotation).collect();
        reservation.writes.iter().cloned().chain(written).collect::<Vec<_>>()
    };
    reservations.iter().flat_map(of_one).collect()
}

impl Engine {
    /// Assumes the pod on the node, and what is promised to it as it will be.
    pub(super) fn place(&mut self, pod: &Arc<Pod>, slot: NodeSlot, reservations: Reservations) {
        let annotations: Vec<(Box<str>, Box<str>)> =
            reservations.iter().flat_map(|reserved| reserved.annotations.iter().cloned()).collect();
        self.cluster.assume(&pod.uid, slot, &annotations);
        for Reservation { promised, relied_on, .. } in reservations {
            self.cluster.promise(&pod.uid, promised, &relied_on);
        }
    }

    pub(super) fn reservations_of(
        &self,
        pod: &Pod,
        profile: usize,
        outcome: &CycleOutcome,
    ) -> Reservations {
        match outcome {
            CycleOutcome::Chosen { slot, .. } => self.reservations_on(pod, profile, *slot),
            CycleOutcome::Rejected(_) | CycleOutcome::Failed(_) => Vec::new(),
        }
    }

    /// The reservations on a node that another engine may have chosen.
    pub(super) fn reservations_on(
        &self,
        pod: &Pod,
        profile: usize,
        slot: NodeSlot,
    ) -> Reservations {
        let Some(profile) = self.program.profiles.get(profile) else { return Vec::new() };
        let Some(node) = self.cluster.nodes().view(slot) else { return Vec::new() };
        let reserve = |rule: &FilterRule| rule.reserve(pod, &self.cluster, node);
        profile.filters.iter().filter_map(reserve).collect()
    }

    /// The progress of each claim, as the API server last showed it.
    pub fn volumes(&self, awaited: &[AwaitedVolume]) -> Vec<VolumeProgress> {
        awaited.iter().map(|each| volume_binding::progress(each, &self.cluster)).collect()
    }
}
