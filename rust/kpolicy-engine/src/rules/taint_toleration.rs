//! `TaintToleration`: hard taints keep pods away that do not tolerate them; soft ones count against
//! a node.

use crate::event::{Event, Events, Occurrence};
use crate::intern::Shared;
use crate::model::{Effect, Taint, Toleration};
use crate::part::{Part, Parts};
use crate::release::Followed;
use crate::snapshot::{Cluster, Node, NodeParts, NodeView, Pod};

use super::tolerations::{Operators, first_untolerated_hard, tolerates};
use super::{
    Code, Filter, HeldBytes, Key, Normalization, PreparedFilter, PreparedScore, Reads, Score,
    Status,
};

pub(crate) const NAME: &str = "TaintToleration";
pub(crate) const UNTOLERATED: &str = "node(s) had untolerated taint(s)";

#[derive(Debug)]
pub(crate) struct TaintToleration {
    operators: Operators,
}

pub(crate) fn of(followed: Followed) -> TaintToleration {
    TaintToleration { operators: Operators::of(followed) }
}

#[derive(Debug, Clone)]
struct PreparedTaintToleration {
    tolerations: Shared<Box<[Toleration]>>,
    operators: Operators,
}

impl PreparedTaintToleration {
    fn of(pod: &Pod, operators: Operators) -> Self {
        Self { tolerations: pod.template.tolerations.clone(), operators }
    }

    fn code(&self, taints: &[Taint]) -> Code {
        match first_untolerated_hard(taints, &self.tolerations, self.operators) {
            Some(_) => Code::reject(1),
            None => Code::PASS,
        }
    }

    /// Soft taints that no toleration for soft taints tolerates.
    fn intolerable(&self, taints: &[Taint]) -> f64 {
        let is_soft = |toleration: &&Toleration| {
            toleration.effect.is_none_or(|effect| effect == Effect::PreferNoSchedule)
        };
        let count = taints.iter().filter(|taint| {
            let tolerated = |soft| tolerates(soft, taint, self.operators);
            taint.effect == Effect::PreferNoSchedule
                && !self.tolerations.iter().filter(is_soft).any(tolerated)
        });
        count.fold(0.0, |sum, _| sum + 1.0)
    }
}

impl Filter for TaintToleration {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.tolerations.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        Some(Box::new(PreparedTaintToleration::of(pod, self.operators)))
    }

    fn events(&self) -> Events {
        Events::of(&[Event::NodeAdd, Event::NodeTaint, Event::PodToleration])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeTaints])
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        let tolerated = |node: &Node, pod: &Pod| {
            first_untolerated_hard(&node.taints, &pod.template.tolerations, self.operators)
                .is_none()
        };
        match occurrence {
            Occurrence::Node { old, new: Some(new), .. } => {
                tolerated(new, pod) && old.as_ref().is_none_or(|old| !tolerated(old, pod))
            }
            Occurrence::Pod { new: Some(new), .. } => new.uid == pod.uid,
            _ => false,
        }
    }
}

impl PreparedFilter for PreparedTaintToleration {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::TAINTS)
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        self.code(&node.node.taints)
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        cluster.nodes().taint_sets().write(codes, |taints| self.code(taints));
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unresolvable(UNTOLERATED)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

impl Score for TaintToleration {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.tolerations.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        Some(Box::new(PreparedTaintToleration::of(pod, self.operators)))
    }
}

impl PreparedScore for PreparedTaintToleration {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::TAINTS)
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        self.intolerable(&node.node.taints)
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        cluster.nodes().taint_sets().write(raw, |taints| self.intolerable(taints));
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::HighestReversed
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}
