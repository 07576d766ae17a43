//! What tenants have, for metrics.

use std::collections::BTreeMap;

use crate::api::TenantStatistics;
use crate::rules::expression::{ClusterTotals, TenantView};
use crate::snapshot::Cluster;

/// So many tenants are told.
const TENANTS_MAX: usize = 100;

/// The tenants with the largest shares; nobody while no program reads tenants.
pub(crate) fn shares(cluster: &Cluster) -> BTreeMap<String, TenantStatistics> {
    let Some(usage) = cluster.usage() else { return BTreeMap::new() };
    let mut totals = ClusterTotals::default();
    totals.follow(cluster);
    let mut all: Vec<(&str, TenantStatistics)> = usage
        .in_order()
        .into_iter()
        .map(|(name, sums)| {
            let share = TenantView::named(name, usage, &totals).share();
            let (pods, waiting) = (sums.pods, sums.waiting);
            (&**name, TenantStatistics { share, pods, waiting })
        })
        .collect();
    all.sort_by(|left, right| right.1.share.total_cmp(&left.1.share));
    all.truncate(TENANTS_MAX);
    all.into_iter().map(|(name, tenant)| (name.to_owned(), tenant)).collect()
}
