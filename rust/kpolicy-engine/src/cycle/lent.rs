//! Columns of a store, lent to tasks that work side by side: a task may change those that it alone
//! needs, and all may read the others.

use crate::timing::Taken;

use super::store::{ColumnId, Columns, Store};

/// A column that is to be filled, and for whom.
pub(super) struct Own<'a, C> {
    id: ColumnId,
    pub(crate) column: &'a mut C,
    /// Of its rule, in the profile's filters or scores.
    pub(crate) position: usize,
    /// The first that needs it.
    pub(crate) task: usize,
    /// What filling it took.
    pub(crate) taken: Taken,
}

pub(super) struct Lent<'a, C> {
    /// By task, what it alone needs.
    own: Vec<Vec<Own<'a, C>>>,
    /// To be filled before the tasks begin.
    pub(crate) of_several: Vec<Own<'a, C>>,
    filled: Vec<(ColumnId, &'a C)>,
}

/// Columns that nobody changes, in order of their places.
pub(super) struct Shared<'a, C>(Vec<(ColumnId, &'a C)>);

/// The columns that one task reads.
pub(super) struct AtHand<'t, 'a, C> {
    pub(crate) own: &'t [Own<'a, C>],
    pub(crate) shared: &'t Shared<'a, C>,
}

impl<'a, C> Lent<'a, C> {
    /// `places` has the places of the columns that each task needs, with the positions of their rules.
    pub(super) fn of(
        store: &'a mut Store<C>,
        places: &[Vec<(ColumnId, usize)>],
        is_to_fill: impl Fn(&C) -> bool,
    ) -> Self {
        let mut needs: Vec<(ColumnId, usize, usize)> = Vec::new();
        for (task, places) in places.iter().enumerate() {
            needs.extend(places.iter().map(|(id, position)| (*id, task, *position)));
        }
        needs.sort_unstable();
        let by_column: Vec<_> = needs.chunk_by(|left, right| left.0 == right.0).collect();
        let firsts = by_column.iter().filter_map(|tasks| tasks.first());
        let columns = store.several_mut(firsts.map(|(id, ..)| *id));
        let mut own: Vec<Vec<Own<'a, C>>> = places.iter().map(|_| Vec::new()).collect();
        let (mut of_several, mut filled) = (Vec::new(), Vec::new());
        for (column, tasks) in columns.into_iter().zip(by_column) {
            let [(id, task, position), others @ ..] = tasks else { continue };
            if !is_to_fill(column) {
                filled.push((*id, &*column));
                continue;
            }
            let (id, task, position) = (*id, *task, *position);
            let one = Own { id, column, position, task, taken: Taken::default() };
            match own.get_mut(task).filter(|_| others.is_empty()) {
                Some(own) => own.push(one),
                None => of_several.push(one),
            }
        }
        Self { own, of_several, filled }
    }

    /// Once the columns that several need are filled.
    pub(super) fn parts(self) -> (Vec<Vec<Own<'a, C>>>, Shared<'a, C>) {
        let mut shared = self.filled;
        shared.extend(self.of_several.into_iter().map(|one| (one.id, &*one.column)));
        shared.sort_unstable_by_key(|(id, _)| *id);
        (self.own, Shared(shared))
    }
}

impl<C: Send + Sync> Columns<C> for AtHand<'_, '_, C> {
    fn get(&self, id: ColumnId) -> Option<&C> {
        if let Some(own) = self.own.iter().find(|own| own.id == id) {
            return Some(own.column);
        }
        let Shared(shared) = self.shared;
        let index = shared.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        shared.get(index).map(|(_, column)| *column)
    }
}

#[cfg(test)]
mod tests {
    use super::{AtHand, Lent};
    use crate::cycle::store::{Columns, Store};

    #[test]
    fn a_column_is_of_one_task_or_filled_before_or_only_read() {
        let mut store = Store::default();
        let [filled, alone, common] = [10, 0, 0].map(|value| store.add(&[value, 1], value));
        let other = store.add(&[7], 0);
        let places = [vec![(alone, 1), (common, 2), (filled, 0)], vec![(filled, 4), (common, 3)]];
        let mut lent = Lent::of(&mut store, &places, |value| *value == 0);
        let several: Vec<_> = lent.of_several.iter().map(|one| (one.task, one.position)).collect();
        assert_eq!(several, [(0, 2)], "for the first that needs it");
        lent.of_several.iter_mut().for_each(|one| *one.column = 5);
        let (mut own, shared) = lent.parts();
        assert_eq!(own.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0]);
        *own[0][0].column = 3;
        let first = AtHand { own: &own[0], shared: &shared };
        let second = AtHand { own: &own[1], shared: &shared };
        let read = |columns: &dyn Columns<u64>| {
            [filled, alone, common, other].map(|id| columns.get(id).copied())
        };
        assert_eq!(read(&first), [Some(10), Some(3), Some(5), None]);
        assert_eq!(read(&second), [Some(10), None, Some(5), None]);
    }
}
