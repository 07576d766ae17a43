//! What every stage of one decision reads, besides its own state.

use crate::program::Profile;
use crate::snapshot::{Cluster, Pod};
use crate::timing::Meter;

/// One pod before one snapshot, and where the work is measured.
#[derive(Clone, Copy)]
pub(super) struct Context<'a, M> {
    pub(crate) profile: &'a Profile,
    pub(crate) pod: &'a Pod,
    pub(crate) cluster: &'a Cluster,
    pub(crate) meter: M,
}

impl<'a, M: Meter> Context<'a, M> {
    /// The same, measured otherwise.
    pub(super) fn measured_by<N: Meter>(self, meter: N) -> Context<'a, N> {
        Context { profile: self.profile, pod: self.pod, cluster: self.cluster, meter }
    }

    /// The context in which the work is measured as that of one rule.
    #[must_use]
    pub(super) fn at(self, position: usize) -> Self {
        Self { meter: self.meter.at(position), ..self }
    }
}
