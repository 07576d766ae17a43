//! Rules in their place in a profile: name, match conditions, scale and weight.
//!
//! A condition that is false takes a rule out of the cycle. One that cannot be evaluated rejects
//! the pod or is ignored, as the policy says.

use std::sync::Arc;

use kpolicy_cel::{Compared, Moments, Number};

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::model::Kind;
use crate::part::Parts;
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

use super::dynamic_resources::DevicePolicy;
use super::expression::{Conditions, Holds};
use super::{
    Code, Filter, HeldBytes, Key, PreparedFilter, PreparedScore, Reads, Refresh, Reservation,
    Scale, Score, Stage, Status, filter::passes_somewhere, more_events,
};

/// A filter in its place in a profile.
#[derive(Debug)]
pub struct FilterRule {
    /// kube-scheduler's plugin name, or the expression's own.
    pub name: Arc<str>,
    /// `None`: it holds for every pod.
    conditions: Option<Arc<Conditions>>,
    rule: Box<dyn Filter>,
    events: Events,
    more_events: Events,
    helped_by: HelpedBy,
    /// `None`: an expression.
    builtin: Option<Box<str>>,
}

/// What may let a pod through that a filter rejects on every node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HelpedBy {
    /// Also a node that the cluster does not have yet.
    #[default]
    NewNode,
    /// No new node: one more would be rejected too.
    Other,
}

impl FilterRule {
    pub(crate) fn new(
        name: Arc<str>,
        conditions: Option<Arc<Conditions>>,
        rule: Box<dyn Filter>,
    ) -> Self {
        let of_conditions = conditions.as_ref().map(|conditions| conditions.needs.events());
        let events = rule.events().with(of_conditions.unwrap_or(Events::NONE));
        let more_events = more_events(&*rule);
        let helped_by = HelpedBy::default();
        Self { name, conditions, rule, events, more_events, helped_by, builtin: None }
    }

    pub(crate) fn follow_policy_of_devices(&mut self, policy: &DevicePolicy) {
        self.rule.follow_policy_of_devices(policy);
    }

    /// The same rule, helped by what the policy says.
    #[must_use]
    pub(crate) fn helped_by(self, helped_by: HelpedBy) -> Self {
        Self { helped_by, ..self }
    }

    /// The same rule, which is this built-in, whatever the policy calls it.
    #[must_use]
    pub(crate) fn of_builtin(self, builtin: Option<&str>) -> Self {
        Self { builtin: builtin.map(Into::into), ..self }
    }

    /// The built-in that it is; `None` for an expression.
    pub(crate) fn builtin(&self) -> Option<&str> {
        self.builtin.as_deref()
    }

    /// As [`Filter::words`].
    pub(crate) fn words(&self) -> Vec<Arc<str>> {
        self.rule.words()
    }

    /// As [`Filter::compared`].
    pub(crate) fn compared(&self) -> Vec<(Compared, String)> {
        self.rule.compared()
    }

    /// As [`Filter::comparing`].
    pub(crate) fn comparing(&self, compared: &Compared, number: Number) -> Option<Self> {
        let rule = self.rule.comparing(compared, number)?;
        let own = Self::new(Arc::clone(&self.name), self.conditions.clone(), rule);
        Some(own.helped_by(self.helped_by))
    }

    /// Whether a pod that it rejects on every node would be rejected on a new one too.
    pub(crate) fn is_beyond_new_nodes(&self) -> bool {
        self.helped_by == HelpedBy::Other
    }

    /// As [`Filter::key`], with all that its conditions read.
    pub(crate) fn key(&self, pod: &Pod, key: &mut Key) {
        if let Some(conditions) = &self.conditions {
            conditions.needs.key(pod, key);
        }
        self.rule.key(pod, key);
    }

    /// As [`Filter::prepare`]; `None` also where the rule does not hold for the pod.
    pub fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let Some(conditions) = &self.conditions else { return self.rule.prepare(pod, cluster) };
        match conditions.hold(pod, cluster) {
            Holds::Yes => self.rule.prepare(pod, cluster),
            Holds::Unknown(why) if conditions.fails_on_errors => {
                let (rule, text) = (&conditions.rule, why.rendered());
                let reason =
                    format!("match condition of rule {rule} could not be evaluated: {text}");
                let status = Status::unresolvable(reason).with_fault(Some(why));
                Some(Box::new(RejectedByCondition { status }))
            }
            Holds::No | Holds::Unknown(_) => None,
        }
    }

    /// As [`PreparedFilter::refresh`], of what [`FilterRule::prepare`] gave.
    pub(crate) fn refresh(
        &self,
        prepared: Option<&mut (dyn PreparedFilter + 'static)>,
        changes: Changes<'_>,
        cluster: &Cluster,
    ) -> Refresh {
        match prepared {
            _ if is_to_be_asked_again(self.conditions.as_deref(), changes) => Refresh::Again,
            Some(prepared) => prepared.refresh(changes, cluster),
            None => Refresh::Nodes,
        }
    }

    /// Whether a rule that has nothing to say may have something to say once the cluster changed.
    pub(crate) fn may_change(&self) -> bool {
        rests_on_cluster(self.conditions.as_deref())
    }

    /// What may let a pod that this rule rejected through.
    pub fn events(&self) -> Events {
        self.events
    }

    /// As [`Filter::wakes`]: a rule that does not hold any more lets the pod through.
    pub(crate) fn wakes(
        &self,
        pod: &Pod,
        event: Event,
        occurrence: &Occurrence,
        cluster: &Cluster,
    ) -> bool {
        let holds =
            |conditions: &Arc<Conditions>| matches!(conditions.hold(pod, cluster), Holds::Yes);
        !self.conditions.as_ref().is_none_or(holds)
            || (self.rule.events().contains(event)
                && self.rule.wakes(pod, event, occurrence, cluster))
    }

    /// As [`more_events`] of the rule.
    pub fn more_events(&self) -> Events {
        self.more_events
    }

    /// As [`Filter::unhelpful_events`].
    pub fn unhelpful_events(&self) -> Events {
        self.rule.unhelpful_events()
    }

    /// As [`Filter::events_of_no_use_to`].
    pub(crate) fn events_of_no_use_to(&self, pod: &Pod) -> Events {
        self.rule.events_of_no_use_to(pod)
    }

    /// As [`Filter::parts`].
    pub fn parts(&self) -> Parts {
        self.rule.parts()
    }

    /// As [`Filter::wakes_more`].
    pub(crate) fn wakes_more(&self, pod: &Pod, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        self.rule.wakes_more(pod, occurrence, cluster)
    }

    /// As [`Filter::passes_somewhere`], with its conditions.
    pub(crate) fn passes_somewhere(&self, pod: &Pod, cluster: &Cluster) -> bool {
        passes_somewhere(self.prepare(pod, cluster).as_deref(), cluster)
    }

    /// As [`Filter::kinds`].
    pub fn kinds(&self) -> &[Kind] {
        self.rule.kinds()
    }

    /// As [`Filter::moments`], with its conditions.
    pub(crate) fn moments(&self) -> Moments {
        moments_of(self.rule.moments(), self.conditions.as_deref())
    }

    /// As [`Filter::reserve`], whether or not its conditions hold: a pod with claims needs them bound.
    pub(crate) fn reserve(
        &self,
        pod: &Pod,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Option<Reservation> {
        self.rule.reserve(pod, cluster, node)
    }
}

/// A score in its place in a profile.
#[derive(Debug)]
pub struct ScoreRule {
    /// The rule's name in the profile.
    pub name: Arc<str>,
    pub(crate) weight: i64,
    pub(crate) scale: Scale,
    /// `None`: it holds for every pod.
    conditions: Option<Arc<Conditions>>,
    rule: Box<dyn Score>,
}

impl ScoreRule {
    pub(crate) fn new(
        name: Arc<str>,
        weight: i64,
        scale: Scale,
        conditions: Option<Arc<Conditions>>,
        rule: Box<dyn Score>,
    ) -> Self {
        Self { name, weight, scale, conditions, rule }
    }

    /// As [`FilterRule::key`].
    pub(crate) fn key(&self, pod: &Pod, key: &mut Key) {
        if let Some(conditions) = &self.conditions {
            conditions.needs.key(pod, key);
        }
        self.rule.key(pod, key);
    }

    /// As [`FilterRule::prepare`]. Where a condition errs, the rule scores nothing.
    pub fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let holds =
            |conditions: &Arc<Conditions>| matches!(conditions.hold(pod, cluster), Holds::Yes);
        match self.conditions.as_ref().is_none_or(holds) {
            true => self.rule.prepare(pod, cluster),
            false => None,
        }
    }

    /// As [`FilterRule::refresh`].
    pub(crate) fn refresh(
        &self,
        prepared: Option<&mut (dyn PreparedScore + 'static)>,
        changes: Changes<'_>,
        cluster: &Cluster,
    ) -> Refresh {
        match prepared {
            _ if is_to_be_asked_again(self.conditions.as_deref(), changes) => Refresh::Again,
            Some(prepared) => prepared.refresh(changes, cluster),
            None => Refresh::Nodes,
        }
    }

    /// As [`FilterRule::may_change`].
    pub(crate) fn may_change(&self) -> bool {
        rests_on_cluster(self.conditions.as_deref())
    }

    /// Whether it counts the devices behind resources.
    pub(crate) fn counts_devices(&self) -> bool {
        self.rule.counts_devices()
    }

    pub(crate) fn follow_policy_of_devices(&mut self, policy: &DevicePolicy) {
        self.rule.follow_policy_of_devices(policy);
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        self.rule.kinds()
    }

    /// As [`FilterRule::moments`].
    pub(crate) fn moments(&self) -> Moments {
        moments_of(self.rule.moments(), self.conditions.as_deref())
    }
}

fn moments_of(own: &Moments, conditions: Option<&Conditions>) -> Moments {
    match conditions {
        Some(conditions) => own.clone().with(conditions.moments.clone()),
        None => own.clone(),
    }
}

fn rests_on_cluster(conditions: Option<&Conditions>) -> bool {
    conditions.is_some_and(Conditions::may_change)
}

/// Whether what conditions rest on changed.
fn is_to_be_asked_again(conditions: Option<&Conditions>, changes: Changes<'_>) -> bool {
    rests_on_cluster(conditions) && conditions.is_some_and(|conditions| conditions.watches(changes))
}

/// What a rule says whose condition could not be evaluated.
#[derive(Debug, Clone)]
struct RejectedByCondition {
    status: Status,
}

impl PreparedFilter for RejectedByCondition {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::NONE)
    }

    fn stage(&self) -> Stage<'_> {
        Stage::Reject(&self.status)
    }

    fn check(&self, _: &Cluster, _: NodeView<'_>) -> Code {
        Code::PASS
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        self.status.clone()
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.status.heap_bytes())
    }
}
