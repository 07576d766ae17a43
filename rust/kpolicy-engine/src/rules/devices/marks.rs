//! Which devices an attempt has chosen so far, and for which claims.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

/// By the places of devices.
#[derive(Debug)]
pub(super) struct Marks {
    /// How many claims take it whole.
    whole: Vec<u32>,
    /// Which claims these are.
    claims: FxHashSet<(usize, usize)>,
    /// What shares of it take, where there is any.
    shared: BTreeMap<usize, BTreeMap<Box<str>, i128>>,
}

impl Marks {
    pub(super) fn new(places: usize) -> Self {
        Self { whole: vec![0; places], claims: FxHashSet::default(), shared: BTreeMap::new() }
    }

    pub(super) fn is_chosen(&self, place: usize) -> bool {
        self.whole.get(place).is_some_and(|claims| *claims != 0)
    }

    pub(super) fn is_chosen_for(&self, place: usize, claim: usize) -> bool {
        self.claims.contains(&(place, claim))
    }

    pub(super) fn choose(&mut self, place: usize, claim: usize) {
        if let Some(claims) = self.whole.get_mut(place)
            && self.claims.insert((place, claim))
        {
            *claims += 1;
        }
    }

    pub(super) fn give_up(&mut self, place: usize, claim: usize) {
        if let Some(claims) = self.whole.get_mut(place)
            && self.claims.remove(&(place, claim))
        {
            *claims -= 1;
        }
    }

    /// What shares of a device take.
    pub(super) fn shares(&self, place: usize) -> Option<&BTreeMap<Box<str>, i128>> {
        self.shared.get(&place)
    }

    pub(super) fn share<'a>(
        &mut self,
        place: usize,
        consumed: impl Iterator<Item = (&'a str, i128)>,
    ) {
        let shares = self.shared.entry(place).or_default();
        for (name, amount) in consumed {
            *shares.entry(name.into()).or_default() += amount;
        }
    }

    pub(super) fn unshare<'a>(
        &mut self,
        place: usize,
        consumed: impl Iterator<Item = (&'a str, i128)>,
    ) {
        let Some(shares) = self.shared.get_mut(&place) else { return };
        for (name, amount) in consumed {
            *shares.entry(name.into()).or_default() -= amount;
        }
        if shares.values().all(|amount| *amount == 0) {
            self.shared.remove(&place);
        }
    }
}
