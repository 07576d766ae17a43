//! The text that says why a pod fits nowhere, word for word as kube-scheduler writes it.
//!
//! Specification: `0/N nodes are available:`, then what rejected the pod as a whole, or how many
//! nodes have which reason, sorted as strings, then the result of preemption.

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) const NO_NODES: &str = "no nodes available to schedule pods";

/// The most bytes that the reasons of one message take. Some 400 reasons; a cluster of 5,000 nodes has
/// a few dozen.
const REASONS_BYTES_MAX: usize = 16 << 10;
/// What a count and the commas between entries take.
const ENTRY_BYTES: usize = 8;

/// How often each reason occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram(BTreeMap<Cow<'static, str>, usize>);

impl Histogram {
    pub(crate) fn add(&mut self, reasons: &[Cow<'static, str>], nodes: usize) {
        if nodes == 0 {
            return;
        }
        for reason in reasons {
            match self.0.get_mut(reason.as_ref()) {
                Some(count) => *count += nodes,
                None => {
                    self.0.insert(reason.clone(), nodes);
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `"<count> <reason>"` in bytewise order, joined; of more reasons than there is room for, those
    /// that come first by themselves, and how many are left out.
    fn joined(&self) -> String {
        let mut bytes = 0;
        let has_room = |(reason, _): &(&Cow<'static, str>, &usize)| {
            bytes += reason.len() + ENTRY_BYTES;
            bytes <= REASONS_BYTES_MAX
        };
        let mut entries: Vec<String> = self
            .0
            .iter()
            .take_while(has_room)
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        entries.sort_unstable();
        let text = entries.join(", ");
        match self.0.len() - entries.len() {
            0 => text,
            left_out => format!("{text}, and {left_out} more reasons"),
        }
    }
}

/// `pre_filter` and `post_filter` may be empty.
pub(crate) fn fit_error(
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
    fn more_reasons_than_there_is_room_for_are_counted() {
        let mut histogram = Histogram::default();
        for resource in 0..10_000 {
            let reason = format!("Insufficient example.com/resource-{resource:05}");
            histogram.add(&[reason.into()], 5_000);
        }
        let text = fit_error(5_000, "", &histogram, "");
        assert!(text.len() <= super::REASONS_BYTES_MAX + 100, "{}", text.len());
        assert!(text.ends_with("more reasons."), "{}", &text[text.len() - 80..]);
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
