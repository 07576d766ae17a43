//! Labels of which an expression speaks: what a pod or a node could have there.
//!
//! Keys and values are the words of the expression, and values that other nodes have. Which of them
//! does is found by deciding.

use crate::rules::FilterRule;

use super::change::{Change, NodeName};
use super::fixes::Alternatives;
use super::world::World;

/// How many labels one rule gives rise to.
const LABELS_MAX: usize = 12;

/// Labels that the pod could have for a rule.
pub(super) fn of_pod(rule: &FilterRule, world: &World<'_>) -> Alternatives {
    let labels = world.pod.labels();
    let pairs = pairs(rule, world).into_iter();
    let new = pairs.filter(|(key, value)| labels.get(key) != Some(value));
    new.take(LABELS_MAX).map(|(key, value)| vec![Change::PodLabel { key, value }]).collect()
}

/// Labels that a node could have for a rule.
pub(super) fn of_node(rule: &FilterRule, node: &NodeName, world: &World<'_>) -> Alternatives {
    let Some(view) = world.cluster().nodes().view(node.slot) else { return Vec::new() };
    let labels = &view.node.object.meta.labels;
    let pairs = pairs(rule, world).into_iter();
    let new = pairs.filter(|(key, value)| labels.get(key) != Some(value));
    let change = |(key, value): (Box<str>, Box<str>)| {
        vec![Change::NodeLabel { node: node.clone(), key, value: Some(value) }]
    };
    new.take(LABELS_MAX).map(change).collect()
}

/// Each word that may be a key with each other that may be its value.
fn pairs(rule: &FilterRule, world: &World<'_>) -> Vec<(Box<str>, Box<str>)> {
    let words = rule.words();
    let nodes = world.cluster().nodes();
    let mut pairs = Vec::new();
    for key in words.iter().filter(|word| is_key(word)) {
        for value in words.iter().filter(|word| *word != key && is_value(word)) {
            pairs.push((Box::from(&**key), Box::from(&**value)));
        }
        if nodes.any_has_label(key) {
            let domains = nodes.domains(key);
            let values = domains.values_in_use().into_iter().take(LABELS_MAX);
            pairs.extend(values.map(|value| (Box::from(&**key), Box::from(value))));
        }
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
