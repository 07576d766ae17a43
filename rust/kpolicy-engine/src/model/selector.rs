//! Label selectors as the API writes them: a conjunction of requirements.

use crate::heap::HeapBytes;

use super::labels::Labels;

/// `None` where the API has no selector at all (it matches nothing); an empty list matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// All must hold.
    pub requirements: Box<[Requirement]>,
}

/// A condition on the value of one label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label's key.
    pub key: Box<str>,
    /// How its value is compared.
    pub operator: SelectorOperator,
    /// Sorted and unique, except for `Gt` and `Lt`, which have one value.
    pub values: Box<[Box<str>]>,
}

/// `operator` of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectorOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// Node affinity only: both sides as 64-bit integers.
    Gt,
    /// As `Gt`, for less.
    Lt,
    /// An operator that the API does not know: the requirement cannot be parsed.
    Invalid,
}

impl HeapBytes for Requirement {
    fn heap_bytes(&self) -> usize {
        self.key.heap_bytes() + self.values.heap_bytes()
    }
}

impl HeapBytes for Selector {
    fn heap_bytes(&self) -> usize {
        self.requirements.heap_bytes()
    }
}

impl Requirement {
    /// Whether labels meet the requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.accepts(labels.get(&self.key))
    }

    /// Whether this value of the key will do; `None` where the key is absent.
    pub fn accepts(&self, value: Option<&str>) -> bool {
        match self.operator {
            SelectorOperator::In => value.is_some_and(|have| self.has(have)),
            SelectorOperator::NotIn => value.is_none_or(|have| !self.has(have)),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
            SelectorOperator::Gt => self.compares(value, |have, bound| have > bound),
            SelectorOperator::Lt => self.compares(value, |have, bound| have < bound),
            SelectorOperator::Invalid => false,
        }
    }

    fn has(&self, value: &str) -> bool {
        self.values.binary_search_by(|have| have.as_ref().cmp(value)).is_ok()
    }

    fn compares(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let [bound] = self.values.as_ref() else { return false };
        match (value.and_then(|have| have.parse().ok()), bound.parse().ok()) {
            (Some(have), Some(bound)) => holds(have, bound),
            _ => false,
        }
    }
}

impl Selector {
    /// Whether labels meet all requirements.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether it has no requirements, and so matches any labels.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }
}
