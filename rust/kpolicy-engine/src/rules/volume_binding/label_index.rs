//! An index of items by a label that they require of a node, so that few of many items are checked
//! for a node.
//!
//! An item without a requirement that can be indexed is offered to every node. An offered item is
//! still checked.

use rustc_hash::FxHashMap;

use crate::heap::HeapBytes;
use crate::model::{Labels, Requirement, SelectorOperator};

/// Items in ascending order.
type ByValue = FxHashMap<Box<str>, Vec<usize>>;

#[derive(Debug, Clone, Default)]
pub(super) struct LabelIndex {
    anywhere: Vec<usize>,
    by_key: Vec<(Box<str>, ByValue)>,
}

impl LabelIndex {
    /// For each item all of what it asks; one of these is taken.
    pub(super) fn of<'a>(items: impl Iterator<Item = &'a [Requirement]>) -> Self {
        let mut index = Self::default();
        for (position, requirements) in items.enumerate() {
            let listed = requirements.iter().find(|each| each.operator == SelectorOperator::In);
            match listed {
                None => index.anywhere.push(position),
                Some(listed) => index.list(position, listed),
            }
        }
        index
    }

    fn list(&mut self, position: usize, requirement: &Requirement) {
        let key = requirement.key.as_ref();
        let known = self.by_key.iter().position(|(have, _)| **have == *key);
        let place = known.unwrap_or_else(|| {
            self.by_key.push((key.into(), ByValue::default()));
            self.by_key.len() - 1
        });
        let Some((_, by_value)) = self.by_key.get_mut(place) else { return };
        for value in &requirement.values {
            by_value.entry(value.clone()).or_default().push(position);
        }
    }

    /// The first item offered to a node with these labels that is fit.
    pub(super) fn find(&self, labels: &Labels, is_fit: impl Fn(usize) -> bool) -> Option<usize> {
        let listed = self
            .by_key
            .iter()
            .filter_map(|(key, by_value)| by_value.get(labels.get(key)?).map(Vec::as_slice));
        let lists = listed.chain([self.anywhere.as_slice()]);
        lists.filter_map(|list| list.iter().copied().find(|item| is_fit(*item))).min()
    }
}

impl HeapBytes for LabelIndex {
    fn heap_bytes(&self) -> usize {
        self.anywhere.heap_bytes() + self.by_key.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::LabelIndex;
    use crate::model::{Labels, Requirement, SelectorOperator};

    fn requirement(key: &str, operator: SelectorOperator, values: &[&str]) -> Requirement {
        let values = values.iter().map(|value| (*value).into()).collect();
        Requirement { key: key.into(), operator, values }
    }

    #[test]
    fn the_first_fit_item_is_found_in_whatever_list_it_is() {
        use SelectorOperator::{Exists, In};
        let items = [
            vec![requirement("host", In, &["a"])],
            vec![requirement("disk", Exists, &[])],
            vec![requirement("disk", Exists, &[]), requirement("zone", In, &["x", "y"])],
            vec![],
            vec![requirement("host", In, &["a"])],
        ];
        let index = LabelIndex::of(items.iter().map(Vec::as_slice));
        let labels = |pairs: &[(&str, &str)]| -> Labels { pairs.iter().copied().collect() };
        let offered = |labels: &Labels| -> Vec<usize> {
            (0..items.len())
                .filter(|item| index.find(labels, |own| own == *item).is_some())
                .collect()
        };
        assert_eq!(offered(&labels(&[("host", "a"), ("zone", "y")])), [0, 1, 2, 3, 4]);
        assert_eq!(offered(&labels(&[("host", "b"), ("zone", "z")])), [1, 3]);
        assert_eq!(index.find(&labels(&[("host", "a")]), |item| item != 0), Some(1));
        assert_eq!(index.find(&labels(&[("host", "a")]), |item| item > 3), Some(4));
    }
}
