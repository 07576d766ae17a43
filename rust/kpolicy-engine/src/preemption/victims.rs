//! Which pods may be victims, and which of two is more important.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use kpolicy_cel::{Budget, Fault};
use rustc_hash::FxHashSet;

use crate::rules::expression::PreparedVictims;
use crate::snapshot::{NodeView, Pod};

use super::Unplaced;

/// The possible victims for one pod: of lower priority, and not protected by the policy.
#[derive(Debug)]
pub(super) struct Evictable<'a> {
    pod: &'a Pod,
    policy: Option<PreparedVictims<'a>>,
}

impl<'a> Evictable<'a> {
    pub(super) fn of(unplaced: Unplaced<'a>) -> Self {
        let pod = unplaced.question.pod.as_ref();
        let policy = unplaced.profile.victims().map(|rule| rule.prepared(pod, unplaced.cluster));
        Self { pod, policy }
    }

    /// The pods of a node that matter less and have to stay all the same, by uid.
    pub(super) fn kept<'n>(
        &self,
        node: NodeView<'n>,
        work: &mut Budget,
    ) -> Result<FxHashSet<&'n str>, Fault> {
        let mut kept = FxHashSet::default();
        let Some(policy) = &self.policy else { return Ok(kept) };
        for other in node.load.pods.iter().filter(|other| may_go(other, self.pod)) {
            let (allows, units) = policy.judged(other, node);
            work.charge(units)?;
            if !allows {
                kept.insert(other.uid.as_ref());
            }
        }
        Ok(kept)
    }

    /// Whether the policy lets all of these go.
    pub(super) fn allows(&self, victims: &[Arc<Pod>], node: NodeView<'_>) -> bool {
        let Some(policy) = &self.policy else { return true };
        victims.iter().all(|victim| policy.allows(victim, node))
    }
}

/// Whether a pod matters less than the other.
pub(super) fn may_go(victim: &Pod, preemptor: &Pod) -> bool {
    victim.priority() < preemptor.priority()
}

/// When a pod started, in seconds. kube-scheduler takes the present time for a pod that has not
/// started; that is later than every start, so no clock is needed.
pub(super) fn started(pod: &Pod) -> i64 {
    pod.start_seconds.unwrap_or(i64::MAX)
}

/// More important first: by priority, then by who runs longer. What is equal in both has no order in
/// kube-scheduler; here it goes by uid.
pub(super) fn by_importance(left: &Arc<Pod>, right: &Arc<Pod>) -> Ordering {
    let key = |pod: &Pod| (Reverse(pod.priority()), started(pod));
    key(left).cmp(&key(right)).then_with(|| left.uid.cmp(&right.uid))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{by_importance, may_go};
    use crate::model::{self, Meta};
    use crate::snapshot::{Cluster, Pod};

    fn pod(uid: &str, priority: i32, start_seconds: Option<i64>) -> Arc<Pod> {
        let meta = Meta { uid: uid.into(), ..Meta::default() };
        Cluster::default().row(model::Pod {
            meta,
            priority,
            start_seconds,
            ..model::Pod::default()
        })
    }

    #[test]
    fn only_strictly_lower_priority_goes() {
        let preemptor = pod("p", 0, None);
        assert!(may_go(&pod("v", -1, None), &preemptor));
        assert!(!may_go(&pod("v", 0, None), &preemptor));
    }

    #[test]
    fn priority_then_age_matters_and_what_has_not_started_is_youngest() {
        let mut pods = [
            pod("e", 1, None),
            pod("d", 1, None),
            pod("c", 1, Some(7)),
            pod("b", 1, Some(-3)),
            pod("a", 9, None),
            pod("f", -5, Some(0)),
        ];
        pods.sort_by(by_importance);
        let uids: Vec<&str> = pods.iter().map(|pod| pod.uid.as_ref()).collect();
        assert_eq!(uids, ["a", "b", "c", "d", "e", "f"]);
    }
}
