//! Which devices an attempt has chosen so far, and for which claims.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

/// By the places of devices.
#[derive(Debug)]
pub(super) struct Marks {
    /// How many claims take it whole.
    whole: Vec<u32>,
    /// One of these claims. Only administrators take what another claim has.
    one: Vec<Option<usize>>,
    /// The others of them.
    others: FxHashSet<(usize, usize)>,
    /// What shares of it take, where there is any.
    shared: BTreeMap<usize, BTreeMap<Box<str>, i128>>,
}

impl Marks {
    pub(super) fn new(places: usize) -> Self {
        Self {
            whole: vec![0; places],
            one: vec![None; places],
            others: FxHashSet::default(),
            shared: BTreeMap::new(),
        }
    }

    pub(super) fn is_chosen(&self, place: usize) -> bool {
        self.whole.get(place).is_some_and(|claims| *claims != 0)
    }

    pub(super) fn is_chosen_for(&self, place: usize, claim: usize) -> bool {
        self.one.get(place).copied().flatten() == Some(claim)
            || self.others.contains(&(place, claim))
    }

    pub(super) fn choose(&mut self, place: usize, claim: usize) {
        if self.is_chosen_for(place, claim) {
            return;
        }
        let (Some(claims), Some(one)) = (self.whole.get_mut(place), self.one.get_mut(place)) else {
            return;
        };
        *claims += 1;
        match one {
            None => *one = Some(claim),
            Some(_) => {
                self.others.insert((place, claim));
            }
        }
    }

    pub(super) fn give_up(&mut self, place: usize, claim: usize) {
        let (Some(claims), Some(one)) = (self.whole.get_mut(place), self.one.get_mut(place)) else {
            return;
        };
        let is_given_up = match *one == Some(claim) {
            true => one.take().is_some(),
            false => self.others.remove(&(place, claim)),
        };
        if is_given_up {
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
