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
    /// All others, by their places.
    others: Vec<Option<&'a C>>,
}

/// Columns that nobody changes, by their places.
pub(super) struct Shared<'a, C>(Vec<Option<&'a C>>);

/// The columns that one task reads.
pub(super) struct AtHand<'t, 'a, C> {
    pub(crate) own: &'t [Own<'a, C>],
    pub(crate) shared: &'t Shared<'a, C>,
}

impl<'a, C: Sync> Lent<'a, C> {
    /// `places` has for each task the places of the columns that it needs, with the positions of their rules.
    pub(super) fn of<P: Iterator<Item = (ColumnId, usize)>>(
        store: &'a mut Store<C>,
        places: impl Iterator<Item = P>,
        is_to_fill: impl Fn(&C) -> bool,
    ) -> Self {
        let mut needs: Vec<(ColumnId, usize, usize)> = Vec::new();
        let mut own: Vec<Vec<Own<'a, C>>> = Vec::new();
        for (task, places) in places.enumerate() {
            own.push(Vec::new());
            let places = places.filter(|(id, _)| store.get(*id).is_some_and(&is_to_fill));
            needs.extend(places.map(|(id, position)| (id, task, position)));
        }
        needs.sort_unstable();
        let mut needs = needs.chunk_by(|left, right| left.0 == right.0).peekable();
        let (mut of_several, mut others) = (Vec::new(), Vec::new());
        for (id, column) in store.all_mut().enumerate() {
            let tasks = needs.next_if(|tasks| tasks.first().is_some_and(|need| need.0 == id));
            let (column, task, position, is_of_one) = match (column, tasks) {
                (Some(column), Some([(_, task, position), more @ ..])) => {
                    (column, *task, *position, more.is_empty())
                }
                (column, _) => {
                    others.push(column.map(|column| &*column));
                    continue;
                }
            };
            others.push(None);
            let one = Own { id, column, position, task, taken: Taken::default() };
            match own.get_mut(task).filter(|_| is_of_one) {
                Some(own) => own.push(one),
                None => of_several.push(one),
            }
        }
        Self { own, of_several, others }
    }

    /// Once the columns that several need are filled.
    pub(super) fn parts(self) -> (Vec<Vec<Own<'a, C>>>, Shared<'a, C>) {
        let mut shared = self.others;
        for one in self.of_several {
            if let Some(place) = shared.get_mut(one.id) {
                *place = Some(&*one.column);
            }
        }
        (self.own, Shared(shared))
    }
}

impl<C: Send + Sync> Columns<C> for AtHand<'_, '_, C> {
    fn get(&self, id: ColumnId) -> Option<&C> {
        let Shared(shared) = self.shared;
        shared.get(id).copied().flatten().or_else(|| {
            let own = self.own.iter().find(|own| own.id == id)?;
            Some(&*own.column)
        })
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
        let places = places.into_iter().map(Vec::into_iter);
        let mut lent = Lent::of(&mut store, places, |value| *value == 0);
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
        assert_eq!(read(&first), [Some(10), Some(3), Some(5), Some(0)]);
        assert_eq!(read(&second), [Some(10), None, Some(5), Some(0)]);
    }
}
