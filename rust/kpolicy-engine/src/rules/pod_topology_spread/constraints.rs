//! The constraints that hold for a pod, with their selectors computed.
//!
//! Specification: a pod with any constraint of its own has no others; label values named by
//! `matchLabelKeys` are `ANDed` to a selector; no selector selects no pod; an empty one applies to
//! every pod but counts none.

use crate::heap::HeapBytes;
use crate::model::{Labels, Selector, SpreadConstraint};
use crate::rules::Key;
use crate::rules::default_selector::{self, DefaultSelector, Sources};
use crate::snapshot::{Changes, Cluster, Pod};

use super::PodTopologySpread;

/// In a key: how a pod comes by its constraints.
const OWN: u64 = 0;
const DEFAULT: u64 = 1;
/// In a key: not read.
const UNREAD: u64 = u64::MAX;

/// Constraints that must hold, or those that should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    Hard,
    Soft,
}

#[derive(Debug, Clone)]
pub(super) struct Constraint {
    pub(crate) max_skew: i64,
    pub(crate) topology_key: Box<str>,
    /// `None` selects no pod.
    pub(crate) selector: Option<Selector>,
    pub(crate) min_domains: usize,
    pub(crate) honors_affinity: bool,
    pub(crate) honors_taints: bool,
}

impl Constraint {
    fn of(source: &SpreadConstraint, selector: Option<Selector>) -> Self {
        Self {
            max_skew: i64::from(source.max_skew),
            topology_key: source.topology_key.clone(),
            selector,
            min_domains: usize::try_from(source.min_domains).unwrap_or(1),
            honors_affinity: source.honors_affinity,
            honors_taints: source.honors_taints,
        }
    }

    /// Whether it means a pod with these labels.
    pub(super) fn means(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    /// Whether such a pod on a node is counted.
    pub(super) fn counts(&self, labels: &Labels) -> bool {
        self.selector
            .as_ref()
            .is_some_and(|selector| !selector.is_everything() && selector.matches(labels))
    }
}

/// All constraints of one force that a pod has.
#[derive(Debug, Clone)]
pub(super) struct Constraints {
    pub(crate) list: Vec<Constraint>,
    /// Where they came from, if not from the pod.
    source: Option<DefaultSelector>,
}

impl Constraints {
    pub(super) fn of(rule: &PodTopologySpread, pod: &Pod, force: Force, cluster: &Cluster) -> Self {
        if !pod.template.spread.is_empty() {
            let own = relevant(rule, pod, force);
            let list =
                own.map(|one| Constraint::of(one, own_selector(one, pod.labels()))).collect();
            return Self { list, source: None };
        }
        let source = DefaultSelector::of(pod, Sources::ALL, cluster);
        let list = match source.selector() {
            None => Vec::new(),
            Some(selector) => relevant(rule, pod, force)
                .map(|one| Constraint::of(one, Some(selector.clone())))
                .collect(),
        };
        Self { list, source: Some(source) }
    }

    /// Whether they would be the same if worked out now.
    pub(super) fn are_current(&self, changes: Changes<'_>, cluster: &Cluster) -> bool {
        self.source.as_ref().is_none_or(|source| source.is_current(changes, cluster))
    }
}

/// Whether a pod like this can have any, whatever the cluster.
pub(super) fn can_have(rule: &PodTopologySpread, pod: &Pod, force: Force) -> bool {
    relevant(rule, pod, force).next().is_some()
}

/// Puts into a key what [`Constraints::of`] reads of a pod, what standings read, and, for hard ones,
/// which of them mean the pod itself.
pub(super) fn key(rule: &PodTopologySpread, pod: &Pod, force: Force, key: &mut Key) {
    if !can_have(rule, pod, force) {
        return;
    }
    let template = &pod.template;
    if template.spread.is_empty() {
        key.push(DEFAULT);
        default_selector::key(pod, key);
    } else {
        key.push(OWN);
        key.push(template.spread.id());
        key.push(pod.namespace().id());
        if relevant(rule, pod, force).any(|one| !one.match_label_keys.is_empty()) {
            key.push_seen(pod);
        } else if force == Force::Hard {
            // Pods that a controller tells apart by a label are alike if no selector sees it.
            for one in relevant(rule, pod, force) {
                let selector = one.label_selector.as_ref();
                let is_meant = selector.is_some_and(|selector| selector.matches(pod.labels()));
                key.push(u64::from(is_meant));
            }
        }
    }
    let reads = |honors: fn(&SpreadConstraint) -> bool| relevant(rule, pod, force).any(honors);
    key.push(if reads(|one| one.honors_affinity) { template.node_affinity.id() } else { UNREAD });
    key.push(if reads(|one| one.honors_taints) { template.tolerations.id() } else { UNREAD });
}

fn relevant<'a>(
    rule: &'a PodTopologySpread,
    pod: &'a Pod,
    force: Force,
) -> impl Iterator<Item = &'a SpreadConstraint> {
    let own = &pod.template.spread;
    let all = if own.is_empty() { rule.defaults.iter() } else { own.iter() };
    all.filter(move |one| one.hard == (force == Force::Hard))
}

/// The selector with the pod's values of `matchLabelKeys`. The API ignores keys that the pod lacks;
/// a constraint without a selector stays without.
fn own_selector(constraint: &SpreadConstraint, labels: &Labels) -> Option<Selector> {
    let selector = constraint.label_selector.as_ref()?;
    let keys = constraint.match_label_keys.iter();
    let values: Labels = keys.filter_map(|key| Some((key.as_ref(), labels.get(key)?))).collect();
    let added = default_selector::of_labels(&values).requirements.into_iter();
    Some(Selector { requirements: added.chain(selector.requirements.iter().cloned()).collect() })
}

impl HeapBytes for Constraint {
    fn heap_bytes(&self) -> usize {
        self.topology_key.heap_bytes() + self.selector.heap_bytes()
    }
}

impl HeapBytes for Constraints {
    fn heap_bytes(&self) -> usize {
        self.list.heap_bytes() + self.source.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Constraint, own_selector};
    use crate::model::{Labels, Selector, SpreadConstraint};

    fn constraint(selector: Option<Selector>, keys: &[&str]) -> SpreadConstraint {
        SpreadConstraint {
            max_skew: 1,
            topology_key: "zone".into(),
            hard: true,
            label_selector: selector,
            match_label_keys: keys.iter().map(|key| (*key).into()).collect(),
            min_domains: 1,
            honors_affinity: true,
            honors_taints: false,
        }
    }

    fn meaning(selector: Option<Selector>, keys: &[&str]) -> [(bool, bool); 3] {
        let pod: Labels = [("app", "web"), ("hash", "1")].into_iter().collect();
        let source = constraint(selector, keys);
        let made = Constraint::of(&source, own_selector(&source, &pod));
        let others = [
            [("app", "web"), ("hash", "1")],
            [("app", "web"), ("hash", "2")],
            [("app", "db"), ("hash", "1")],
        ];
        others.map(|labels| {
            let labels = labels.into_iter().collect();
            (made.means(&labels), made.counts(&labels))
        })
    }

    #[test]
    fn who_is_meant_and_who_counts() {
        let app = || {
            let labels: Labels = [("app", "web")].into_iter().collect();
            Some(crate::rules::default_selector::of_labels(&labels))
        };
        let (yes, no) = ((true, true), (false, false));
        assert_eq!(meaning(app(), &[]), [yes, yes, no]);
        assert_eq!(meaning(app(), &["hash"]), [yes, no, no]);
        assert_eq!(meaning(app(), &["absent"]), [yes, yes, no]);
        assert_eq!(meaning(None, &["hash"]), [no, no, no], "no selector means nobody");
        let everybody = Some(Selector::default());
        assert_eq!(meaning(everybody.clone(), &[]), [(true, false); 3], "meant, not counted");
        assert_eq!(meaning(everybody, &["hash"]), [yes, no, yes]);
    }
}
