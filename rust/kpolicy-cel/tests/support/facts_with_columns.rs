//! The facts of which the small world has columns of texts.

use kpolicy_cel::Catalogue;

/// What a host says of the facts of the small world: it has the labels of all nodes side by side.
pub(crate) struct FactsWithColumns;

impl Catalogue for FactsWithColumns {
    fn fact(&self, _: &str) -> Option<u16> {
        None
    }

    fn column_kernels(&self, name: &str) -> Option<u64> {
        ["node.labels[]", "node.free", "node.used", "node.spare", "node.load"]
            .contains(&name)
            .then_some(2)
    }

    fn member(&self, _: &str) -> Option<u16> {
        None
    }
}
