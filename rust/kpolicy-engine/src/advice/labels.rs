//! Labels of which an expression speaks: what a pod or a node could have there.
//!
//! Keys and values are the words of the expression, and values that other nodes have. Which of them
//! does is found by deciding.

use crate::rules::FilterRule;
use crate::snapshot::Nodes;

use super::change::{Change, NodeName};
use super::fixes::Alternatives;
use super::world::World;

/// How many labels one rule gives rise to.
const LABELS_MAX: usize = 12;

/// Keys and values of labels, sorted.
pub(super) type LabelPairs = Vec<(Box<str>, Box<str>)>;

/// Labels that the pod could have for a rule.
pub(super) fn of_pod(pairs: &LabelPairs, world: &World<'_>) -> Alternatives {
    let labels = world.pod.labels();
    let new = pairs.iter().filter(|(key, value)| labels.get(key) != Some(value));
    let change = |(key, value): &(Box<str>, Box<str>)| {
        vec![Change::PodLabel { key: key.clone(), value: value.clone() }]
    };
    new.take(LABELS_MAX).map(change).collect()
}

/// Labels that a node could have for a rule.
pub(super) fn of_node(pairs: &LabelPairs, node: &NodeName, world: &World<'_>) -> Alternatives {
    let Some(view) = world.cluster().nodes().view(node.slot) else { return Vec::new() };
    let labels = &view.node.object.meta.labels;
    let new = pairs.iter().filter(|(key, value)| labels.get(key) != Some(value));
    let change = |(key, value): &(Box<str>, Box<str>)| {
        let (key, value) = (key.clone(), Some(value.clone()));
        vec![Change::NodeLabel { node: node.clone(), key, value }]
    };
    new.take(LABELS_MAX).map(change).collect()
}

/// Each word of a rule that may be a key with each other word, and each value of a node, that may be
/// its value.
pub(super) fn pairs(rule: &FilterRule, nodes: &Nodes) -> LabelPairs {
    let words = rule.words();
    let mut pairs = LabelPairs::new();
    for key in words.iter().filter(|word| is_key(word)) {
        for value in words.iter().filter(|word| *word != key && is_value(word)) {
            pairs.push((Box::from(&**key), Box::from(&**value)));
        }
        let domains = nodes.domains(key);
        let values = domains.values_in_use().into_iter().take(LABELS_MAX);
        pairs.extend(values.map(|value| (Box::from(&**key), Box::from(value))));
    }
    pairs.sort();
    pairs.dedup();
    pairs
}

/// As the API wants a label's key, as far as it tells keys from other texts.
fn is_key(word: &str) -> bool {
    let (prefix, name) = word.rsplit_once('/').unwrap_or(("a", word));
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !prefix.is_empty() && prefix.bytes().all(is_part) && !name.is_empty() && is_value(name)
}

fn is_value(word: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = word.as_bytes();
    word.len() <= 63
        && bytes.iter().copied().all(is_inner)
        && is_outer(bytes.first())
        && is_outer(bytes.last())
}
