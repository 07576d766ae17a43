//! `NodeLabel`: labels that a node must have or lack, whatever their values, or had better.
//!
//! Specification: kube-scheduler up to 1.22. Where several preferences are given, their scores of 0
//! or 100 are averaged and truncated.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::fields::{Fields, Refusals};
use crate::model::Labels;
use crate::part::{Part, Parts};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::{Code, Filter, HeldBytes, Key, PreparedFilter, PreparedScore, Reads, Score, Status};

pub(crate) const NAME: &str = "NodeLabel";
const REASON: &str = "node(s) didn't have the requested labels";

const MISLABELED: Code = Code::reject(1);
const SCORE_MAX: f64 = 100.0;

/// Keys of labels.
#[derive(Debug, Default, PartialEq, Eq)]
struct Keys {
    present: Box<[Box<str>]>,
    absent: Box<[Box<str>]>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeLabel {
    required: Arc<Keys>,
    preferred: Arc<Keys>,
}

#[derive(Debug, Clone)]
struct Required(Arc<Keys>);

#[derive(Debug)]
struct Preferred(Arc<Keys>);

/// From the plugin's args; the same for filter and score.
pub(crate) fn from_args(args: &mut Fields<'_>, refusals: &mut Refusals) -> Option<NodeLabel> {
    let mut keys = |name| -> Option<Box<[Box<str>]>> {
        Some(args.texts(name, refusals)?.into_iter().map(Into::into).collect())
    };
    let required = Keys { present: keys("presentLabels")?, absent: keys("absentLabels")? };
    let preferred =
        Keys { present: keys("presentLabelsPreference")?, absent: keys("absentLabelsPreference")? };
    Some(NodeLabel { required: Arc::new(required), preferred: Arc::new(preferred) })
}

impl Keys {
    fn len(&self) -> usize {
        self.present.len() + self.absent.len()
    }

    /// How many are as wanted.
    fn met(&self, labels: &Labels) -> usize {
        let has = |key: &str| labels.get(key).is_some();
        let (present, absent) = (self.present.iter(), self.absent.iter());
        present.filter(|key| has(key)).count() + absent.filter(|key| !has(key)).count()
    }

    /// How many are as wanted on each node, by slot.
    fn met_on_all(&self, cluster: &Cluster) -> Vec<usize> {
        let mut met = vec![0; cluster.nodes().slots()];
        let mut count = |key: &str, is_wanted: bool| {
            let domains = cluster.nodes().domains(key);
            for (met, id) in met.iter_mut().zip(domains.ids()) {
                *met += usize::from((*id != ABSENT) == is_wanted);
            }
        };
        self.present.iter().for_each(|key| count(key, true));
        self.absent.iter().for_each(|key| count(key, false));
        met
    }

    #[allow(clippy::cast_precision_loss)] // counts of labels
    fn share(&self, met: usize) -> f64 {
        (met as f64 * SCORE_MAX / self.len() as f64).trunc()
    }

    fn all_met(&self, labels: &Labels) -> bool {
        self.met(labels) == self.len()
    }
}

impl Filter for NodeLabel {
    fn key(&self, _: &Pod, _: &mut Key) {}

    fn prepare(&self, _: &Pod, _: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        (self.required.len() > 0)
            .then(|| -> Box<dyn PreparedFilter> { Box::new(Required(Arc::clone(&self.required))) })
    }

    fn events(&self) -> Events {
        Events::of(&[Event::NodeAdd, Event::NodeLabel])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[Part::NodeExistence, Part::NodeLabels])
    }

    fn wakes(&self, _: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        let Occurrence::Node { old, new: Some(new), .. } = occurrence else { return false };
        let passes = |labels: &Labels| self.required.all_met(labels);
        passes(&new.object.meta.labels)
            && old.as_ref().is_none_or(|old| !passes(&old.object.meta.labels))
    }
}

impl PreparedFilter for Required {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn check(&self, _: &Cluster, node: NodeView<'_>) -> Code {
        if self.0.all_met(&node.node.object.meta.labels) { Code::PASS } else { MISLABELED }
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        let wanted = self.0.len();
        for (code, met) in codes.iter_mut().zip(self.0.met_on_all(cluster)) {
            *code = if met == wanted { Code::PASS } else { MISLABELED };
        }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, _: Code) -> Status {
        Status::unresolvable(REASON)
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

impl Score for NodeLabel {
    fn key(&self, _: &Pod, _: &mut Key) {}

    fn prepare(&self, _: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        (self.preferred.len() > 0)
            .then(|| -> Box<dyn PreparedScore> { Box::new(Preferred(Arc::clone(&self.preferred))) })
    }
}

impl PreparedScore for Preferred {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        self.0.share(self.0.met(&node.node.object.meta.labels))
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        for (cell, met) in raw.iter_mut().zip(self.0.met_on_all(cluster)) {
            *cell = self.0.share(met);
        }
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{NodeLabel, from_args};
    use crate::event::{Event, Occurrence};
    use crate::fields::{Fields, Refusals};
    use crate::rules::pod_topology_spread::testing::{cluster, pod, row, scores, verdicts};
    use crate::rules::{Filter, Score};
    use crate::snapshot::NodeParts;

    fn rule(args: &Value) -> Option<NodeLabel> {
        let mut refusals = Refusals::default();
        let mut fields = Fields::of(args, "$", &mut refusals).unwrap();
        let made = from_args(&mut fields, &mut refusals);
        fields.finish(&mut refusals);
        made.filter(|_| refusals.is_empty())
    }

    #[test]
    fn keys_must_be_there_or_not() {
        let nodes = [("n1", "region=a"), ("n2", "region=,building=x"), ("n3", "")];
        let mut cluster = cluster(&nodes, &[]);
        let new = row(&mut cluster, pod("new", "", ""));
        let of = |args: Value| {
            let prepared = Filter::prepare(&rule(&args).unwrap(), &new, &cluster);
            prepared.map(|prepared| verdicts(prepared.as_ref(), &cluster))
        };
        assert_eq!(of(json!({"presentLabels": ["region"]})).unwrap(), "++x");
        assert_eq!(of(json!({"absentLabels": ["building"]})).unwrap(), "+x+");
        assert_eq!(of(json!({"presentLabels": ["region", "building"]})).unwrap(), "x+x");
        let both = json!({"presentLabels": ["region"], "absentLabels": ["building"]});
        assert_eq!(of(both).unwrap(), "+xx");
        assert_eq!(of(json!({"presentLabelsPreference": ["region"]})), None);
        assert!(rule(&json!({"labels": ["region"]})).is_none());
    }

    #[test]
    fn preferences_are_averaged() {
        let mut cluster = cluster(&[("n1", "a=1"), ("n2", "a=1,b=1"), ("n3", "")], &[]);
        let new = row(&mut cluster, pod("new", "", ""));
        let of = |args: Value| {
            let mut prepared = Score::prepare(&rule(&args).unwrap(), &new, &cluster).unwrap();
            let found = scores(prepared.as_mut(), &cluster, |_| true);
            found.into_iter().map(|(_, score)| score).collect::<Vec<i64>>()
        };
        assert_eq!(of(json!({"presentLabelsPreference": ["a"]})), [100, 100, 0]);
        assert_eq!(of(json!({"absentLabelsPreference": ["b"]})), [100, 0, 100]);
        let three = json!({"presentLabelsPreference": ["a", "c"], "absentLabelsPreference": ["b"]});
        assert_eq!(of(three), [66, 33, 33]);
        assert!(Score::prepare(&NodeLabel::default(), &new, &cluster).is_none());
    }

    #[test]
    fn a_node_that_comes_to_have_the_labels_wakes() {
        let mut cluster = cluster(&[("n1", "region=a"), ("n2", "")], &[]);
        let new = row(&mut cluster, pod("new", "", ""));
        let rule = rule(&json!({"presentLabels": ["region"]})).unwrap();
        let node = |name| {
            let slot = cluster.nodes().find(name).unwrap();
            cluster.nodes().shared(slot).unwrap()
        };
        let wakes = |old, new_node| {
            let parts = NodeParts::LABELS;
            let occurrence = Occurrence::Node { old, new: Some(new_node), parts };
            rule.wakes(&new, Event::NodeLabel, &occurrence, &cluster)
        };
        assert!(wakes(None, node("n1")));
        assert!(!wakes(None, node("n2")));
        assert!(wakes(Some(node("n2")), node("n1")));
        assert!(!wakes(Some(node("n1")), node("n1")));
    }
}
