//! Affinity terms of pods on nodes, found by the namespace and the label that they ask for.
//!
//! A term is filed under one value of a label that its selector insists on, so that a pod finds the
//! terms that may mean it without looking at the others. Each term is found at most once for a pod.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{PodAffinityTerm, Requirement, SelectorOperator};
use crate::snapshot::pod::{Identity, PodAffinity};

use super::rows::RowId;
use super::{Asking, Row};

/// A term may be filed in each namespace under each value, if these are not more together.
const PLACES_MAX: usize = 64;

/// In which list of an affinity a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TermKind {
    Required,
    Preferred,
    AntiRequired,
    AntiPreferred,
}

/// A term of pods on nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskingTerm<'a> {
    pub(crate) row: &'a Row<Asking>,
    pub(crate) kind: TermKind,
    pub(crate) term: &'a PodAffinityTerm,
    /// 0 where it is required.
    pub(crate) weight: i32,
}

impl<'a> AskingTerm<'a> {
    pub(super) fn of(row: &'a Row<Asking>, kind: TermKind, position: usize) -> Option<Self> {
        let affinity = &row.what.affinity;
        let (weight, term) = match kind {
            TermKind::Required => (0, affinity.required.get(position)?),
            TermKind::AntiRequired => (0, affinity.anti_required.get(position)?),
            TermKind::Preferred => {
                affinity.preferred.get(position).map(|(weight, term)| (*weight, term))?
            }
            TermKind::AntiPreferred => {
                affinity.anti_preferred.get(position).map(|(weight, term)| (*weight, term))?
            }
        };
        Some(Self { row, kind, term, weight })
    }
}

/// Terms by their row, their list and their position in it.
type Terms = BTreeSet<(RowId, TermKind, usize)>;

/// The terms that ask for pods of some namespaces.
#[derive(Debug, Default)]
struct ByLabel {
    /// By key and value.
    by_pair: FxHashMap<Box<str>, FxHashMap<Box<str>, Terms>>,
    /// Those that insist on no value of any label.
    others: Terms,
}

#[derive(Debug, Default)]
pub(super) struct TermIndex {
    by_namespace: FxHashMap<Box<str>, ByLabel>,
    /// Those that select namespaces, or name many.
    anywhere: ByLabel,
}

impl TermIndex {
    pub(super) fn add(&mut self, row: RowId, namespace: &str, affinity: &PodAffinity) {
        for_each_place(namespace, affinity, |kind, position, place| {
            let labels = match place.namespace {
                Some(name) => self.by_namespace.entry(name.into()).or_default(),
                None => &mut self.anywhere,
            };
            let terms = match place.pair {
                Some((key, value)) => {
                    labels.by_pair.entry(key.into()).or_default().entry(value.into()).or_default()
                }
                None => &mut labels.others,
            };
            terms.insert((row, kind, position));
        });
    }

    pub(super) fn remove(&mut self, row: RowId, namespace: &str, affinity: &PodAffinity) {
        for_each_place(namespace, affinity, |kind, position, place| {
            let labels = match place.namespace {
                Some(name) => self.by_namespace.get_mut(name),
                None => Some(&mut self.anywhere),
            };
            let Some(labels) = labels else { return };
            labels.remove((row, kind, position), place.pair);
            if let Some(name) = place.namespace
                && labels.is_empty()
            {
                self.by_namespace.remove(name);
            }
        });
    }

    /// Row, list and position of each term that may mean a pod.
    pub(super) fn about(&self, pod: &Identity, mut found: impl FnMut(RowId, TermKind, usize)) {
        let named = self.by_namespace.get(&**pod.namespace);
        for labels in named.into_iter().chain([&self.anywhere]) {
            let of_pair = |(key, value): (&str, &str)| labels.by_pair.get(key)?.get(value);
            let terms = pod.labels.iter().filter_map(of_pair).chain([&labels.others]);
            terms.flatten().for_each(|(row, kind, position)| found(*row, *kind, *position));
        }
    }
}

impl ByLabel {
    fn remove(&mut self, term: (RowId, TermKind, usize), pair: Option<(&str, &str)>) {
        let Some((key, value)) = pair else {
            self.others.remove(&term);
            return;
        };
        let Some(by_value) = self.by_pair.get_mut(key) else { return };
        if let Some(terms) = by_value.get_mut(value) {
            terms.remove(&term);
            if terms.is_empty() {
                by_value.remove(value);
            }
        }
        if by_value.is_empty() {
            self.by_pair.remove(key);
        }
    }

    fn is_empty(&self) -> bool {
        self.by_pair.is_empty() && self.others.is_empty()
    }
}

/// Where a term is filed.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    namespace: Option<&'a str>,
    pair: Option<(&'a str, &'a str)>,
}

/// Calls `place` for each place of each term.
fn for_each_place<'a>(
    owner: &'a str,
    affinity: &'a PodAffinity,
    mut place: impl FnMut(TermKind, usize, Place<'a>),
) {
    let plain = |terms: &'a [PodAffinityTerm]| terms.iter().enumerate();
    let weighted =
        |terms: &'a [(i32, PodAffinityTerm)]| terms.iter().map(|(_, term)| term).enumerate();
    let mut file = |kind: TermKind, position: usize, term: &'a PodAffinityTerm| {
        for_each_place_of(owner, term, |at| place(kind, position, at));
    };
    plain(&affinity.required).for_each(|(at, term)| file(TermKind::Required, at, term));
    weighted(&affinity.preferred).for_each(|(at, term)| file(TermKind::Preferred, at, term));
    plain(&affinity.anti_required).for_each(|(at, term)| file(TermKind::AntiRequired, at, term));
    weighted(&affinity.anti_preferred)
        .for_each(|(at, term)| file(TermKind::AntiPreferred, at, term));
}

fn for_each_place_of<'a>(
    owner: &'a str,
    term: &'a PodAffinityTerm,
    mut place: impl FnMut(Place<'a>),
) {
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
    if term.namespace_selector.is_some() {
        in_namespace(None);
    } else if term.namespaces.is_empty() {
        in_namespace(Some(owner));
    } else if term.namespaces.len() > 1 && term.namespaces.len() * values > PLACES_MAX {
        in_namespace(None);
    } else {
        term.namespaces.iter().for_each(|name| in_namespace(Some(name)));
    }
}
