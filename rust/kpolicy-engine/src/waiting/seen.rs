//! How the world looked in the call before, and what of it is different now.

use kpolicy_cel::Timestamp;

use crate::rules::expression::QueueReads;
use crate::snapshot::{Cluster, Generation};

use super::judged::seconds;

/// When things were last looked at.
#[derive(Debug, Default)]
pub(super) struct Seen {
    generation: Option<Generation>,
    moment: Option<Timestamp>,
    now_seconds: i64,
}

/// What changed since the call before, but for the sums of tenants.
pub(super) struct Changed {
    totals_differ: bool,
    is_other_generation: bool,
    is_other_second: bool,
    moment_before: Option<Timestamp>,
    moment: Timestamp,
}

impl Seen {
    pub(super) fn follow(
        &mut self,
        cluster: &Cluster,
        queue_now_ns: i64,
        totals_differ: bool,
    ) -> Changed {
        let (generation, moment) = (Some(cluster.generation()), cluster.moment());
        let now_seconds = seconds(queue_now_ns);
        let before =
            std::mem::replace(self, Self { generation, moment: Some(moment), now_seconds });
        Changed {
            totals_differ,
            is_other_generation: before.generation != generation,
            is_other_second: before.now_seconds != now_seconds,
            moment_before: before.moment,
            moment,
        }
    }
}

impl Changed {
    /// Whether it is something that these read.
    pub(super) fn is_read(&self, reads: &QueueReads) -> bool {
        (reads.tenant && self.totals_differ)
            || (reads.cluster && self.is_other_generation)
            || (reads.age && self.is_other_second)
            || self.moment_before.is_none_or(|before| reads.moments.differ(before, self.moment))
    }
}
