//! What selectors said of devices, so that they are asked once about devices that are alike in what they
//! look at.

use std::ptr;

use rustc_hash::FxHashMap;

use crate::snapshot::Cluster;
use crate::snapshot::device_reads::DeviceRead;
use crate::snapshot::device_selectors::Compiled;

use super::alike::Alike;
use super::device_facts::{DeviceFacts, Seen};
use super::work::UNLIKE;

/// Of so many kinds of devices an answer is remembered.
const KINDS_MAX: usize = 4;

/// The selectors of an attempt, each once, by its text.
#[derive(Debug, Default)]
pub(super) struct Remembered<'a> {
    /// By the address of what the text compiles to. By the text itself, all of it would be hashed once
    /// more, on each node. `None`: those that are not compiled, of which none has an answer.
    places: FxHashMap<Option<usize>, usize>,
    selectors: Vec<Selector<'a>>,
}

impl<'a> Remembered<'a> {
    /// The place of a selector.
    pub(super) fn place_of(&mut self, text: &str, cluster: &'a Cluster) -> usize {
        let compiled = cluster.objects().selectors.get(text);
        let address = compiled.map(|compiled| ptr::from_ref(compiled).addr());
        *self.places.entry(address).or_insert_with(|| {
            self.selectors.push(Selector {
                compiled,
                values: Vec::new(),
                answers: Vec::new(),
                alike: Alike::default(),
            });
            self.selectors.len() - 1
        })
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Selector<'a>> {
        self.selectors.get_mut(place)
    }
}

/// A selector, and what it said of the kinds of devices that it was asked about first.
#[derive(Debug)]
pub(super) struct Selector<'a> {
    pub(super) compiled: Option<&'a Compiled>,
    /// What it looked at of each kind, one kind after another. The last one may have no answer.
    values: Vec<Seen<'a>>,
    answers: Vec<bool>,
    /// Which devices of a slice are of these kinds.
    alike: Alike<'a>,
}

impl<'a> Selector<'a> {
    /// What it said of a device that is like this one for it, and the units that finding out takes.
    pub(super) fn known(&mut self, facts: &DeviceFacts<'a>) -> (Option<bool>, u64) {
        let Some(Compiled::Ready(_, Some(reads))) = self.compiled else { return (None, 0) };
        let is_searched =
            |read: &&DeviceRead| !matches!(read, DeviceRead::Driver | DeviceRead::IsShared);
        let searched = reads.iter().filter(is_searched).count() as u64;
        if let Some(kind) = self.alike.kind_of(facts, reads) {
            return (self.answers.get(kind).copied(), 1 + searched);
        }
        let kinds = self.answers.len();
        self.values.truncate(kinds * reads.len());
        self.values.extend(reads.iter().map(|read| facts.seen(read)));
        let (known, own) = self.values.split_at(kinds * reads.len());
        let is_alike =
            |kind: &usize| known.get(kind * own.len()..(kind + 1) * own.len()) == Some(own);
        let found = (0..kinds).find(is_alike);
        if let Some(kind) = found {
            self.alike.note(kind);
        }
        // Where names have no columns, each name of the device is compared.
        let compared = match facts.row.of().names() {
            Some(_) => 0,
            None => facts.row.attributes_count() as u64,
        };
        let units = 1 + searched * (UNLIKE + compared);
        (found.and_then(|kind| self.answers.get(kind).copied()), units)
    }

    /// Remembers what it said of the device that it was asked about last.
    pub(super) fn keep(&mut self, accepted: bool) {
        let Some(Compiled::Ready(_, Some(_))) = self.compiled else { return };
        if self.answers.len() < KINDS_MAX {
            self.alike.note(self.answers.len());
            self.answers.push(accepted);
        }
    }
}
