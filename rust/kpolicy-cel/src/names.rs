//! The host's names that an expression uses, and what the host resolved them to.

use std::sync::Arc;

/// The name of a fact, or of a member of an object, and what the host resolved it to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The name as the expression has it.
    pub text: Arc<str>,
    /// From the host's [`Catalogue`], so that it compares no text while evaluating.
    pub id: u16,
    /// The host always has the texts of this fact side by side.
    pub has_column: bool,
}

impl Name {
    /// Of a name that the host does not know, or was not asked for.
    pub const UNRESOLVED: u16 = u16::MAX;

    /// A name that the host has not been asked for.
    pub fn unresolved(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), id: Self::UNRESOLVED, has_column: false }
    }
}

/// The names that a host knows: asked once for each name of an expression.
pub trait Catalogue {
    /// The id of a fact.
    fn fact(&self, name: &str) -> Option<u16>;

    /// Whether a fact of type string always has a column of texts.
    fn has_column(&self, name: &str) -> bool;

    /// The id of a member of the host's objects.
    fn member(&self, name: &str) -> Option<u16>;
}
