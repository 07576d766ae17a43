//! Which hold would hold a pod that waits, by itself and as of now.

use std::sync::Arc;

use crate::program::Program;
use crate::rules::expression::{
    ClusterTotals, DomainSums, PodWorld, QueueWorld, TenantView, Waited,
};
use crate::snapshot::{Cluster, Pod};

/// The name of the hold, and why. The pod has not waited at all yet.
pub(crate) fn held_now(
    pod: &Pod,
    profile: usize,
    program: &Program,
    cluster: &Cluster,
) -> Option<(Arc<str>, Arc<str>)> {
    let mut totals = ClusterTotals::default();
    totals.follow(cluster);
    let sums = DomainSums::default();
    let world = QueueWorld {
        pod: PodWorld { pod, cluster },
        tenant: TenantView::of_pod(pod, cluster.usage(), &totals),
        waited: Waited::default(),
        sums: &sums,
    };
    let holds = &program.profiles.get(profile)?.holds;
    holds.iter().find_map(|hold| Some((Arc::clone(hold.name()), hold.holds(&world).0?)))
}
