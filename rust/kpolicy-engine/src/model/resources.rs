//! Resource lists: exact quantities by resource name, sorted by name.

use super::quantity::Quantity;

/// Amounts by resource name; of a name that is listed twice the last amount counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ResourceList(Box<[(Box<str>, Quantity)]>);

impl ResourceList {
    /// The amount of a resource; `None` if it is not listed.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        let position = self.0.binary_search_by(|(have, _)| have.as_ref().cmp(name)).ok()?;
        self.0.get(position).map(|(_, quantity)| quantity)
    }

    /// Names and amounts in the order of names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, quantity)| (name.as_ref(), quantity))
    }

    /// Whether no resource is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<Box<str>>> FromIterator<(K, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (K, Quantity)>>(pairs: I) -> Self {
        let mut sorted: Vec<(Box<str>, Quantity)> =
            pairs.into_iter().map(|(name, quantity)| (name.into(), quantity)).collect();
        sorted.sort_by(|left, right| left.0.cmp(&right.0));
        sorted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = next.1;
            }
            same
        });
        Self(sorted.into_boxed_slice())
    }
}
