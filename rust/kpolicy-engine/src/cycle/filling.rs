//! Fills the columns of shapes that are made ahead: a task for each shape works out all that the shape
//! alone needs, one after the other, so that it stays in the cache of its processor.

use crate::api::Stopwatch;
use crate::threads::{are_enough, each};
use crate::timing::Taken;

use super::ahead::{Made, Measured, Part, TakenBy};
use super::context::Context;
use super::filter_answers::FilterColumn;
use super::lent::{AtHand, Lent, Own, Shared};
use super::score_answers::{ScoreColumn, Scratch};
use super::shape::Shape;
use super::shapes::Shapes;
use super::spare::Spare;
use super::store::ColumnId;
use super::stores::Stores;

/// One shape, and the columns that no other needs.
struct Task<'t, 'a> {
    shape: &'t mut Shape,
    part: Part<'a>,
    filters: Vec<Own<'t, FilterColumn>>,
    scores: Vec<Own<'t, ScoreColumn>>,
    /// Columns that the shape does not share any more.
    left: Vec<ColumnId>,
    /// What summing up took.
    taken: Taken,
    took: Parts,
}

/// What all tasks read.
struct Common<'t> {
    filters: Shared<'t, FilterColumn>,
    scores: Shared<'t, ScoreColumn>,
    stopwatch: &'t dyn Stopwatch,
}

/// How long tasks worked on filters and on scores.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts {
    filter_ns: u64,
    score_ns: u64,
}

impl Parts {
    fn between(began_ns: u64, filtered_ns: u64, ended_ns: u64) -> Self {
        let filter_ns = filtered_ns.saturating_sub(began_ns);
        Self { filter_ns, score_ns: ended_ns.saturating_sub(filtered_ns) }
    }

    fn and(self, other: Self) -> Self {
        let filter_ns = self.filter_ns.saturating_add(other.filter_ns);
        Self { filter_ns, score_ns: self.score_ns.saturating_add(other.score_ns) }
    }

    /// The part of `took_ns` that went to scores.
    pub(super) fn of_scores(self, took_ns: u64) -> u64 {
        let (whole, part) = (u128::from(self.filter_ns) + u128::from(self.score_ns), self.score_ns);
        let share = (u128::from(took_ns) * u128::from(part)).checked_div(whole);
        share.and_then(|share| u64::try_from(share).ok()).unwrap_or(0)
    }
}

impl Shapes {
    /// Works out which nodes are feasible and, where any is, what they score. There is room for `bytes`.
    pub(super) fn fill(
        &mut self,
        made: &[Made<'_>],
        bytes: usize,
        stopwatch: &dyn Stopwatch,
        taken: &mut TakenBy,
    ) -> Parts {
        let (shapes, stores) = self.several_mut(made.iter().map(|made| made.id));
        for (shape, made) in shapes.iter().zip(made) {
            shape.totals().follow_shared(made.part.context, &mut stores.scores);
        }
        let Stores { filters, scores, spare, .. } = stores;
        let places = shapes.iter().map(|shape| shape.filter_places());
        let mut of_filters = Lent::of(filters, places, FilterColumn::is_unfilled);
        fill_before(&mut of_filters, made, fill_filter, taken);
        let places = shapes.iter().map(|shape| shape.totals().places());
        let mut of_scores = Lent::of(&mut scores.columns, places, ScoreColumn::is_unfilled);
        fill_before(&mut of_scores, made, fill_score, taken);
        let (own_filters, shared_filters) = of_filters.parts();
        let (own_scores, shared_scores) = of_scores.parts();
        let common = Common { filters: shared_filters, scores: shared_scores, stopwatch };
        let own = own_filters.into_iter().zip(own_scores);
        let mut tasks: Vec<Task<'_, '_>> = shapes
            .into_iter()
            .zip(made)
            .zip(own)
            .map(|((shape, made), (filters, scores))| Task::new(shape, made.part, filters, scores))
            .collect();
        let taken_before = spare.taken();
        tasks.iter_mut().for_each(|task| task.make_room(spare));
        spare.drop_some(bytes.saturating_sub(spare.taken() - taken_before));
        let parts = common.work_off(&mut tasks);
        let ended = tasks.into_iter().flat_map(|task| task.end(taken, spare));
        let left: Vec<ColumnId> = ended.collect();
        for column in left.into_iter().filter_map(|id| scores.columns.release(id)) {
            column.leave(spare);
        }
        parts
    }
}

impl Common<'_> {
    fn work_off(&self, tasks: &mut [Task<'_, '_>]) -> Parts {
        if are_enough(tasks.len()) {
            each(tasks, Scratch::default, |scratch, task| task.work(self, scratch));
            return tasks.iter().fold(Parts::default(), |sum, task| sum.and(task.took));
        }
        // Few shapes: their columns are filled one by one, so that all threads have a part in it.
        let began_ns = self.stopwatch.elapsed_ns();
        let filters = tasks.iter_mut().flat_map(|task| columns_of(task.part, &mut task.filters));
        each(&mut filters.collect::<Vec<_>>(), Scratch::default, |scratch, (part, own)| {
            fill_filter(*part, own, scratch);
        });
        each(tasks, || (), |(), task| task.judge(self));
        let filtered_ns = self.stopwatch.elapsed_ns();
        let passing = tasks.iter_mut().filter(|task| task.passes());
        let scores = passing.flat_map(|task| columns_of(task.part, &mut task.scores));
        each(&mut scores.collect::<Vec<_>>(), Scratch::default, |scratch, (part, own)| {
            fill_score(*part, own, scratch);
        });
        each(tasks, Scratch::default, |scratch, task| task.sum_up(self, scratch));
        Parts::between(began_ns, filtered_ns, self.stopwatch.elapsed_ns())
    }
}

/// The columns of a task, each with whose they are.
fn columns_of<'t, 'a, 'l, C>(
    part: Part<'a>,
    own: &'t mut [Own<'l, C>],
) -> impl Iterator<Item = (Part<'a>, &'t mut Own<'l, C>)> {
    own.iter_mut().map(move |own| (part, own))
}

/// Fills the columns that have to be there before the tasks begin.
fn fill_before<C: Send>(
    lent: &mut Lent<'_, C>,
    made: &[Made<'_>],
    fill: impl Fn(Part<'_>, &mut Own<'_, C>, &mut Scratch) + Send + Sync,
    taken: &mut TakenBy,
) {
    each(&mut lent.of_several, Scratch::default, |scratch, own| {
        if let Some(made) = made.get(own.task) {
            fill(made.part, own, scratch);
        }
    });
    for own in &lent.of_several {
        if let Some(made) = made.get(own.task) {
            taken.add(made.part, &own.taken);
        }
    }
}

fn fill_filter(part: Part<'_>, own: &mut Own<'_, FilterColumn>, _: &mut Scratch) {
    let Some(rule) = part.context.profile.filters.get(own.position) else { return };
    let position = own.position;
    own.taken = part.measured(|context| own.column.fill(rule, context.at(position), &mut ()));
}

fn fill_score(part: Part<'_>, own: &mut Own<'_, ScoreColumn>, scratch: &mut Scratch) {
    let Some(rule) = part.context.profile.scores.get(own.position) else { return };
    let position = own.position;
    own.taken = part.measured(|context| own.column.fill(rule, context.at(position), scratch));
}

impl<'t, 'a> Task<'t, 'a> {
    fn new(
        shape: &'t mut Shape,
        part: Part<'a>,
        filters: Vec<Own<'t, FilterColumn>>,
        scores: Vec<Own<'t, ScoreColumn>>,
    ) -> Self {
        let (left, taken, took) = (Vec::new(), Taken::default(), Parts::default());
        Self { shape, part, filters, scores, left, taken, took }
    }

    fn make_room(&mut self, spare: &mut Spare) {
        let Context { profile, cluster, .. } = self.part.context;
        let slots = cluster.nodes().slots();
        self.shape.make_room(slots, spare);
        for own in &mut self.filters {
            if let Some(rule) = profile.filters.get(own.position) {
                own.column.make_room(rule, cluster, spare);
            }
        }
        for own in &mut self.scores {
            if let Some(rule) = profile.scores.get(own.position) {
                own.column.make_room(rule, cluster, spare);
            }
        }
    }

    fn work(&mut self, common: &Common<'_>, scratch: &mut Scratch) {
        let began_ns = common.stopwatch.elapsed_ns();
        self.filters.iter_mut().for_each(|own| fill_filter(self.part, own, scratch));
        self.judge(common);
        let filtered_ns = common.stopwatch.elapsed_ns();
        if self.passes() {
            self.scores.iter_mut().for_each(|own| fill_score(self.part, own, scratch));
            self.sum_up(common, scratch);
        }
        self.took = Parts::between(began_ns, filtered_ns, common.stopwatch.elapsed_ns());
    }

    /// Works out which nodes are feasible.
    fn judge(&mut self, common: &Common<'_>) {
        let columns = AtHand { own: &self.filters, shared: &common.filters };
        self.shape.judge_changed(self.part.context.cluster, &columns);
    }

    /// Whether any node is feasible; otherwise scores are not asked for.
    fn passes(&self) -> bool {
        self.shape.feasible().count > 0
    }

    fn sum_up(&mut self, common: &Common<'_>, scratch: &mut Scratch) {
        if !self.passes() {
            return;
        }
        let columns = AtHand { own: &self.scores, shared: &common.scores };
        let Self { shape, part, left, .. } = self;
        self.taken = part.measured(|context: Measured<'_>| {
            // Rules that read the feasible nodes get columns of their own.
            *left = shape.totals_mut().leave_shared(context, &columns);
            shape.sum_up(context, &columns, scratch);
        });
    }

    /// Counts what it took; tells which columns are not shared any more.
    fn end(self, taken: &mut TakenBy, spare: &mut Spare) -> Vec<ColumnId> {
        taken.add(self.part, &self.taken);
        self.filters.into_iter().for_each(|own| taken.add(self.part, &own.taken));
        for own in self.scores {
            taken.add(self.part, &own.taken);
            own.column.give_room_back(spare);
        }
        self.left
    }
}
