//! Affinity terms filed by the namespace and the label that they ask for.
//!
//! A term is filed under one value of a label that its selector insists on, so that a pod finds the
//! terms that may mean it without looking at the others. Each is found at most once for a pod.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{PodAffinityTerm, Requirement, Selector, SelectorOperator};
use crate::snapshot::pod::Identity;

/// A term may be filed in each namespace under each value, if these are not more together.
const PLACES_MAX: usize = 64;

/// Where a term is among all that are kept.
pub(super) type TermId = usize;

/// How much is found for a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) terms: usize,
    /// What is compared of their selectors and namespaces.
    pub(crate) comparisons: usize,
    /// Rows of pods that carry them, those of each term counted.
    pub(crate) rows: usize,
}

/// Terms that are found together.
#[derive(Debug, Default)]
struct Terms {
    ids: BTreeSet<TermId>,
    found: Found,
}

/// The terms that ask for pods of some namespaces.
#[derive(Debug, Default)]
struct ByLabel {
    /// By key and value.
    by_pair: FxHashMap<Box<str>, FxHashMap<Box<str>, Terms>>,
    /// Those that insist on no value of any label.
    others: Terms,
}

#[derive(Debug, Default)]
pub(super) struct FiledTerms {
    by_namespace: FxHashMap<Box<str>, ByLabel>,
    /// Those that select namespaces, or name many.
    anywhere: ByLabel,
}

impl FiledTerms {
    pub(super) fn add(&mut self, id: TermId, term: &PodAffinityTerm) {
        let comparisons = comparisons_of(term);
        self.change(term, |terms| {
            terms.ids.insert(id);
            terms.found.terms += 1;
            terms.found.comparisons += comparisons;
        });
    }

    pub(super) fn remove(&mut self, id: TermId, term: &PodAffinityTerm) {
        let comparisons = comparisons_of(term);
        self.change(term, |terms| {
            terms.ids.remove(&id);
            terms.found.terms -= 1;
            terms.found.comparisons -= comparisons;
        });
    }

    /// One more row of pods carries the term, or one less.
    pub(super) fn count_row(&mut self, term: &PodAffinityTerm, is_added: bool) {
        self.change(term, |terms| {
            let rows = &mut terms.found.rows;
            *rows = if is_added { *rows + 1 } else { *rows - 1 };
        });
    }

    /// Each term that may mean a pod.
    pub(super) fn about<'a>(&'a self, pod: &'a Identity) -> impl Iterator<Item = TermId> + 'a {
        self.places_of(pod).flat_map(|terms| terms.ids.iter().copied())
    }

    /// How much `FiledTerms::about` finds.
    pub(super) fn found(&self, pod: &Identity) -> Found {
        self.places_of(pod).fold(Found::default(), |sum, Terms { found, .. }| Found {
            terms: sum.terms + found.terms,
            comparisons: sum.comparisons + found.comparisons,
            rows: sum.rows + found.rows,
        })
    }

    fn places_of<'a>(&'a self, pod: &'a Identity) -> impl Iterator<Item = &'a Terms> {
        let named = self.by_namespace.get(&**pod.namespace);
        named.into_iter().chain([&self.anywhere]).flat_map(|labels| {
            let of_pair = |(key, value): (&str, &str)| labels.by_pair.get(key)?.get(value);
            pod.labels.iter().filter_map(of_pair).chain([&labels.others])
        })
    }

    /// Changes each place where the term is filed; those that become empty go.
    fn change(&mut self, term: &PodAffinityTerm, mut change: impl FnMut(&mut Terms)) {
        for_each_place_of(term, |place| {
            let Some(namespace) = place.namespace else {
                self.anywhere.change(place.pair, &mut change);
                return;
            };
            let labels = self.by_namespace.entry(namespace.into()).or_default();
            labels.change(place.pair, &mut change);
            if labels.is_empty() {
                self.by_namespace.remove(namespace);
            }
        });
    }
}

impl ByLabel {
    fn change(&mut self, pair: Option<(&str, &str)>, change: impl FnOnce(&mut Terms)) {
        let Some((key, value)) = pair else {
            change(&mut self.others);
            return;
        };
        let by_value = self.by_pair.entry(key.into()).or_default();
        let terms = by_value.entry(value.into()).or_default();
        change(terms);
        if terms.ids.is_empty() {
            by_value.remove(value);
            if by_value.is_empty() {
                self.by_pair.remove(key);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.by_pair.is_empty() && self.others.ids.is_empty()
    }
}

/// What comparing a pod with a term takes: a requirement is one comparison, as is halving a list.
fn comparisons_of(term: &PodAffinityTerm) -> usize {
    let requirements =
        |selector: Option<&Selector>| selector.map_or(0, |selector| selector.requirements.len());
    let halvings = (usize::BITS - term.namespaces.len().leading_zeros()) as usize;
    requirements(term.label_selector.as_ref())
        + requirements(term.namespace_selector.as_ref())
        + halvings
}

/// Where a term is filed.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    namespace: Option<&'a str>,
    pair: Option<(&'a str, &'a str)>,
}

fn for_each_place_of<'a>(term: &'a PodAffinityTerm, mut place: impl FnMut(Place<'a>)) {
    // Without a selector it means no pod.
    let Some(selector) = &term.label_selector else { return };
    let insists = |requirement: &&Requirement| requirement.operator == SelectorOperator::In;
    let narrowest =
        selector.requirements.iter().filter(insists).min_by_key(|needed| needed.values.len());
    let mut in_namespace = |namespace: Option<&'a str>| match narrowest {
        None => place(Place { namespace, pair: None }),
        Some(needed) => needed
            .values
            .iter()
            .for_each(|value| place(Place { namespace, pair: Some((&needed.key, value)) })),
    };
    let values = narrowest.map_or(1, |needed| needed.values.len());
    let are_many = term.namespaces.len() > 1 && term.namespaces.len() * values > PLACES_MAX;
    if term.namespace_selector.is_some() || are_many {
        in_namespace(None);
    } else {
        term.namespaces.iter().for_each(|name| in_namespace(Some(name)));
    }
}
