//! Errors: a refusal of an expression, or an error while it is evaluated. Their kinds are stable.

use std::fmt;
use std::sync::Arc;

/// The kind of an evaluation error; stable, part of the machine-readable output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A map has no such key, an object no such field.
    NoSuchKey,
    /// No overload for the types met at run time.
    NoSuchOverload,
    /// An index outside a list or a string, a bound outside its range.
    OutOfRange,
    /// A number left its range.
    Overflow,
    /// A division or a modulus by zero.
    DivideByZero,
    /// A text does not denote a value: number, duration, quantity, pattern, …
    Malformed,
    /// A key was given twice.
    DuplicateKey,
    /// An operand must not have this value.
    InvalidArgument,
    /// The cost limit was reached.
    CostExceeded,
    /// A fact was not known.
    UnknownFact,
}

impl ErrorKind {
    /// The name in machine-readable output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSuchKey => "no_such_key",
            Self::NoSuchOverload => "no_such_overload",
            Self::OutOfRange => "out_of_range",
            Self::Overflow => "overflow",
            Self::DivideByZero => "divide_by_zero",
            Self::Malformed => "malformed",
            Self::DuplicateKey => "duplicate_key",
            Self::InvalidArgument => "invalid_argument",
            Self::CostExceeded => "cost_exceeded",
            Self::UnknownFact => "unknown_fact",
        }
    }

    /// The code for people, explained by `kpolicy rule`; never reused.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoSuchOverload => "KR101",
            Self::NoSuchKey => "KR102",
            Self::DivideByZero => "KR103",
            Self::Overflow => "KR104",
            Self::OutOfRange => "KR105",
            Self::Malformed => "KR106",
            Self::DuplicateKey => "KR107",
            Self::InvalidArgument => "KR108",
            Self::UnknownFact => "KR109",
            Self::CostExceeded => "KR110",
        }
    }
}

/// The text of an error, for people. Most errors are absorbed by `&&` and `||` and nobody reads them, so
/// that frequent texts are written out only when they are read.
#[derive(Debug, Clone)]
pub enum Message {
    /// A text without a part that depends on values.
    Fixed(&'static str),
    /// This left its range.
    Overflow(&'static str),
    /// This key or field is not there.
    NoSuchKey(Arc<str>),
    /// Any other text.
    Written(Arc<str>),
}

impl Message {
    /// The text, to be kept.
    pub fn shared(&self) -> Arc<str> {
        match self {
            Self::Written(text) => Arc::clone(text),
            other => other.to_string().into(),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(text) => formatter.write_str(text),
            Self::Overflow(what) => write!(formatter, "{what} overflow"),
            Self::NoSuchKey(key) => write!(formatter, "no such key: {key}"),
            Self::Written(text) => formatter.write_str(text),
        }
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Message {}

impl From<&'static str> for Message {
    fn from(text: &'static str) -> Self {
        Self::Fixed(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::Written(text.into())
    }
}

impl From<Arc<str>> for Message {
    fn from(text: Arc<str>) -> Self {
        Self::Written(text)
    }
}

/// An error without a place: what a function or a fact reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the error, which decides its code.
    pub kind: ErrorKind,
    /// The text for people.
    pub message: Message,
}

impl Fault {
    /// A fault of this kind with this text.
    pub fn new(kind: ErrorKind, message: impl Into<Message>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::new(ErrorKind::NoSuchOverload, "no such overload")
    }

    pub(crate) fn no_such_key(key: Arc<str>) -> Self {
        Self::new(ErrorKind::NoSuchKey, Message::NoSuchKey(key))
    }

    pub(crate) fn overflow(what: &'static str) -> Self {
        Self::new(ErrorKind::Overflow, Message::Overflow(what))
    }

    pub(crate) fn malformed(message: impl Into<Message>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    pub(crate) fn invalid(message: impl Into<Message>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    pub(crate) fn out_of_range(message: impl Into<Message>) -> Self {
        Self::new(ErrorKind::OutOfRange, message)
    }

    /// NaN has no place in an order.
    pub(crate) fn not_a_number() -> Self {
        Self::invalid("NaN values cannot be ordered")
    }

    /// The error with the node that raised it.
    pub fn at(self, node: u32) -> EvaluationError {
        EvaluationError { kind: self.kind, message: self.message, node }
    }
}

/// An error while evaluating.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationError {
    /// The kind of the error, which decides its code.
    pub kind: ErrorKind,
    /// The text for people.
    pub message: Message,
    /// Index of the node in the verified expression (its span is `spans[node]`).
    pub node: u32,
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(formatter)
    }
}

impl std::error::Error for EvaluationError {}

/// Why an expression was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidExpression {
    /// Stable code, one of `IR0xx` in `docs/internals/expressions.md`.
    pub code: &'static str,
    /// The text for people.
    pub message: String,
    /// The node it is about, if any.
    pub node: Option<u32>,
}

impl fmt::Display for InvalidExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(formatter, "{}: node {node}: {}", self.code, self.message),
            None => write!(formatter, "{}: {}", self.code, self.message),
        }
    }
}

impl std::error::Error for InvalidExpression {}
