//! Room for what one evaluation keeps.
//!
//! It grows with what is evaluated. Whoever evaluates parts of a large expression many times uses one
//! again, so that a small part takes no longer than it would by itself.

use crate::value::{Evaluated, Value};

/// The values of slots and of shared nodes in one evaluation.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// A slot is set before it is read.
    slots: Vec<Evaluated>,
    memos: Vec<Option<Evaluated>>,
    /// The places of `memos` that are taken.
    taken: Vec<u32>,
}

impl Room {
    /// Before another evaluation.
    pub(crate) fn forget(&mut self) {
        for memo in self.taken.drain(..) {
            if let Some(place) = self.memos.get_mut(memo as usize) {
                *place = None;
            }
        }
    }

    pub(crate) fn memo(&self, memo: u32) -> Option<&Evaluated> {
        self.memos.get(memo as usize)?.as_ref()
    }

    pub(crate) fn keep(&mut self, memo: u32, outcome: Evaluated) {
        let index = memo as usize;
        if self.memos.len() <= index {
            self.memos.resize(index + 1, None);
        }
        if let Some(place) = self.memos.get_mut(index) {
            *place = Some(outcome);
            self.taken.push(memo);
        }
    }

    pub(crate) fn slot(&self, slot: usize) -> Option<&Evaluated> {
        self.slots.get(slot)
    }

    pub(crate) fn set(&mut self, slot: usize, value: Evaluated) {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Ok(Value::Null));
        }
        if let Some(place) = self.slots.get_mut(slot) {
            *place = value;
        }
    }
}
