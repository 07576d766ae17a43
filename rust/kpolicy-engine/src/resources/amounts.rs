//! Amounts of the tracked resources.

use std::sync::Arc;

use crate::intern::{Interner, Name};
use crate::model::{Quantity, ResourceList};

use super::names;

/// Amounts by resource; `scalars` are sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Amounts {
    pub(crate) cpu_milli: i64,
    pub(crate) memory: i64,
    pub(crate) ephemeral_storage: i64,
    pub(crate) scalars: Box<[(Name, i64)]>,
}

/// What a node offers to pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allocatable {
    pub(crate) amounts: Amounts,
    /// 0 where the node does not say, so that it takes no pod.
    pub(crate) pods: i64,
}

impl Amounts {
    /// The tracked part of exact quantities, each rounded up.
    pub(crate) fn rounded<'a>(
        quantities: impl Iterator<Item = (&'a str, Quantity)>,
        names_held: &mut Interner<Arc<str>>,
    ) -> Self {
        let mut amounts = Self::default();
        let mut scalars = Vec::new();
        for (name, quantity) in quantities {
            match name {
                names::CPU => amounts.cpu_milli = quantity.millis_rounded_up(),
                names::MEMORY => amounts.memory = quantity.units_rounded_up(),
                names::EPHEMERAL_STORAGE => {
                    amounts.ephemeral_storage = quantity.units_rounded_up();
                }
                other if names::is_scalar(other) => {
                    scalars.push((names_held.name(other), quantity.units_rounded_up()));
                }
                _ => {}
            }
        }
        scalars.sort_by(|left: &(Name, i64), right| left.0.as_ref().cmp(right.0.as_ref()));
        amounts.scalars = scalars.into_boxed_slice();
        amounts
    }

    pub(crate) fn scalar(&self, name: &Name) -> i64 {
        self.scalars.iter().find(|(have, _)| have == name).map_or(0, |(_, amount)| *amount)
    }

    /// By the API's name; 0 where absent or not tracked.
    pub(crate) fn get(&self, name: &str) -> i64 {
        match name {
            names::CPU => self.cpu_milli,
            names::MEMORY => self.memory,
            names::EPHEMERAL_STORAGE => self.ephemeral_storage,
            other => self
                .scalars
                .iter()
                .find(|(have, _)| have.as_ref() == other)
                .map_or(0, |(_, amount)| *amount),
        }
    }

    /// Adds, or takes away with `sign` −1. Scalars that the other lacks stay.
    pub(crate) fn add(&mut self, other: &Self, sign: i64) {
        self.cpu_milli = self.cpu_milli.saturating_add(other.cpu_milli.saturating_mul(sign));
        self.memory = self.memory.saturating_add(other.memory.saturating_mul(sign));
        self.ephemeral_storage =
            self.ephemeral_storage.saturating_add(other.ephemeral_storage.saturating_mul(sign));
        for (name, amount) in &other.scalars {
            let amount = amount.saturating_mul(sign);
            match self.scalars.iter_mut().find(|(have, _)| have == name) {
                Some((_, have)) => *have = have.saturating_add(amount),
                None => self.insert_scalar(name.clone(), amount),
            }
        }
    }

    fn insert_scalar(&mut self, name: Name, amount: i64) {
        let mut scalars = std::mem::take(&mut self.scalars).into_vec();
        let position = scalars.partition_point(|(have, _)| have.as_ref() < name.as_ref());
        scalars.insert(position, (name, amount));
        self.scalars = scalars.into_boxed_slice();
    }
}

impl Allocatable {
    pub(crate) fn of(list: &ResourceList, names_held: &mut Interner<Arc<str>>) -> Self {
        let amounts =
            Amounts::rounded(list.iter().map(|(name, amount)| (name, *amount)), names_held);
        let pods = list.get(names::PODS).map_or(0, |quantity| quantity.units_rounded_up());
        Self { amounts, pods }
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocatable, Amounts};
    use crate::intern::Interner;
    use crate::model::{Quantity, ResourceList};

    #[test]
    fn a_node_without_pods_takes_none_and_untracked_names_are_dropped() {
        let mut names = Interner::default();
        let list: ResourceList = [
            ("cpu", Quantity::from_units(4)),
            ("storage", Quantity::from_units(9)),
            ("example.com/gpu", Quantity::from_units(2)),
        ]
        .into_iter()
        .collect();
        let offered = Allocatable::of(&list, &mut names);
        assert_eq!(offered.pods, 0);
        assert_eq!(offered.amounts.cpu_milli, 4000);
        assert_eq!(offered.amounts.get("example.com/gpu"), 2);
        assert_eq!(offered.amounts.get("storage"), 0);
    }

    #[test]
    fn taking_away_what_was_added_leaves_nothing() {
        let mut names = Interner::default();
        let gpu = names.name("example.com/gpu");
        let asked =
            Amounts { cpu_milli: 5, scalars: [(gpu.clone(), 2)].into(), ..Amounts::default() };
        let mut sum = Amounts::default();
        sum.add(&asked, 1);
        sum.add(&asked, 1);
        assert_eq!((sum.cpu_milli, sum.scalar(&gpu)), (10, 4));
        sum.add(&asked, -1);
        sum.add(&asked, -1);
        assert_eq!((sum.cpu_milli, sum.scalar(&gpu)), (0, 0));
    }
}
