//! `ServiceAffinity`: pods of a service on nodes that agree in some labels, and spread over others.
//!
//! Specification: the legacy policy's `serviceAffinity` and `serviceAntiAffinity`, as
//! kube-scheduler 1.20 reads them, scale 0–100. Reads: services, pods on nodes, node labels; the
//! pod's labels and node selector.

mod filter;
mod peers;
mod score;
#[cfg(test)]
mod tests;

use crate::fields::{Fields, Refusals};

pub(crate) const NAME: &str = "ServiceAffinity";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceAffinity {
    /// Labels in which the nodes of a service agree.
    affinity: Box<[Box<str>]>,
    /// Labels over whose values a service spreads.
    anti_affinity: Box<[Box<str>]>,
}

/// From the plugin's arguments; the same for filter and score.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<ServiceAffinity> {
    let boxed = |texts: Vec<&str>| texts.into_iter().map(Into::into).collect();
    let affinity = args.texts("affinityLabels", refusals);
    let anti_affinity = args.texts("antiAffinityLabelsPreference", refusals);
    Some(ServiceAffinity { affinity: boxed(affinity?), anti_affinity: boxed(anti_affinity?) })
}
