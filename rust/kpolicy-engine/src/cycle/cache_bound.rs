//! How much is kept from decision to decision: more in larger clusters, because columns have a place for
//! each node.

/// What shapes and their columns may hold together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheBound {
    /// In clusters of any size.
    least: usize,
    /// For each node, where that is more: columns have a place for each node.
    a_node: usize,
}

impl CacheBound {
    pub(crate) fn fixed(bytes: usize) -> Self {
        Self { least: bytes, a_node: 0 }
    }

    pub(super) fn bytes(self, nodes: usize) -> usize {
        self.least.max(self.a_node.saturating_mul(nodes))
    }
}

impl Default for CacheBound {
    fn default() -> Self {
        Self { least: 96 * 1024 * 1024, a_node: 2 * 1024 }
    }
}
