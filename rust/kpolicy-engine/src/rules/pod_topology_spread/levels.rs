//! Counts how many domains have how many pods, so that the minimum is known after each change.

use std::collections::BTreeMap;

use crate::heap::HeapBytes;

/// Numbers of pods, each with the number of domains that have so many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Levels {
    domains_at: BTreeMap<i64, usize>,
    domains: usize,
}

impl Levels {
    pub(super) fn of(counts: impl Iterator<Item = i64>) -> Self {
        let mut sorted: Vec<i64> = counts.collect();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|first, second| first == second);
        let domains_at = runs.filter_map(|run| Some((*run.first()?, run.len()))).collect();
        Self { domains_at, domains: sorted.len() }
    }

    /// How many domains there are.
    pub(super) fn domains(&self) -> usize {
        self.domains
    }

    /// The least number of pods; 0 without domains.
    pub(super) fn lowest(&self) -> i64 {
        self.domains_at.keys().next().copied().unwrap_or(0)
    }

    /// The least number over all domains but some, which have these numbers here.
    pub(super) fn lowest_without(&self, left_out: &[i64]) -> Option<i64> {
        let remains = |(pods, domains): (&i64, &usize)| {
            let gone = left_out.iter().filter(|other| *other == pods).count();
            (*domains > gone).then_some(*pods)
        };
        self.domains_at.iter().find_map(remains)
    }

    /// A domain has another number of pods.
    pub(super) fn shift(&mut self, from: i64, to: i64) {
        if let Some(domains) = self.domains_at.get_mut(&from) {
            *domains = domains.saturating_sub(1);
            if *domains == 0 {
                self.domains_at.remove(&from);
            }
        }
        *self.domains_at.entry(to).or_default() += 1;
    }
}

impl HeapBytes for Levels {
    fn heap_bytes(&self) -> usize {
        self.domains_at.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::Levels;

    #[test]
    fn the_least_follows_every_domain() {
        let mut levels = Levels::of([2, 0, 2].into_iter());
        assert_eq!((levels.domains(), levels.lowest()), (3, 0));
        levels.shift(0, 1);
        levels.shift(1, 2);
        assert_eq!(levels.lowest(), 2);
        levels.shift(2, 1);
        assert_eq!(levels, Levels::of([1, 2, 2].into_iter()));
        assert_eq!(Levels::default().lowest(), 0);
    }

    #[test]
    fn domains_can_be_left_out() {
        let levels = Levels::of([1, 1, 4].into_iter());
        assert_eq!(levels.lowest_without(&[1]), Some(1));
        assert_eq!(levels.lowest_without(&[1, 1]), Some(4));
        assert_eq!(levels.lowest_without(&[1, 4, 1]), None);
    }
}
