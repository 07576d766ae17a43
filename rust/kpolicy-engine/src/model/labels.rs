//! Labels and annotations: string pairs sorted by key, looked up by binary search.

use crate::heap::HeapBytes;

/// Sorted by key, keys unique (of duplicates in the source the last one counts, as in JSON).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// The value of a key; `None` if it is absent.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.find(key).and_then(|place| self.value(place))
    }

    /// As [`Labels::get`], for the labels of many objects one after the other: most have a key in the same place.
    /// That is looked at first, and a processor that expects it there reads the next object meanwhile.
    pub(crate) fn get_near(&self, key: &str, place: &mut usize) -> Option<&str> {
        let is_there = self.0.get(*place).is_some_and(|(have, _)| have.as_ref() == key);
        if !is_there {
            *place = self.find(key)?;
        }
        self.value(*place)
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.0.binary_search_by(|(have, _)| have.as_ref().cmp(key)).ok()
    }

    fn value(&self, place: usize) -> Option<&str> {
        self.0.get(place).map(|(_, value)| value.as_ref())
    }

    /// Keys and values in the order of keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl HeapBytes for Labels {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut sorted: Vec<(Box<str>, Box<str>)> =
            pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        sorted.sort_by(|left, right| left.0.cmp(&right.0));
        // A stable sort keeps source order among equals, so that the last one is kept here.
        sorted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                std::mem::swap(kept, next);
            }
            same
        });
        Self(sorted.into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::Labels;

    #[test]
    fn the_last_of_duplicates_counts() {
        let labels: Labels = [("b", "1"), ("a", "1"), ("b", "2")].into_iter().collect();
        assert_eq!(labels.get("b"), Some("2"));
        assert_eq!(labels.get("c"), None);
        assert_eq!(labels.len(), 2);
    }

    #[test]
    fn a_key_is_found_wherever_it_was_in_the_labels_before() {
        let all = [vec!["a", "k"], vec!["b", "k"], vec!["k"], vec![], vec!["a"], vec!["k", "z"]];
        let all = all.map(|keys| keys.into_iter().map(|key| (key, key)).collect::<Labels>());
        let mut place = 7;
        let found = all.each_ref().map(|labels| labels.get_near("k", &mut place));
        assert_eq!(found, [Some("k"), Some("k"), Some("k"), None, None, Some("k")]);
    }
}
