//! The lines about nodes, written as text: an explanation of a large cluster has thousands of them.
//!
//! Keys are in the order of the alphabet, as in everything else of an explanation.

use std::io::Write as _;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::cycle::reference::{Judgement, NodeJudgement, Scored};
use crate::program::Profile;
use crate::rules::Status;
use crate::rules::dynamic_resources::Shown;
use crate::snapshot::{Cluster, Pod};

use super::devices::{Part, devices};
use super::{Detail, name_of, node_name};

/// About as long as a line mostly is.
const LINE_BYTES: usize = 384;
/// Statuses that more than a node's `filter` and `allFilters` have in common are rendered once.
const OWN_REFERENCES: usize = 2;

/// The list of the nodes' lines; those that were left out beforehand have one status.
pub(super) fn node_lines(
    judgement: &Judgement,
    pod: &Pod,
    profile: &Profile,
    cluster: &Cluster,
    (detail, shown): (Detail<'_>, Option<&Shown>),
) -> Vec<u8> {
    let outside = judgement.rejected.status_outside(pod, profile, cluster);
    let scored = judgement.nodes.iter().find(|node| !node.scores.is_empty());
    let mut lines = NodeLines {
        profile,
        cluster,
        shown,
        scores: scored.map(|node| by_name(&node.scores, profile)).unwrap_or_default(),
        rendered: FxHashMap::default(),
        bytes: Vec::new(),
    };
    if !matches!(detail, Detail::Nodes(_)) {
        lines.bytes.reserve(judgement.nodes.len().saturating_mul(LINE_BYTES));
    }
    lines.bytes.push(b'[');
    for node in &judgement.nodes {
        let name = node_name(node.slot, cluster).unwrap_or_default();
        let is_wanted = match detail {
            Detail::Nodes(wanted) => wanted.contains(name),
            Detail::Decision | Detail::Parts => true,
        };
        if is_wanted {
            if lines.bytes.len() > 1 {
                lines.bytes.push(b',');
            }
            lines.add(node, name, outside.as_ref());
        }
    }
    lines.bytes.push(b']');
    lines.bytes
}

/// A rule that scores: its place among the scores of a node, and its key as it is written.
struct Column {
    position: usize,
    key: Vec<u8>,
}

/// The rules of these scores, by name; every feasible node has scores of the same ones.
fn by_name(scores: &[Scored], profile: &Profile) -> Vec<Column> {
    let named = scores.iter().enumerate().filter_map(|(position, score)| {
        Some((profile.scores.get(score.score)?.name.to_string(), position))
    });
    let mut named: Vec<(String, usize)> = named.collect();
    named.sort();
    // The last rule of a name counts.
    named.dedup_by(|later, kept| {
        let is_again = later.0 == kept.0;
        if is_again {
            kept.1 = later.1;
        }
        is_again
    });
    named
        .into_iter()
        .map(|(name, position)| Column { position, key: format!("{}:", Value::from(name)).into() })
        .collect()
}

struct NodeLines<'a> {
    profile: &'a Profile,
    cluster: &'a Cluster,
    shown: Option<&'a Shown>,
    scores: Vec<Column>,
    /// Where the text of a status is that many nodes have. The judgement holds them all.
    rendered: FxHashMap<(usize, *const Status), Range<usize>>,
    bytes: Vec<u8>,
}

impl NodeLines<'_> {
    fn add(&mut self, node: &NodeJudgement, name: &str, outside: Option<&Status>) {
        self.bytes.push(b'{');
        if !node.is_looked_at() {
            if let Some(status) = outside {
                self.text("\"filter\":");
                write_status(&mut self.bytes, "PreFilter", status);
                self.bytes.push(b',');
            }
            self.name(name);
            self.bytes.push(b'}');
            return;
        }
        if !node.all_filters.is_empty() {
            self.text("\"allFilters\":[");
            for (index, (filter, status)) in node.all_filters.iter().enumerate() {
                if index > 0 {
                    self.bytes.push(b',');
                }
                self.status(*filter, status);
            }
            self.text("],");
        }
        let shown = self.shown.map(|shown| devices(shown, node, self.cluster));
        for Part { name, value } in shown.into_iter().flatten() {
            let _ = write!(self.bytes, "\"{name}\":{value},");
        }
        if node.filter.is_none() {
            self.errors(node);
        }
        if let Some((filter, status)) = &node.filter {
            self.text("\"filter\":");
            self.status(*filter, status);
            self.bytes.push(b',');
        }
        self.name(name);
        if node.filter.is_none() {
            self.scores(node);
        }
        self.bytes.push(b'}');
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn name(&mut self, name: &str) {
        self.text("\"name\":");
        write_text(&mut self.bytes, name);
    }

    fn status(&mut self, filter: usize, status: &Arc<Status>) {
        let key = (filter, Arc::as_ptr(status));
        if let Some(known) = self.rendered.get(&key) {
            self.bytes.extend_from_within(known.clone());
            return;
        }
        let start = self.bytes.len();
        write_status(&mut self.bytes, name_of(self.profile.filters.get(filter)), status);
        if Arc::strong_count(status) > OWN_REFERENCES {
            self.rendered.insert(key, start..self.bytes.len());
        }
    }

    /// Priorities that could not be evaluated.
    fn errors(&mut self, node: &NodeJudgement) {
        let mut before = "\"errors\":[";
        for score in &node.scores {
            let rule = self.profile.scores.get(score.score);
            let (Some(fault), Some(rule)) = (&score.fault, rule) else { continue };
            self.text(before);
            self.text("{\"code\":");
            write_text(&mut self.bytes, fault.code);
            self.text(",\"message\":");
            write_text(&mut self.bytes, &fault.message);
            self.text(",\"rule\":");
            write_text(&mut self.bytes, &rule.name);
            self.bytes.push(b'}');
            before = ",";
        }
        if before == "," {
            self.text("],");
        }
    }

    fn scores(&mut self, node: &NodeJudgement) {
        let bytes = &mut self.bytes;
        for (start, is_raw) in [(",\"raw\":{", true), (",\"weighted\":{", false)] {
            bytes.extend_from_slice(start.as_bytes());
            let mut is_first = true;
            for column in &self.scores {
                let Some(score) = node.scores.get(column.position) else { continue };
                if !is_first {
                    bytes.push(b',');
                }
                is_first = false;
                bytes.extend_from_slice(&column.key);
                if is_raw {
                    write_raw(bytes, score.raw);
                } else {
                    write_integer(bytes, score.weighted);
                }
            }
            bytes.push(b'}');
            if is_raw {
                bytes.extend_from_slice(b",\"total\":");
                write_integer(bytes, node.total);
            }
        }
    }
}

/// As JSON, escaped.
fn write_text(bytes: &mut Vec<u8>, text: &str) {
    // Nothing to be escaped in most: names and words.
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        bytes.push(b'"');
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'"');
    } else {
        let _ = write!(bytes, "{}", Value::from(text));
    }
}

fn write_status(bytes: &mut Vec<u8>, plugin: &str, status: &Status) {
    let _ = write!(bytes, "{}", super::rendered(plugin, status));
}

fn write_integer(bytes: &mut Vec<u8>, number: i64) {
    match u8::try_from(number) {
        Ok(small) if small < 10 => bytes.push(b'0' + small),
        Ok(small) if small < 100 => bytes.extend([b'0' + small / 10, b'0' + small % 10]),
        _ => {
            let _ = write!(bytes, "{number}");
        }
    }
}

/// Whole numbers as such; what is no number at all (an ignored node) as 0.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn write_raw(bytes: &mut Vec<u8>, raw: f64) {
    if !raw.is_finite() {
        bytes.push(b'0');
    } else if raw.trunc() == raw && raw.abs() < 9e15 {
        write_integer(bytes, raw as i64);
    } else {
        let _ = write!(bytes, "{}", Value::from(raw));
    }
}
