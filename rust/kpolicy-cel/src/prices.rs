//! What evaluating takes, in units of cost: every constant that a charge is made of.
//!
//! The compiler's bound has the same table (`python/kpolicy/policy/cel/prices.py`); a test compares
//! the two. One unit is about ten nanoseconds.

/// A node of an expression that is evaluated, or reached again where its value is kept.
pub(crate) const NODE: u64 = 1;
/// Calling a function, besides its node: its operands are collected, and their types looked at.
pub(crate) const CALL: u64 = 1;
/// Reading a fact.
pub const FACT: u64 = 3;
/// Kernels, which evaluate a node for all lanes side by side, for one unit a lane.
pub const KERNELS: u64 = 8;
/// As how many kernels arithmetic, and choosing one of two numbers, count.
pub(crate) const NUMBER_KERNELS: u64 = 3;
/// As how many kernels a division counts.
pub(crate) const DIVISION_KERNELS: u64 = 8;
/// Telling lanes apart by what a column holds, so that the scalar evaluator is asked once a class.
pub(crate) const CLASS: u64 = 2;
/// Evaluating a part for one lane by the scalar evaluator, and keeping what came of it.
pub(crate) const LANE: u64 = 3;
/// An element of a loop, besides its body.
pub(crate) const ELEMENT: u64 = 2;
/// Making a list or a map that is written out, besides its items.
pub(crate) const LITERAL: u64 = 4;
/// Finding an entry of a map or an item of a list.
pub(crate) const LOOKUP: u64 = 3;
/// Reading a member of an object, besides the node itself.
pub(crate) const MEMBER: u64 = 3;
/// An item of a list that reading a fact or a member makes.
pub(crate) const ITEM_MADE: u64 = 3;
/// An entry of a map that reading a fact or a member makes.
pub(crate) const ENTRY_MADE: u64 = 9;
/// Bytes of text that are read or made for one unit.
pub(crate) const TEXT_BYTES: u64 = 10;
/// Bytes of texts of equal length that are compared for one unit.
pub(crate) const COMPARED_BYTES: u64 = 100;
/// Reading a value from a text, or writing one, besides a unit for each byte of the text.
pub(crate) const PARSING: u64 = 12;
/// Finding out whether a time window is open: its cron expression is read, and days are looked at.
pub(crate) const WINDOW: u64 = 250;
/// Looking for a text, to begin with.
pub(crate) const SEARCH: u64 = 8;
/// A part of a text that is made an item of a list.
pub(crate) const PART: u64 = 6;
/// A match of a pattern.
pub(crate) const MATCH: u64 = 10;
/// Making a requirement of a selector.
pub(crate) const REQUIREMENT: u64 = 10;
/// Bytes of a pattern that make it slower by one more tenth of a unit a byte of text.
pub(crate) const PATTERN_BYTES: u64 = 4;
/// Compiling a byte of a pattern.
pub(crate) const PATTERN_BYTE: u64 = 80;
/// Compiling a class of characters of a pattern, and any pattern to begin with.
pub(crate) const PATTERN_CLASS: u64 = 2_000;
/// Compiling a repetition that is counted, which may stand for a pattern of any length.
pub(crate) const PATTERN_COUNTED: u64 = 200_000;
/// The longest list that `lists.range` makes.
pub(crate) const RANGE_MAX: u64 = 10_000;
