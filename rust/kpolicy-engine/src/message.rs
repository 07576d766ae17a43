//! The text that says why a pod fits nowhere, word for word as kube-scheduler writes it.
//!
//! Clause: `0/N nodes are available:`, then what rejected the pod as a whole, or how many nodes have
//! which reason, sorted as strings, then what came of making room.

use std::borrow::Cow;
use std::collections::BTreeMap;

pub const NO_NODES: &str = "no nodes available to schedule pods";

/// How often each reason occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<Cow<'static, str>, usize>);

impl Histogram {
    pub fn add(&mut self, reasons: &[Cow<'static, str>], nodes: usize) {
        if nodes == 0 {
            return;
        }
        for reason in reasons {
            *self.0.entry(reason.clone()).or_default() += nodes;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `"<count> <reason>"` in bytewise order, joined.
    fn joined(&self) -> String {
        let mut entries: Vec<String> =
            self.0.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        entries.sort_unstable();
        entries.join(", ")
    }
}

/// `pre_filter` and `post_filter` may be empty.
pub fn fit_error(
    nodes_total: usize,
    pre_filter: &str,
    histogram: &Histogram,
    post_filter: &str,
) -> String {
    let mut text = format!("0/{nodes_total} nodes are available:");
    if !pre_filter.is_empty() {
        text.push(' ');
        text.push_str(pre_filter);
        text.push('.');
    } else if !histogram.is_empty() {
        text.push(' ');
        text.push_str(&histogram.joined());
        text.push('.');
    }
    if !post_filter.is_empty() {
        text.push(' ');
        text.push_str(post_filter);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Histogram, fit_error};

    #[test]
    fn entries_are_sorted_as_strings_and_counts_are_of_reasons() {
        let mut histogram = Histogram::default();
        histogram.add(&["b".into(), "a".into()], 2);
        histogram.add(&["c".into()], 10);
        histogram.add(&["never".into()], 0);
        assert_eq!(
            fit_error(12, "", &histogram, "no more"),
            "0/12 nodes are available: 10 c, 2 a, 2 b. no more"
        );
    }

    #[test]
    fn what_rejects_the_pod_as_a_whole_hides_the_nodes() {
        let text = fit_error(
            1,
            "pod has unbound immediate PersistentVolumeClaims",
            &Histogram::default(),
            "not found",
        );
        assert_eq!(
            text,
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        );
    }
}
