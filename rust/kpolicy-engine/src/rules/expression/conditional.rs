//! Filters that hold only for some pods: wrapped in their match conditions.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::model::Kind;
use crate::rules::volume_binding::VolumeBinding;
use crate::rules::{Code, Filter, Key, NodeNames, PreparedFilter, Reads, Refresh, Stage, Status};
use crate::snapshot::{Changes, Cluster, NodeParts, NodeView, Pod};

use super::conditions::{Conditions, Holds};

#[derive(Debug)]
pub struct ConditionalFilter {
    pub conditions: Arc<Conditions>,
    pub rule: Box<dyn Filter>,
}

#[derive(Debug)]
enum Say {
    Nothing,
    Reject(Status),
    Rule(Box<dyn PreparedFilter>),
}

#[derive(Debug)]
struct PreparedConditional {
    conditions: Arc<Conditions>,
    say: Say,
}

impl Filter for ConditionalFilter {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self.conditions.needs.key(pod, key);
        self.rule.key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let say = match self.conditions.hold(pod, cluster) {
            Holds::No => Say::Nothing,
            Holds::Unknown(_) if !self.conditions.fails_on_errors => Say::Nothing,
            Holds::Unknown(why) => {
                let (rule, told) = (&self.conditions.rule, why.told());
                let reason =
                    format!("match condition of rule {rule} could not be evaluated: {told}");
                Say::Reject(Status::unresolvable(reason).with_fault(Some(why)))
            }
            Holds::Yes => self.rule.prepare(pod, cluster).map_or(Say::Nothing, Say::Rule),
        };
        match say {
            Say::Nothing if !self.conditions.needs.is_of_cluster() => None,
            Say::Rule(rule) if !self.conditions.needs.is_of_cluster() => Some(rule),
            say => {
                let conditions = Arc::clone(&self.conditions);
                Some(Box::new(PreparedConditional { conditions, say }))
            }
        }
    }

    fn events(&self) -> Events {
        self.rule.events().with(self.conditions.needs.events())
    }

    fn wakes(&self, pod: &Pod, event: Event, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        !matches!(self.conditions.hold(pod, cluster), Holds::Yes)
            || (self.rule.events().contains(event)
                && self.rule.wakes(pod, event, occurrence, cluster))
    }

    fn more_events(&self) -> Events {
        self.rule.more_events()
    }

    fn wakes_more(&self, pod: &Pod, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        self.rule.wakes_more(pod, occurrence, cluster)
    }

    fn kinds(&self) -> &'static [Kind] {
        self.rule.kinds()
    }

    fn binds_volumes(&self) -> Option<VolumeBinding> {
        self.rule.binds_volumes()
    }
}

impl PreparedConditional {
    fn rule(&self) -> Option<&dyn PreparedFilter> {
        match &self.say {
            Say::Rule(rule) => Some(rule.as_ref()),
            _ => None,
        }
    }
}

impl PreparedFilter for PreparedConditional {
    fn reads(&self) -> Reads {
        self.rule().map_or(Reads::parts(NodeParts::NONE), PreparedFilter::reads)
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        match &mut self.say {
            _ if self.conditions.watches(changes) => Refresh::Again,
            Say::Rule(rule) => rule.refresh(changes, cluster),
            _ => Refresh::Nodes,
        }
    }

    fn stage(&self) -> Stage<'_> {
        match &self.say {
            Say::Nothing => Stage::Skip,
            Say::Reject(status) => Stage::Reject(status),
            Say::Rule(rule) => rule.stage(),
        }
    }

    fn only_nodes(&self) -> Option<&NodeNames> {
        self.rule()?.only_nodes()
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        self.rule().map_or(Code::PASS, |rule| rule.check(cluster, node))
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        if let Some(rule) = self.rule() {
            rule.check_all(cluster, codes);
        }
    }

    fn worth_asking_all(&self, nodes: usize) -> usize {
        self.rule().map_or(nodes, |rule| rule.worth_asking_all(nodes))
    }

    fn can_fail(&self) -> bool {
        self.rule().is_some_and(PreparedFilter::can_fail)
    }

    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        match &self.say {
            Say::Rule(rule) => rule.describe(cluster, node, code),
            Say::Reject(status) => status.clone(),
            Say::Nothing => Status::unresolvable(self.conditions.rule.to_string()),
        }
    }

    fn describes_by_code(&self) -> bool {
        self.rule().is_none_or(PreparedFilter::describes_by_code)
    }

    fn describes_code(&self, code: Code) -> bool {
        self.rule().is_none_or(|rule| rule.describes_code(code))
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        if let Say::Rule(rule) = &mut self.say {
            rule.add_pod(pod, cluster, node);
        }
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        if let Say::Rule(rule) = &mut self.say {
            rule.remove_pod(pod, cluster, node);
        }
    }

    fn is_local(&self) -> bool {
        self.rule().is_none_or(PreparedFilter::is_local)
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        let say = match &self.say {
            Say::Nothing => Say::Nothing,
            Say::Reject(status) => Say::Reject(status.clone()),
            Say::Rule(rule) => Say::Rule(rule.fork()),
        };
        Box::new(Self { conditions: Arc::clone(&self.conditions), say })
    }
}
