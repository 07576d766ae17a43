//! What the holds of a profile and the order say of one pod.

use std::sync::Arc;

use crate::api::Entered;
use crate::rules::Fault;
use crate::rules::expression::{
    ClusterTotals, DomainSums, HoldRule, OrderRule, PodWorld, QueueWorld, TenantView, Waited,
};
use crate::snapshot::usage::Settled;
use crate::snapshot::{Cluster, Pod};

use super::Call;
use super::group::Standing;

/// What pods are judged by in one call.
pub(super) struct Judge<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) cluster: &'a Cluster,
    pub(super) totals: &'a ClusterTotals,
    pub(super) sums: &'a DomainSums,
}

impl Judge<'_> {
    /// What holds and order say of a pod that may be tried.
    pub(super) fn of_waiting(&self, entered: &Entered, profile: usize) -> Option<Judged> {
        let order = self.call.rules.order.as_ref();
        let world = self.world(&self.cluster.pods().get(&entered.uid)?.pod, entered);
        Some(Judged::of(&world, self.holds(profile), order))
    }

    /// Whether a hold holds a pod that rests, by what is settled. What other pods are tried with does not
    /// count: two pods that fit nowhere would hold and release each other without end.
    pub(super) fn of_resting(
        &self,
        entered: &Entered,
        profile: usize,
        settled: Option<&Settled>,
    ) -> Option<Judged> {
        let mut world = self.world(&self.cluster.pods().get(&entered.uid)?.pod, entered);
        if let Some(settled) = settled {
            world.tenant = world.tenant.with_settled(settled);
        }
        Some(Judged::of(&world, self.holds(profile), None))
    }

    fn world<'w>(&'w self, pod: &'w Pod, entered: &Entered) -> QueueWorld<'w> {
        QueueWorld {
            pod: PodWorld { pod, cluster: self.cluster },
            tenant: TenantView::of_pod(pod, self.cluster.usage(), self.totals),
            waited: waited(entered, self.call.queue_now_ns),
            sums: self.sums,
        }
    }

    fn holds(&self, profile: usize) -> &[HoldRule] {
        self.call.program.profiles.get(profile).map_or(&[][..], |own| &own.holds)
    }
}

const NANOSECONDS: i64 = 1_000_000_000;

pub(super) fn seconds(ns: i64) -> i64 {
    ns.div_euclid(NANOSECONDS)
}

fn waited(entered: &Entered, queue_now_ns: i64) -> Waited {
    let age_seconds = seconds(queue_now_ns.saturating_sub(entered.first_ns).max(0));
    Waited { age_seconds, attempts: entered.attempts }
}

pub(super) struct Judged {
    pub(super) standing: Standing,
    /// The rule whose expression failed, and why.
    pub(super) fault: Option<(Arc<str>, Fault)>,
    pub(super) units: u64,
}

impl Default for Judged {
    /// Of a pod that is gone: it is to be tried.
    fn default() -> Self {
        Self { standing: Standing::Ready(None), fault: None, units: 0 }
    }
}

impl Judged {
    /// The first hold that holds it counts, and its number only if none does.
    fn of(world: &QueueWorld<'_>, holds: &[HoldRule], order: Option<&OrderRule>) -> Self {
        let (mut units, mut fault) = (0, None);
        for (position, hold) in holds.iter().enumerate() {
            let verdict = hold.holds(world);
            units += verdict.units;
            fault = fault.or(verdict.fault.map(|own| (Arc::clone(hold.name()), own)));
            if let Some(why) = verdict.why {
                return Self { standing: Standing::Held(position, why), fault, units };
            }
        }
        let Some(order) = order else {
            return Self { standing: Standing::Ready(Some(0.0)), fault, units };
        };
        let (number, spent) = order.number(world);
        let units = units + spent;
        match number {
            Ok(number) => Self { standing: Standing::Ready(Some(number)), fault, units },
            Err(failed) => {
                let fault = Some((Arc::clone(order.name()), failed));
                Self { standing: Standing::Ready(None), fault, units }
            }
        }
    }
}
