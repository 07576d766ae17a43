//! Hands over what a text holds, object by object in the order of the text, and keeps what could not
//! be read.

use std::collections::BTreeMap;

use kpolicy_engine::model::{Event, Kind};
use kpolicy_engine::threads::is_inside;

use crate::cursor::{Cursor, Syntax};
use crate::kept::Keep;
use crate::limits::OTHER_KINDS_NAMED_MAX;
use crate::object::{self, Whole};
use crate::unreadable::{Unread, Unreadable};

/// Who gets the objects.
pub type Sink<'s> = dyn FnMut(Event) + Send + 's;

pub(crate) struct Handover<'s> {
    pub(crate) keep: Keep<'s>,
    pub(crate) left_out: LeftOut,
    /// Whether a long text is read in pieces, on all threads.
    pub(crate) is_divided: bool,
    /// How many lists were begun.
    pub(crate) walks: usize,
    sink: &'s mut Sink<'s>,
    unread: Unread,
    is_piece: bool,
    is_spoilt: bool,
}

impl<'s> Handover<'s> {
    pub(crate) fn new(keep: Keep<'s>, sink: &'s mut Sink<'s>) -> Self {
        Self { is_divided: is_inside(), is_piece: false, ..Self::of_piece(keep, sink) }
    }

    /// For a part of a text, where positions are not known: what is named by its position spoils it,
    /// and so does a list in it.
    pub(crate) fn of_piece(keep: Keep<'s>, sink: &'s mut Sink<'s>) -> Self {
        Self {
            keep,
            left_out: LeftOut::default(),
            is_divided: false,
            walks: 0,
            sink,
            unread: Unread::default(),
            is_piece: true,
            is_spoilt: false,
        }
    }

    /// The part of a text must be read again, with all that comes before it.
    pub(crate) fn is_spoilt(&self) -> bool {
        self.is_spoilt || (self.is_piece && self.left_out.is_full())
    }

    /// Whether a list may be read.
    pub(crate) fn begins_walk(&mut self) -> bool {
        self.walks += 1;
        self.is_spoilt = self.is_piece;
        !self.is_piece
    }

    /// The object at the cursor, which then stands behind it. `place` names it where it has no name.
    pub(crate) fn object(
        &mut self,
        cursor: &mut Cursor<'_>,
        kind: Kind,
        place: &dyn Fn() -> String,
    ) -> Result<(), Syntax> {
        match object::read(cursor, Whole(kind, self.keep), place)? {
            Ok(object) => self.give(Event::Present(object)),
            Err(refused) => self.refuse(refused.unreadable),
        }
        Ok(())
    }

    pub(crate) fn give(&mut self, event: Event) {
        (self.sink)(event);
    }

    pub(crate) fn refuse(&mut self, unreadable: Unreadable) {
        self.is_spoilt = self.is_piece;
        self.unread.add(unreadable);
    }

    /// What could not be read.
    pub(crate) fn finish(self) -> Unread {
        self.unread
    }
}

/// How many objects there are of each kind that no rule reads; the first kinds only.
#[derive(Default)]
pub(crate) struct LeftOut {
    by_kind: BTreeMap<String, usize>,
}

impl LeftOut {
    pub(crate) fn add(&mut self, kind: &str) {
        if let Some(count) = self.by_kind.get_mut(kind) {
            *count += 1;
        } else if !self.is_full() {
            self.by_kind.insert(kind.to_owned(), 1);
        }
    }

    fn is_full(&self) -> bool {
        self.by_kind.len() == OTHER_KINDS_NAMED_MAX
    }

    /// Adds what was counted of a part of the text; false where it would have to be known in which
    /// order.
    pub(crate) fn takes(&mut self, part: Self) -> bool {
        let new = part.by_kind.keys().filter(|kind| !self.by_kind.contains_key(*kind)).count();
        if self.by_kind.len() + new > OTHER_KINDS_NAMED_MAX {
            return false;
        }
        for (kind, count) in part.by_kind {
            *self.by_kind.entry(kind).or_default() += count;
        }
        true
    }

    /// The counts with their kinds, as people read them.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect()
    }
}
