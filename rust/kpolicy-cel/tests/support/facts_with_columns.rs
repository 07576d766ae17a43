//! The facts of which the small world has columns of texts.

use kpolicy_cel::Catalogue;

/// What a host says of the facts of the small world: it has the labels of all nodes side by side.
pub(crate) struct FactsWithColumns;

impl Catalogue for FactsWithColumns {
    fn fact(&self, _: &str) -> Option<u16> {
        None
    }

    fn has_column(&self, name: &str) -> bool {
        name == "node.labels[]"
    }

    fn member(&self, _: &str) -> Option<u16> {
        None
    }
}
