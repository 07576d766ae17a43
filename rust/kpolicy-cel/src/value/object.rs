//! Values that belong to the host, and reading their members.

use std::fmt::Debug;

use crate::error::Fault;
use crate::names::Name;

use super::Value;

/// What is known of a read.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The value.
    Known(Value),
    /// There is no such entry or field: `in` and `has()` are false, reading is an error.
    Absent,
    /// Not known at this binding time; folding leaves the read in place, evaluating is an error.
    Unknown,
    /// The fact has no answer.
    Failed(Fault),
}

impl<T: Into<Value>> From<T> for Answer {
    fn from(value: T) -> Self {
        Self::Known(value.into())
    }
}

/// A value with members that are only worked out when asked for: a pod of a loop over
/// `node.pods`, a domain held in a variable.
pub trait Object: Debug + Send + Sync {
    /// The name of its type in the catalogue, for example `Pod`.
    fn type_name(&self) -> &str;

    /// What it answers to a member (`labels`, `request`) with arguments. An entry of a map member
    /// is asked for as `labels[]`.
    fn member(&self, name: &Name, args: &[Value]) -> Answer;

    /// A text that is equal exactly when two objects of the same type are the same.
    fn identity(&self) -> &str;
}
