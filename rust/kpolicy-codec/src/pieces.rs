//! Walks over the items of an array, or over documents one after another, in their order.
//!
//! On several threads ([`kpolicy_engine::threads`]) a long text is read in pieces side by side. Where
//! the first object of a piece begins is guessed: it is written like the second object of the text. A
//! piece counts only if the piece before it ends exactly there, and otherwise it is read again. So a
//! wrong guess costs time and changes nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use kpolicy_engine::model::Event;
use kpolicy_engine::threads::each;

use crate::cursor::{Cursor, Members, Syntax};
use crate::handover::{Handover, LeftOut};
use crate::kept::Keep;
use crate::limits::{OPENING_BYTES_MAX, PIECE_BYTES, PIECES_AHEAD_MAX};

/// Reads what stands at the cursor; its position is counted from where the walk began.
pub(crate) type Member<'r, 't> =
    dyn Fn(&mut Cursor<'t>, usize, &mut Handover<'_>) -> Result<(), Syntax> + Sync + 'r;

pub(crate) struct Walk<'t> {
    pub(crate) cursor: Cursor<'t>,
    /// How many members were read.
    pub(crate) position: usize,
    members: Members,
}

impl<'t> Walk<'t> {
    pub(crate) fn new(cursor: Cursor<'t>, members: Members) -> Self {
        Self { cursor, position: 0, members }
    }

    /// Reads every member.
    pub(crate) fn read(
        &mut self,
        to: &mut Handover<'_>,
        member: &Member<'_, 't>,
    ) -> Result<(), Syntax> {
        if !to.begins_walk() {
            return Err(self.cursor.syntax("a list inside a piece"));
        }
        if !self.step()? {
            return Ok(());
        }
        if to.is_divided && self.is_long() {
            let (walks, from) = (to.walks, self.cursor.clone());
            member(&mut self.cursor, self.position, to)?;
            self.position += 1;
            let end = self.cursor.at();
            if !self.step()? {
                return Ok(());
            }
            // A member that is a list is divided itself.
            if to.walks == walks
                && self.is_long()
                && let Some(opening) = Opening::between(&from, end, &self.cursor)
            {
                return self.divided(to, member, &opening);
            }
        }
        self.until(usize::MAX, to, member).map(|_| ())
    }

    /// Whether there is another member, which the cursor then stands at.
    fn step(&mut self) -> Result<bool, Syntax> {
        let is_there = self.members.next(&mut self.cursor)?;
        self.cursor.peek();
        Ok(is_there)
    }

    fn is_long(&self) -> bool {
        self.cursor.rest().len() >= 2 * PIECE_BYTES
    }

    /// Reads the members that begin before `end`, of which the cursor stands at the first. Whether
    /// that was all.
    fn until(
        &mut self,
        end: usize,
        to: &mut Handover<'_>,
        member: &Member<'_, 't>,
    ) -> Result<bool, Syntax> {
        while self.cursor.at() < end && !to.is_spoilt() {
            member(&mut self.cursor, self.position, to)?;
            self.position += 1;
            if !self.step()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn divided(
        &mut self,
        to: &mut Handover<'_>,
        member: &Member<'_, 't>,
        opening: &Opening<'t>,
    ) -> Result<(), Syntax> {
        let (first, keep) = (Self { cursor: self.cursor.clone(), ..*self }, to.keep);
        let begin = first.cursor.at();
        let mut froms = (begin..begin + first.cursor.rest().len()).step_by(PIECE_BYTES);
        // What is read again is read by one thread.
        to.is_divided = false;
        let read = Mutex::new(BTreeMap::new());
        let head = Mutex::new(Head { from: begin, result: Ok(false), walk: self, to });
        let caller = thread::current().id();
        while matches!(lock(&head).result, Ok(false)) {
            let mut stretch: Vec<usize> = froms.by_ref().take(PIECES_AHEAD_MAX).collect();
            if stretch.is_empty() {
                break;
            }
            each(
                &mut stretch,
                || (),
                |(), from| {
                    // Only the caller may wait for the engine: another thread may be the one that
                    // the engine waits for.
                    if thread::current().id() == caller {
                        lock(&head).take_all(&read, member);
                    }
                    let piece = first.piece(*from, opening, keep, member);
                    lock(&read).insert(*from, piece);
                },
            );
        }
        let mut head = head.into_inner().unwrap_or_else(PoisonError::into_inner);
        head.take_all(&read, member);
        head.to.is_divided = true;
        match head.result? {
            true => Ok(()),
            false => head.walk.until(usize::MAX, head.to, member).map(|_| ()),
        }
    }

    /// The members that begin in a piece of the text, where it is not to be read in its turn.
    fn piece(
        &self,
        from: usize,
        opening: &Opening<'t>,
        keep: Keep<'_>,
        member: &Member<'_, 't>,
    ) -> Option<Piece<'t>> {
        let cursor = match from == self.cursor.at() {
            true => self.cursor.clone(),
            false => opening.find(&self.cursor, from)?,
        };
        let begin = cursor.at();
        let mut walk = Self { cursor, position: 0, members: self.members };
        let mut events = Vec::new();
        let mut sink = |event| events.push(event);
        let mut to = Handover::of_piece(keep, &mut sink);
        let is_last = walk.until(from + PIECE_BYTES, &mut to, member).ok()?;
        let left_out = (!to.is_spoilt()).then_some(to.left_out)?;
        Some(Piece { begin, is_last, walk, events, left_out })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pieces by where they begin in the text; `None`: to be read in its turn.
type Pieces<'t> = BTreeMap<usize, Option<Piece<'t>>>;

/// How far the pieces are handed over.
struct Head<'w, 't, 's, 'k> {
    /// Where the next one begins.
    from: usize,
    /// Whether that was all.
    result: Result<bool, Syntax>,
    walk: &'w mut Walk<'t>,
    to: &'s mut Handover<'k>,
}

impl<'t> Head<'_, 't, '_, '_> {
    /// Hands over the pieces that were read and whose turn it is.
    fn take_all(&mut self, read: &Mutex<Pieces<'t>>, member: &Member<'_, 't>) {
        while matches!(self.result, Ok(false)) {
            let Some(piece) = lock(read).remove(&self.from) else { return };
            self.result = self.take(piece, member);
            self.from += PIECE_BYTES;
        }
    }

    /// Whether that was all.
    fn take(&mut self, piece: Option<Piece<'t>>, member: &Member<'_, 't>) -> Result<bool, Syntax> {
        if let Some(piece) = piece
            && piece.begin == self.walk.cursor.at()
            && self.to.left_out.takes(piece.left_out)
        {
            piece.events.into_iter().for_each(|event| self.to.give(event));
            self.walk.cursor = piece.walk.cursor;
            self.walk.position += piece.walk.position;
            return Ok(piece.is_last);
        }
        self.walk.until(self.from + PIECE_BYTES, self.to, member)
    }
}

/// What was read of a piece of the text, before it is known whether that is right.
struct Piece<'t> {
    /// Where the first member was found.
    begin: usize,
    /// Whether no other member follows.
    is_last: bool,
    /// As it stands behind the members.
    walk: Walk<'t>,
    events: Vec<Event>,
    left_out: LeftOut,
}

/// How a member is written up to its first key, with the end of the member before it.
struct Opening<'t> {
    text: &'t str,
    /// Where in this the member begins.
    begin: usize,
}

impl<'t> Opening<'t> {
    /// `end`: where the member before it ends; `next` stands at the member. `None` where they are not
    /// two objects.
    fn between(from: &Cursor<'t>, end: usize, next: &Cursor<'t>) -> Option<Self> {
        let last = end.checked_sub(1)?;
        let mut cursor = next.clone();
        cursor.object().ok()?.next_key(&mut cursor).ok()??;
        let text = from.text().get(last..cursor.at())?;
        let is_plain = text.starts_with('}') && text.len() <= OPENING_BYTES_MAX;
        is_plain.then(|| Self { text, begin: next.at() - last })
    }

    /// At the first member that seems to begin in the piece from `from` on.
    fn find(&self, cursor: &Cursor<'t>, from: usize) -> Option<Cursor<'t>> {
        let text = cursor.text();
        let boundary =
            |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        // A character takes at most four bytes.
        let end = boundary(from + PIECE_BYTES + self.text.len() + 3)?;
        let from = boundary(from.saturating_sub(self.begin))?;
        let found = text.get(from..end)?.find(self.text)?;
        Some(cursor.moved_to(from + found + self.begin))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use kpolicy_engine::model::{Event, Kind};
    use kpolicy_engine::threads::Threads;

    use super::{Opening, Walk};
    use crate::cursor::{Cursor, Members};
    use crate::handover::Handover;
    use crate::limits::PIECE_BYTES;
    use crate::{Keep, list};

    fn pods(count: usize) -> Vec<String> {
        let pod = |index| format!(r#"{{"metadata":{{"name":"p{index}"}},"é":[{{}},{{}}]}}"#);
        (0..count).map(pod).collect()
    }

    /// How many pieces of a text there are, each of which counts as it was guessed.
    fn guessed(text: &str, members: impl Fn(&mut Cursor<'_>) -> Members) -> usize {
        let mut cursor = Cursor::new(text);
        let members = members(&mut cursor);
        let mut sink = drop;
        let mut to = Handover::of_piece(Keep(None), &mut sink);
        let member = |cursor: &mut Cursor<'_>, _, to: &mut Handover<'_>| {
            to.object(cursor, Kind::Pod, &String::new)
        };
        let mut walk = Walk::new(cursor, members);
        assert!(walk.step().expect("it has members"));
        let before = walk.cursor.clone();
        member(&mut walk.cursor, 0, &mut to).expect("it is JSON");
        let end = walk.cursor.at();
        assert!(walk.step().expect("there is another member"));
        let opening = Opening::between(&before, end, &walk.cursor).expect("both are objects");
        let mut at = walk.cursor.at();
        let froms = (at..text.len()).step_by(PIECE_BYTES);
        for (from, count) in froms.zip(1..) {
            let piece = walk.piece(from, &opening, Keep(None), &member);
            let piece = piece.unwrap_or_else(|| panic!("{from} of {text}"));
            assert_eq!(piece.begin, at, "{text}");
            at = piece.walk.cursor.at();
            if piece.is_last {
                return count;
            }
        }
        panic!("no piece is the last of {text}");
    }

    #[test]
    fn the_first_object_of_a_piece_is_found_however_a_text_is_written() {
        let pods = pods(8 * PIECE_BYTES / 32);
        for separator in ["", "\n", "\n\n"] {
            let count = guessed(&pods.join(separator), |_| Members::documents());
            assert!(count >= 8, "{count}");
        }
        for separator in [",", ", ", ",\n        "] {
            let text = format!("[{}]", pods.join(separator));
            let count = guessed(&text, |cursor| cursor.array().expect("an array"));
            assert!(count >= 8, "{count}");
        }
    }

    #[test]
    fn objects_are_handed_over_in_the_thread_of_the_caller() {
        let body = format!(r#"{{"items":[{}]}}"#, pods(100 * PIECE_BYTES / 32).join(","));
        for threads in [1, 2, 4] {
            let caller = std::thread::current().id();
            let mut count = 0;
            let mut sink = |_: Event| {
                assert_eq!(std::thread::current().id(), caller);
                count += 1;
            };
            Threads::new(threads).inside(|| {
                list::page(body.as_bytes(), Kind::Pod, Keep(None), &mut sink);
            });
            assert_eq!(count, 100 * PIECE_BYTES / 32);
        }
    }

    #[test]
    fn a_panic_while_objects_are_handed_over_goes_on_in_the_caller() {
        let body = format!(r#"{{"items":[{}]}}"#, pods(16 * PIECE_BYTES / 64).join(","));
        for threads in [1, 2, 4] {
            let mut count = 0;
            let mut sink = |_: Event| {
                count += 1;
                assert_ne!(count, 9, "the ninth object is bad");
            };
            let panic = catch_unwind(AssertUnwindSafe(|| {
                Threads::new(threads).inside(|| {
                    list::page(body.as_bytes(), Kind::Pod, Keep(None), &mut sink);
                });
            }));
            let panic = panic.expect_err("an object is bad");
            let text = panic.downcast_ref::<String>().expect("it has a text");
            assert!(text.contains("the ninth object is bad"), "{text}");
            assert_eq!(count, 9, "{threads} threads");
        }
    }
}
