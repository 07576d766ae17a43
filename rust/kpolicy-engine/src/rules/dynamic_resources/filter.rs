//! The filter: the pod's claims found once, then each node judged.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::model::Kind;
use crate::part::{Part, Parts};
use crate::rules::{
    Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Reservation, Stage, Status,
};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeView, Pod};

use super::judging::meaning;
use super::state::{State, asked};
use super::{DevicePolicy, DynamicResources, hints};

/// What is read of other objects.
const KINDS: &[Kind] =
    &[Kind::DeviceClass, Kind::ResourceSlice, Kind::ResourceClaim, Kind::DeviceTaintRule];

impl DynamicResources {
    /// Rules that taint devices are not served where they are not read.
    pub(super) fn kinds_read(&self) -> &'static [Kind] {
        const WITHOUT_RULES: &[Kind] =
            &[Kind::DeviceClass, Kind::ResourceSlice, Kind::ResourceClaim];
        if self.followed.has_taint_rules() { KINDS } else { WITHOUT_RULES }
    }
}

#[derive(Debug, Clone)]
struct Prepared {
    /// `None`: nothing is to be said to this pod as things are.
    state: Result<Option<State>, Status>,
    /// How many of the pod's claims had waited too long for their devices.
    overdue: usize,
    rule: DynamicResources,
}

impl Prepared {
    /// Where preemption frees devices.
    fn freeing(&mut self) -> Option<&mut State> {
        let state = self.state.as_mut().ok().and_then(Option::as_mut);
        state.filter(|_| self.rule.policy.frees_devices)
    }
}

fn overdue(state: &Result<Option<State>, Status>, cluster: &Cluster) -> usize {
    state.as_ref().ok().and_then(Option::as_ref).map_or(0, |state| state.overdue(cluster))
}

/// Whether a pod has anything to do with devices, in any cluster.
pub(crate) fn is_concerned(pod: &Pod) -> bool {
    !pod.template.resource_claims.is_empty() || asked(pod).next().is_some()
}

/// A pod with claims of its own is like no other pod.
pub(super) fn key(pod: &Pod, key: &mut Key) {
    if is_concerned(pod) {
        key.push_text(pod.namespace());
        key.push(pod.template.requests.id());
        key.push(pod.template.containers.id());
        key.push_made_claim(pod);
    }
    if !pod.template.resource_claims.is_empty() {
        key.push_text(&pod.uid);
        key.push(pod.template.id());
        for (name, made) in pod.claim_statuses.iter().flat_map(|statuses| statuses.iter()) {
            key.push_text(name);
            key.push_text(made.as_deref().unwrap_or_default());
        }
    }
}

/// Whether a change may change what was found out about a pod.
pub(super) fn is_stale(changes: Changes<'_>) -> bool {
    changes.iter().any(|change| matches!(change, Change::Object(kind) if KINDS.contains(kind)))
}

impl Filter for DynamicResources {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self::key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        is_concerned(pod).then(|| -> Box<dyn PreparedFilter> {
            let state = State::of(self, pod, cluster);
            let overdue = overdue(&state, cluster);
            Box::new(Prepared { state, overdue, rule: self.clone() })
        })
    }

    fn events(&self) -> Events {
        hints::events()
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels, Part::NodeAllocatable])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        hints::wakes(pod, occurrence, cluster, self.followed)
    }

    fn kinds(&self) -> &'static [Kind] {
        self.kinds_read()
    }

    fn follow_policy_of_devices(&mut self, policy: &DevicePolicy) {
        self.policy = policy.clone();
    }

    fn reserve(&self, pod: &Pod, cluster: &Cluster, node: NodeView<'_>) -> Option<Reservation> {
        self.reservation(pod, cluster, node)
    }
}

impl PreparedFilter for Prepared {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS.with(NodeParts::ALLOCATABLE))
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let is_stale = match &self.state {
            Ok(Some(state)) => {
                is_stale(changes)
                    || state.is_stale(cluster)
                    || state.overdue(cluster) != self.overdue
            }
            _ => is_stale(changes),
        };
        if is_stale { Refresh::Again } else { Refresh::Nodes }
    }

    fn stage(&self) -> Stage<'_> {
        match &self.state {
            Ok(Some(_)) => Stage::Check,
            Ok(None) => Stage::Skip,
            Err(status) => Stage::Reject(status),
        }
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        match &self.state {
            Ok(Some(state)) => state.code(cluster, node),
            Ok(None) | Err(_) => Code::PASS,
        }
    }

    /// Selectors that fail, and requests for all devices of a pool that is not whole.
    fn can_fail(&self) -> bool {
        true
    }

    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        match &self.state {
            Ok(Some(state)) if code.is_failure() => {
                state.failure(cluster, node).unwrap_or_else(|| Status::error(""))
            }
            Err(status) => status.clone(),
            Ok(_) => meaning(code, self.rule.policy.frees_devices),
        }
    }

    fn describes_code(&self, code: Code) -> bool {
        !code.is_failure()
    }

    fn describes_by_code(&self) -> bool {
        false
    }

    fn rejects_by_code(&self) -> bool {
        true
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, _: NodeView<'_>) {
        let rule = self.rule.clone();
        if let Some(state) = self.freeing() {
            state.put(pod, &rule, cluster);
        }
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, _: NodeView<'_>) {
        if let Some(state) = self.freeing() {
            state.take(pod, cluster);
        }
    }

    fn take_units(&self) -> u64 {
        let state = self.state.as_ref().ok().and_then(Option::as_ref);
        state.map_or(0, |state| state.supposed.take_units())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        let held = match &self.state {
            Ok(state) => state.as_ref().map_or(0, HeapBytes::heap_bytes),
            Err(status) => status.heap_bytes(),
        };
        HeldBytes::Fixed(size_of_val(self) + held)
    }
}
