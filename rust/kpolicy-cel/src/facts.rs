//! The two traits through which the host answers an expression: [`Facts`] (one lane at a time) and
//! [`Columns`] (all lanes at once).
//!
//! One world does not change during an evaluation, and its `Facts` and `Columns` give the same
//! answers.
//!
//! A fact is named by its path from a root (`node.free`, `pod.priority`, `node.domain.pods.count`)
//! and takes the arguments of the whole path, in order. An entry of a map fact has the name of the
//! map with `[]` behind it: `node.labels['zone']` is `node.labels[]` with the argument `"zone"`.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::bits::Bits;
use crate::budget::Budget;
use crate::error::{ErrorKind, Fault};
use crate::names::{Catalogue, Name};
use crate::value::{Key, Value};

pub(crate) use crate::value::Answer;

/// A fact with the arguments it is asked with.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The path of the fact, for example `node.free`.
    pub fact: Name,
    /// The arguments, for example `["cpu"]`.
    pub args: Vec<Value>,
    /// Where the read stands in [`crate::Expression::reads`], so that a host can resolve each read
    /// once per expression; [`Read::DYNAMIC`] when the arguments were only known while evaluating.
    pub index: u32,
}

impl Read {
    /// The index of a read that is not in the expression's list.
    pub const DYNAMIC: u32 = u32::MAX;

    /// Whether its arguments are only known while evaluating.
    pub const fn is_dynamic(&self) -> bool {
        self.index == Self::DYNAMIC
    }

    /// The only argument as text, for facts keyed by one string (a label, a resource).
    pub fn key(&self) -> Option<&str> {
        match self.args.as_slice() {
            [Value::String(text)] => Some(text),
            _ => None,
        }
    }
}

/// One world: a pod, a pod and a node, or the parameters only.
pub trait Facts {
    /// What is known of `read`.
    fn read(&self, read: &Read) -> Answer;

    /// The same, charged for the work beyond [`Catalogue::units`] that answering takes. Most facts take
    /// none where the arguments are constant, because they are worked out once for all lanes.
    fn read_charged(&self, read: &Read, _budget: &mut Budget) -> Result<Answer, Fault> {
        Ok(self.read(read))
    }

    /// Whether each reading makes its list or map anew, which is charged by its size.
    fn is_made(&self, _read: &Read) -> bool {
        false
    }

    /// What the map that `read` makes has under a name, where it can be had without making the map.
    fn entry(&self, _read: &Read, _name: &str) -> Option<Answer> {
        None
    }
}

/// A world without facts.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFacts;

impl Facts for NoFacts {
    fn read(&self, _: &Read) -> Answer {
        Answer::Unknown
    }
}

impl Catalogue for NoFacts {
    fn fact(&self, _: &str) -> Option<u16> {
        None
    }

    fn column_kernels(&self, _: &str) -> Option<u64> {
        None
    }

    fn member(&self, _: &str) -> Option<u16> {
        None
    }
}

/// Many worlds that differ in what they read by lane: all nodes for one pod.
pub trait Columns {
    /// How many lanes there are.
    fn lanes(&self) -> usize;

    /// All lanes of `read`; [`Column::Unavailable`] when it is only answered lane by lane.
    fn column(&self, read: &Read) -> Column<'_>;

    /// Whether a fact answers the same in every lane that asks with the same arguments, so that lanes
    /// differ in it only as far as the arguments do.
    fn is_shared(&self, _fact: &Name) -> bool {
        false
    }

    /// What one lane answers. Must agree with [`Columns::column`].
    fn read(&self, lane: usize, read: &Read) -> Answer;

    /// As [`Facts::read_charged`].
    fn read_charged(
        &self,
        lane: usize,
        read: &Read,
        _budget: &mut Budget,
    ) -> Result<Answer, Fault> {
        Ok(self.read(lane, read))
    }

    /// As [`Facts::is_made`], of any lane.
    fn is_made(&self, _read: &Read) -> bool {
        false
    }
}

/// One read over all lanes. Slices, borrowed or made for the call, hold at least as many entries as there are lanes.
pub enum Column<'a> {
    /// The same in every lane.
    Constant(Answer),
    /// Booleans, 64 lanes a word, lane 0 the lowest bit of word 0.
    Bool(Cow<'a, [u64]>),
    /// Signed integers.
    Int(Cow<'a, [i64]>),
    /// Integers of at most 2⁵⁰ either way, held as doubles: exact, and compared side by side.
    Whole(Cow<'a, [f64]>),
    /// Doubles.
    Double(Cow<'a, [f64]>),
    /// Booleans or numbers with lanes that have none: [`Answer::Absent`] in the lanes of `absent`,
    /// where the column inside holds anything.
    Sparse {
        /// The values of the lanes that have one.
        column: Box<Column<'a>>,
        /// The lanes without a value.
        absent: Bits,
    },
    /// Strings by id; id 0 is [`Answer::Absent`].
    Text {
        /// The id of each lane's string.
        ids: &'a [u32],
        /// The strings behind the ids.
        dictionary: &'a dyn Dictionary,
    },
    /// Lanes of equal id give equal answers, for facts of any type that many lanes share (taint
    /// sets, image sets). An expression over it is evaluated in one lane of each id.
    Classes(&'a [u32]),
    /// No column: [`Columns::read`] is asked for each lane that matters.
    Unavailable,
}

/// The strings behind the ids of a [`Column::Text`]. Equal strings have equal ids.
pub trait Dictionary {
    /// The string of an id that occurs in a column (never 0).
    fn text(&self, id: u32) -> &str;

    /// The id of a string, if any column may hold it.
    fn id(&self, text: &str) -> Option<u32>;
}

/// What an answer means to who reads a fact, or to who asks whether it is there.
pub(crate) fn value_of_answer(
    fact: &str,
    args: &[Value],
    answer: Answer,
    present: bool,
) -> Result<Value, Fault> {
    match (answer, present) {
        (Answer::Known(_), true) => Ok(Value::Bool(true)),
        (Answer::Known(value), false) => Ok(value),
        (Answer::Absent, true) => Ok(Value::Bool(false)),
        (Answer::Absent, false) => Err({
            // An entry is the last argument. Of an object that is absent, the first is its key.
            let key = if fact.ends_with("[]") { args.last() } else { args.first() };
            Fault::no_such_key(match key.and_then(Key::of) {
                Some(key) => key.text(),
                None => fact.rsplit('.').next().unwrap_or(fact).into(),
            })
        }),
        (Answer::Unknown, _) => Err(unknown(fact)),
        (Answer::Failed(fault), _) => Err(fault),
    }
}

pub(crate) fn unknown(fact: &str) -> Fault {
    Fault::new(ErrorKind::UnknownFact, format!("`{fact}` is not known here"))
}
