//! Verdicts: a small code for each node, and its meaning.

use std::borrow::Cow;
use std::sync::Arc;

use crate::heap::{HeapBytes, arc_bytes};

/// A filter's verdict on one node, small enough for a column. What a code other than `PASS` means is
/// between the rule and its `describe`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(u16);

const FAILED_BIT: u16 = 1 << 15;

impl Code {
    /// The node passes.
    pub const PASS: Self = Self(0);

    /// A rejection; `meaning` is the rule's own: 1 to 32,767.
    pub(crate) const fn reject(meaning: u16) -> Self {
        Self(meaning & !FAILED_BIT)
    }

    /// The rule could not judge the node: the whole cycle fails.
    pub(crate) const fn fail(meaning: u16) -> Self {
        Self(meaning | FAILED_BIT)
    }

    /// Whether the node passes.
    #[inline]
    pub const fn passes(self) -> bool {
        self.0 == 0
    }

    /// Whether the rule could not judge the node.
    pub const fn is_failure(self) -> bool {
        self.0 & FAILED_BIT != 0
    }

    pub(crate) const fn meaning(self) -> u16 {
        self.0 & !FAILED_BIT
    }
}

/// How a rule rejects: kube-scheduler's status codes other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rejection {
    /// Evicting pods may help.
    Unschedulable,
    /// Evicting pods cannot help.
    Unresolvable,
    /// The rule could not judge.
    Error,
    /// Judging takes more work than one decision may.
    TooMuch,
}

impl Rejection {
    /// kube-scheduler's name of the status code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::Unresolvable => "UnschedulableAndUnresolvable",
            Self::Error | Self::TooMuch => "Error",
        }
    }

    /// Whether there is no verdict: the whole cycle fails.
    pub(crate) const fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::TooMuch)
    }
}

/// Why an expression could not be evaluated: one of the codes that `kpolicy rule` explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(crate) code: &'static str,
    pub(crate) message: Arc<str>,
}

impl Fault {
    /// The message with its code, for people.
    pub(crate) fn rendered(&self) -> String {
        format!("{} ({})", self.message, self.code)
    }
}

/// Why a node, or a pod as a whole, was rejected. Reasons are in the order of checking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether evicting pods may help.
    pub rejection: Rejection,
    /// Texts for people, as kube-scheduler words them.
    pub reasons: Vec<Cow<'static, str>>,
    /// Where an expression that could not be evaluated is the reason.
    pub(crate) fault: Option<Fault>,
}

impl Status {
    pub(crate) fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { rejection: Rejection::Unschedulable, reasons: vec![reason.into()], fault: None }
    }

    pub(crate) fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { rejection: Rejection::Unresolvable, reasons: vec![reason.into()], fault: None }
    }

    pub(crate) fn error(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { rejection: Rejection::Error, reasons: vec![reason.into()], fault: None }
    }

    pub(crate) fn too_much(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { rejection: Rejection::TooMuch, reasons: vec![reason.into()], fault: None }
    }

    /// Adds the fault that caused it.
    #[must_use]
    pub(crate) fn with_fault(self, fault: Option<Fault>) -> Self {
        Self { fault, ..self }
    }

    /// The reasons in one text.
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }
}

impl HeapBytes for Status {
    fn heap_bytes(&self) -> usize {
        self.reasons.heap_bytes() + self.fault.heap_bytes()
    }
}

impl HeapBytes for Fault {
    fn heap_bytes(&self) -> usize {
        arc_bytes(&self.message)
    }
}
