//! What an expression about a pod in the queue sees: the pod, its tenant, its wait and the cluster, but
//! no node.

use std::sync::Arc;

use kpolicy_cel::{Answer, Budget, Facts, Fault, Read};

use crate::resources::Amounts;
use crate::snapshot::usage::{Settled, TenantUse, Usage};
use crate::snapshot::{Change, Cluster, Generation, NodeParts, Pod};

use super::domain_sums::DomainSums;
use super::facts::{self, Source};
use super::node_facts::share;
use super::world::{ClusterWorld, PodWorld};

/// What all nodes offer together, as of a generation of the snapshot.
#[derive(Debug, Default)]
pub(crate) struct ClusterTotals {
    seen: Option<Generation>,
    amounts: Amounts,
}

impl ClusterTotals {
    /// Follows the snapshot; true if the totals are others now.
    pub(crate) fn follow(&mut self, cluster: &Cluster) -> bool {
        let is_of_nodes = |change: &Change| {
            let read = NodeParts::EXISTENCE.with(NodeParts::ALLOCATABLE);
            matches!(change, Change::Node(_, parts) if parts.meets(read))
        };
        let is_same = cluster
            .changes_since(self.seen)
            .is_some_and(|(_, changes)| !changes.iter().any(is_of_nodes));
        self.seen = Some(cluster.generation());
        if is_same {
            return false;
        }
        let mut amounts = Amounts::default();
        for view in cluster.nodes().iter() {
            amounts.add(&view.node.allocatable.amounts, 1);
        }
        let differs = amounts != self.amounts;
        self.amounts = amounts;
        differs
    }
}

/// The tenant of a pod.
#[derive(Debug, Clone)]
pub(crate) struct TenantView<'a> {
    pub(crate) name: Arc<str>,
    sums: Option<&'a TenantUse>,
    all: Option<&'a TenantUse>,
    totals: &'a Amounts,
}

impl<'a> TenantView<'a> {
    /// The tenant that a pod belongs to; without a name where no program reads tenants.
    pub(crate) fn of_pod(pod: &Pod, usage: Option<&'a Usage>, totals: &'a ClusterTotals) -> Self {
        match usage {
            Some(usage) => Self::named(&usage.tenant(pod.namespace()), usage, totals),
            None => Self { name: "".into(), sums: None, all: None, totals: &totals.amounts },
        }
    }

    pub(crate) fn named(name: &Arc<str>, usage: &'a Usage, totals: &'a ClusterTotals) -> Self {
        let (name, sums, all) = (Arc::clone(name), usage.of(name), Some(usage.total()));
        Self { name, sums, all, totals: &totals.amounts }
    }

    /// The same tenant where it, and all tenants together, have other sums.
    pub(crate) fn with_sums<'b>(self, own: &'b TenantUse, all: &'b TenantUse) -> TenantView<'b>
    where
        'a: 'b,
    {
        TenantView { sums: Some(own), all: Some(all), ..self }
    }

    /// The same tenant without what was handed out and is not decided yet.
    pub(crate) fn with_settled<'b>(self, settled: &'b Settled) -> TenantView<'b>
    where
        'a: 'b,
    {
        let sums = settled.of(&self.name).or(self.sums);
        TenantView { sums, all: Some(&settled.all), ..self }
    }

    pub(crate) fn sums(&self) -> Option<&'a TenantUse> {
        self.sums
    }

    /// What all other tenants have of something.
    pub(crate) fn of_others(&self, of: impl Fn(&TenantUse) -> i64) -> i64 {
        self.all.map_or(0, &of).saturating_sub(self.sums.map_or(0, &of))
    }

    /// The largest part of any resource of the cluster that it has, its dominant share.
    pub(crate) fn share(&self) -> f64 {
        self.sums.map_or(0.0, |sums| dominant_share(&sums.used, self.totals))
    }
}

#[allow(clippy::cast_precision_loss, reason = "a share is no exact number")]
fn dominant_share(used: &Amounts, totals: &Amounts) -> f64 {
    let of = |used: i64, total: i64| share(used as f64, total as f64);
    let scalars = used.scalars.iter().map(|(name, amount)| of(*amount, totals.scalar(name)));
    [
        of(used.cpu_milli, totals.cpu_milli),
        of(used.memory, totals.memory),
        of(used.ephemeral_storage, totals.ephemeral_storage),
    ]
    .into_iter()
    .chain(scalars)
    .fold(0.0, f64::max)
}

/// How long a pod has waited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waited {
    pub(crate) age_seconds: i64,
    pub(crate) attempts: i64,
}

#[derive(Debug)]
pub(crate) struct QueueWorld<'a> {
    pub(crate) pod: PodWorld<'a>,
    pub(crate) tenant: TenantView<'a>,
    pub(crate) waited: Waited,
    /// Sums over the cluster, for all pods.
    pub(crate) sums: &'a DomainSums,
}

impl<'a> QueueWorld<'a> {
    pub(super) fn of_cluster(&self) -> ClusterWorld<'a> {
        ClusterWorld { pod: self.pod, sums: self.sums }
    }
}

impl Facts for QueueWorld<'_> {
    fn read(&self, read: &Read) -> Answer {
        match facts::source(&read.fact) {
            Some(Source::Tenant(answer)) => answer(&self.tenant, &read.args),
            Some(Source::Waited(answer)) => answer(self.waited),
            // The sums are kept for all pods, and this one is of one pod.
            Some(Source::ClusterSum(addend)) if addend.rests_on_pod => {
                match (addend.by_slot)(self.pod.pod, self.pod.cluster, &read.args) {
                    Ok(values) => values.into_iter().fold(0, i64::saturating_add).into(),
                    Err(answer) => answer,
                }
            }
            Some(Source::Cluster(_) | Source::ClusterSum(_)) => self.of_cluster().read(read),
            _ => self.pod.read(read),
        }
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        budget.charge(self.of_cluster().summing(read))?;
        Ok(self.read(read))
    }
}
