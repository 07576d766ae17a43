//! The columns that shapes share, one store for each sort, and the memory of dropped ones.

use crate::heap::flat_bytes;

use super::filter_answers::FilterColumn;
use super::node_memos::NodeMemos;
use super::spare::Spare;
use super::store::{ColumnId, Store};
use super::totals::ScoreStore;

#[derive(Debug, Default)]
pub(super) struct Stores {
    pub(crate) filters: Store<FilterColumn>,
    pub(crate) scores: ScoreStore,
    pub(crate) node_memos: Store<NodeMemos>,
    pub(crate) spare: Spare,
}

impl Stores {
    /// What all columns hold, and the room to work them out in.
    pub(super) fn bytes(&self) -> usize {
        let of_scores = self.scores.columns.bytes() + flat_bytes(&self.scores.scratch);
        self.filters.bytes() + of_scores + self.node_memos.bytes()
    }

    pub(super) fn put_back(&mut self, id: ColumnId, memos: NodeMemos) {
        if let Some(place) = self.node_memos.get_mut(id) {
            *place = memos;
        }
    }
}
