//! The host's names that an expression uses, and what the host resolved them to.

use std::sync::Arc;

use crate::prices::FACT;

/// The name of a fact, or of a member of an object, and what the host resolved it to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The name as the expression has it.
    pub text: Arc<str>,
    /// From the host's [`Catalogue`], so that it compares no text while evaluating.
    pub id: u16,
    /// What reading it takes where its arguments are known before, a node or all nodes side by side.
    pub units: u64,
    /// As how many kernels reading it for all nodes counts, if the host always has its texts or numbers
    /// side by side.
    pub column_kernels: Option<u64>,
}

impl Name {
    /// Of a name that the host does not know, or was not asked for.
    pub const UNRESOLVED: u16 = u16::MAX;

    /// A name that the host has not been asked for.
    pub fn unresolved(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), id: Self::UNRESOLVED, units: FACT, column_kernels: None }
    }
}

/// The names that a host knows: asked once for each name of an expression.
pub trait Catalogue {
    /// The id of a fact.
    fn fact(&self, name: &str) -> Option<u16>;

    /// What reading a fact takes where its arguments are constant: the work for all lanes, shared by them.
    fn units(&self, _name: &str) -> u64 {
        FACT
    }

    /// As how many kernels (an eighth of a unit) reading a fact in all lanes counts, if it always has a
    /// column of texts or numbers or is the same in all lanes.
    fn column_kernels(&self, name: &str) -> Option<u64>;

    /// The id of a member of the host's objects.
    fn member(&self, name: &str) -> Option<u16>;
}
