//! Labels and annotations: string pairs sorted by key, looked up by binary search.

use crate::heap::HeapBytes;

/// Sorted by key, keys unique (of duplicates in the source the last one counts, as in JSON).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// The value of a key; `None` if it is absent.
    pub fn get(&self, key: &str) -> Option<&str> {
        let position = self.0.binary_search_by(|(have, _)| have.as_ref().cmp(key)).ok()?;
        self.0.get(position).map(|(_, value)| value.as_ref())
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
}
