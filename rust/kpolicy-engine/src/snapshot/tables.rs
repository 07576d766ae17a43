//! The tables behind what pods and nodes share, and when they drop values that nobody holds.
//!
//! Parts of one value are held by it: a template holds its requests, and they hold names. So tables are
//! swept together, from the outside to the inside. What pods that are gone leave behind is bounded in
//! bytes, however large the tables are.

use std::sync::Arc;

use crate::intern::{Interner, Name};
use crate::model;
use crate::resources::ResizeRule;

use super::node::{Node, NodeTables};
use super::pod::{Pod, PodTables};
use super::supposed::PodParts;

/// How many bytes may have lost their holder before the tables are swept: an eighth of what is in use,
/// within these bounds. A sweep looks at every entry.
const RELEASED_BYTES: std::ops::RangeInclusive<usize> = 4 << 20..=8 << 20;
const RELEASED_SHARE: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Tables {
    pods: PodTables,
    nodes: NodeTables,
    names: Interner<Arc<str>>,
    /// After the last sweep.
    swept_bytes: usize,
    /// Of parts that a pod held and holds no more, since the last sweep. Others may still hold them.
    released_bytes: usize,
}

impl Tables {
    pub(super) fn pod(&mut self, object: model::Pod) -> Pod {
        self.sweep_if_due();
        self.pods.row(object, &mut self.names)
    }

    pub(super) fn supposed_pod(&mut self, pod: &Pod, parts: PodParts) -> Pod {
        self.pods.supposed(pod, parts)
    }

    /// Rows count resizes by this rule from now on; false if they did so before.
    pub(super) fn count_resizes(&mut self, rule: ResizeRule) -> bool {
        std::mem::replace(&mut self.pods.resize_rule, rule) != rule
    }

    pub(super) fn node(&mut self, object: model::Node) -> Node {
        self.sweep_if_due();
        self.nodes.row(object, &mut self.names)
    }

    /// The row of a pod as it is going to be with these annotations too.
    pub(super) fn annotated(&mut self, pod: &Arc<Pod>, more: &[(Box<str>, Box<str>)]) -> Arc<Pod> {
        if more.is_empty() {
            return Arc::clone(pod);
        }
        let has = pod.annotations.iter().map(|(key, value)| (key.into(), value.into()));
        let annotations = self.pods.annotations(has.chain(more.iter().cloned()).collect());
        Arc::new(Pod { annotations, ..Pod::clone(pod) })
    }

    /// A row of a pod is not needed any more; `new` is the row in its place.
    pub(super) fn release(&mut self, old: &Pod, new: Option<&Pod>) {
        self.sweep_if_due();
        self.released_bytes += old.bytes_not_shared_with(new);
    }

    pub(super) fn find_name(&self, text: &str) -> Option<Name> {
        self.names.find_name(text)
    }

    pub(super) fn templates(&self) -> usize {
        self.pods.templates()
    }

    pub(super) fn identities(&self) -> usize {
        self.pods.identities()
    }

    fn bytes(&self) -> usize {
        self.pods.bytes() + self.nodes.bytes() + self.names.bytes()
    }

    fn sweep_if_due(&mut self) {
        let (least, most) = RELEASED_BYTES.into_inner();
        let released_max = (self.swept_bytes / RELEASED_SHARE).clamp(least, most);
        // Not everything that is dropped is released: a node's taints, a pod that was only looked at.
        let bytes_max = 2 * self.swept_bytes.max(most);
        if self.released_bytes >= released_max || self.bytes() >= bytes_max {
            self.pods.sweep();
            self.nodes.sweep();
            self.names.sweep();
            self.swept_bytes = self.bytes();
            self.released_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RELEASED_BYTES, Tables};
    use crate::model::{Labels, Meta, Pod};
    use crate::snapshot::pod;

    /// A pod with a node selector of its own.
    fn row(tables: &mut Tables, number: usize) -> pod::Pod {
        let pairs = (0..100).map(|pair| (format!("key-{number}-{pair}"), "x".repeat(50)));
        let labels: Labels = [("number", number.to_string())].into_iter().collect();
        let meta = Meta { labels, ..Meta::default() };
        tables.pod(Pod { meta, node_selector: Some(pairs.collect()), ..Pod::default() })
    }

    fn bytes_of_one() -> usize {
        let mut tables = Tables::default();
        row(&mut tables, 0);
        tables.bytes()
    }

    /// A template weighs little itself: its table alone would keep thousands of large selectors.
    #[test]
    fn what_is_inside_of_parts_that_are_gone_goes_with_them() {
        let of_one = bytes_of_one();
        let rounds = 8 * RELEASED_BYTES.end() / of_one;
        let mut tables = Tables::default();
        let mut most = 0;
        for number in 0..rounds {
            let gone = row(&mut tables, number);
            tables.release(&gone, None);
            most = most.max(tables.bytes());
        }
        assert!(rounds > 1_000, "{rounds} pods");
        assert!(most <= RELEASED_BYTES.start() + 2 * of_one, "{most} bytes");
    }

    /// However much is in use.
    #[test]
    fn pods_that_go_all_at_once_leave_little_beside_those_that_stay() {
        let of_one = bytes_of_one();
        let count = 4 * RELEASED_BYTES.end() / of_one;
        let mut tables = Tables::default();
        let staying: Vec<pod::Pod> = (0..count).map(|number| row(&mut tables, number)).collect();
        let going: Vec<pod::Pod> =
            (count..2 * count).map(|number| row(&mut tables, number)).collect();
        let before = tables.bytes();
        for pod in going {
            tables.release(&pod, None);
        }
        assert!(tables.bytes() <= before / 2 + RELEASED_BYTES.end() + 2 * of_one);
        assert!(tables.bytes() >= staying.len() * of_one / 2, "those that stay are held");
    }

    #[test]
    fn a_row_in_the_place_of_another_releases_only_what_differs() {
        let mut tables = Tables::default();
        let old = row(&mut tables, 1);
        let new = pod::Pod { is_terminating: true, ..old.clone() };
        tables.release(&old, Some(&new));
        assert_eq!(tables.released_bytes, 0);
        let other = pod::Pod { identity: row(&mut tables, 2).identity, ..old.clone() };
        tables.release(&old, Some(&other));
        assert_eq!(tables.released_bytes, old.identity.bytes());
    }
}
