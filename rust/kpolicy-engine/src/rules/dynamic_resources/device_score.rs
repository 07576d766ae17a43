//! The score of the allocations that nodes would give (`devices.score` of a policy).

use crate::heap::HeapBytes;
use crate::model::Kind;
use crate::rules::{Fault, HeldBytes, Key, Normalization, PreparedScore, Reads, Refresh, Score};
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use kpolicy_cel::Moments;

use super::DynamicResources;
use super::choice::Choice;
use super::filter::{is_concerned, key};
use super::score;
use super::state::State;

/// What each node's best allocation is worth.
#[derive(Debug)]
pub(crate) struct DeviceScore(pub(crate) DynamicResources);

#[derive(Debug)]
struct Prepared {
    /// `None`: there is nothing to choose for the pod.
    state: Option<State>,
    /// How many of the pod's claims had waited too long for their devices.
    overdue: usize,
    rule: DynamicResources,
}

impl Score for DeviceScore {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self::key(pod, key);
        if let Some(rules) = self.0.policy.rules.as_ref().filter(|_| is_concerned(pod)) {
            rules.key(pod, key);
        }
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        if !is_concerned(pod) {
            return None;
        }
        let is_open = |state: &State| {
            state.extended.is_some() || state.claims.iter().any(|claim| claim.allocation.is_none())
        };
        let state = State::of(&self.0, pod, cluster).ok().flatten().filter(is_open);
        let overdue = state.as_ref().map_or(0, |state| state.overdue(cluster));
        Some(Box::new(Prepared { state, overdue, rule: self.0.clone() }))
    }

    fn kinds(&self) -> &[Kind] {
        self.0.policy.rules.as_ref().map_or(&[][..], |rules| rules.kinds())
    }

    fn moments(&self) -> &Moments {
        self.0.policy.rules.as_ref().map_or(&Moments::None, |rules| rules.moments())
    }
}

impl Prepared {
    fn chosen(&self) -> Option<(&State, &Choice)> {
        let state = self.state.as_ref()?;
        Some((state, state.choice.as_deref().filter(|choice| !choice.rules.is_empty())?))
    }
}

impl PreparedScore for Prepared {
    fn reads(&self) -> Reads {
        score::reads(self.state.as_ref())
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let is_outdated = score::is_outdated(self.state.as_ref(), self.overdue, changes, cluster)
            || self.rule.policy.rules.as_ref().is_some_and(|rules| rules.watches(changes));
        if is_outdated { Refresh::Again } else { Refresh::Nodes }
    }

    fn is_skipped(&self) -> bool {
        self.chosen().is_none()
    }

    #[expect(clippy::cast_precision_loss, reason = "weights are small")]
    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let Some((state, choice)) = self.chosen() else { return 0.0 };
        if state.is_any_unavailable(cluster, node) {
            return 0.0;
        }
        state.worth(choice, cluster, node) / choice.rules.rules.weight().max(1) as f64
    }

    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        let (state, choice) = self.chosen()?;
        state.fault(choice, cluster, node)
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::AsIs
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.state.as_ref().map_or(0, HeapBytes::heap_bytes))
    }
}
