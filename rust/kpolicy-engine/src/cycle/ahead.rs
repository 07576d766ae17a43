//! Makes the shapes of pods that are decided next, side by side over the snapshot as it is.
//!
//! A decision finds its shape made and brings it up to date, as if an equal pod had been decided
//! before. So it comes to the same, whatever was placed in between. Which shapes are made rests on
//! the pods and the snapshot and not on the number of threads, so that rules spend the same.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::api::Stopwatch;
use crate::judging::pre_filter::{self, NodesToCheck};
use crate::program::{Profile, Program};
use crate::rules::{FilterRule, ScoreRule};
use crate::snapshot::{Cluster, Pod};
use crate::threads::each;
use crate::timing::{Metered, Taken, Unmetered};

use super::context::Context;
use super::filter_answers::FilterColumn;
use super::score_answers::{ScoreColumn, Scratch};
use super::shape::{Shape, Stores};
use super::shapes::{ShapeKey, Shapes};
use super::store::ColumnId;

/// A pod that is decided soon.
#[derive(Debug, Clone)]
pub(crate) struct Prospect {
    pub(crate) pod: Arc<Pod>,
    /// Position of the profile that serves it.
    pub(crate) profile: usize,
    /// What its rules take is measured.
    pub(crate) is_timed: bool,
}

/// The pods that are decided next, the one in question first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prospects {
    pub(crate) pods: Vec<Prospect>,
    /// From so many new shapes on they are made ahead.
    pub(crate) shapes_min: usize,
}

impl Prospects {
    pub(super) fn are_enough(&self, shapes: usize) -> bool {
        shapes >= self.shapes_min.max(1)
    }
}

/// What making a shape ahead took: its share of what all that were made together took.
#[derive(Debug, Clone, Default)]
pub(crate) struct AheadTimes {
    pub(crate) filter_ns: u64,
    pub(crate) score_ns: u64,
    /// By its rules, if that is measured.
    pub(crate) rules: Taken,
}

type Ahead<'a> = Context<'a, Unmetered>;

/// A shape that is to be made.
struct New<'a> {
    key: ShapeKey,
    part: Part<'a>,
}

/// Whose work is done: of the new shape with this number.
#[derive(Clone, Copy)]
struct Part<'a> {
    number: usize,
    context: Ahead<'a>,
    /// By which it is measured.
    stopwatch: Option<&'a dyn Stopwatch>,
}

/// A shape that is made.
#[derive(Clone, Copy)]
struct Made<'a> {
    id: usize,
    part: Part<'a>,
}

/// A column that is not there yet.
enum Fresh<'a> {
    Filter(&'a FilterRule, Option<FilterColumn>),
    Score(&'a ScoreRule, Option<ScoreColumn>),
}

struct FreshColumn<'a> {
    key: &'a [u64],
    /// Of its rule, in the profile's filters or scores.
    position: usize,
    fresh: Fresh<'a>,
}

/// A column that is to be filled.
#[derive(Clone, Copy)]
struct Unfilled<'a> {
    id: ColumnId,
    position: usize,
    part: Part<'a>,
}

/// By number of the new shape.
struct TakenBy(Vec<Taken>);

impl Shapes {
    /// Makes the shapes of these pods that are not there yet, if there are enough.
    pub(super) fn make_ahead(
        &mut self,
        prospects: &Prospects,
        program: &Program,
        cluster: &Cluster,
        stopwatch: &dyn Stopwatch,
    ) {
        let began_ns = stopwatch.elapsed_ns();
        let new = self.new_shapes(&prospects.pods, program, cluster, stopwatch);
        if !prospects.are_enough(new.len()) {
            return;
        }
        let mut taken = TakenBy(vec![Taken::default(); new.len()]);
        self.prepare(&new, &mut taken);
        let mut made: Vec<Made<'_>> = Vec::with_capacity(new.len());
        for New { key, part } in &new {
            let id = self.add(key, part.context, Some(AheadTimes::default()));
            made.push(Made { id, part: *part });
        }
        let mut filled = self.with_room(&made);
        // Places that were free are taken in any order.
        filled.sort_unstable_by_key(|made| made.id);
        self.fill_filters(&filled, &mut taken);
        let filtered_ns = stopwatch.elapsed_ns();
        self.fill_scores(&filled, &mut taken);
        made.iter().for_each(|made| self.weigh(made.id));
        let shapes = made.len() as u64;
        let filter_ns = filtered_ns.saturating_sub(began_ns) / shapes;
        let score_ns = stopwatch.elapsed_ns().saturating_sub(filtered_ns) / shapes;
        for (made, rules) in made.iter().zip(taken.0) {
            self.note_ahead(made.id, AheadTimes { filter_ns, score_ns, rules });
        }
    }

    /// The shapes that are not there, each once, for the first pod that has it; no more than there was
    /// room for last time: a shape without columns would be filled on one thread.
    fn new_shapes<'a>(
        &self,
        prospects: &'a [Prospect],
        program: &'a Program,
        cluster: &'a Cluster,
        stopwatch: &'a dyn Stopwatch,
    ) -> Vec<New<'a>> {
        let mut seen: FxHashSet<Box<[u64]>> = FxHashSet::default();
        let mut new = Vec::new();
        let count_max = self.ahead_max();
        for prospect in prospects {
            if new.len() == count_max {
                break;
            }
            let Some(profile) = program.profiles.get(prospect.profile) else { continue };
            let mut key = ShapeKey::default();
            key.set(prospect.profile, profile, &prospect.pod, cluster);
            if !self.has(&key) && seen.insert(key.parts().into()) {
                let pod = prospect.pod.as_ref();
                let context = Context { profile, pod, cluster, meter: Unmetered };
                let stopwatch = prospect.is_timed.then_some(stopwatch);
                new.push(New { key, part: Part { number: new.len(), context, stopwatch } });
            }
        }
        new
    }

    /// Prepares the rules of the columns that are not there.
    fn prepare(&mut self, new: &[New<'_>], taken: &mut TakenBy) {
        let mut seen: FxHashSet<&[u64]> = FxHashSet::default();
        let mut columns = Vec::new();
        for New { key, part } in new {
            let Profile { filters, scores, .. } = part.context.profile;
            let of_filters = filters.iter().map(|rule| Fresh::Filter(rule, None)).enumerate();
            let of_scores = scores.iter().map(|rule| Fresh::Score(rule, None)).enumerate();
            for (rule, (position, fresh)) in of_filters.chain(of_scores).enumerate() {
                let key = key.of_column(rule);
                let is_there = match fresh {
                    Fresh::Filter(..) => self.stores.filters.has(key),
                    Fresh::Score(..) => self.stores.scores.columns.has(key),
                };
                if !is_there && seen.insert(key) {
                    let column = FreshColumn { key, position, fresh };
                    columns.push((column, *part, Taken::default()));
                }
            }
        }
        each(
            &mut columns,
            || (),
            |(), (column, part, taken)| {
                *taken = part.measured(|context| column.make(context));
            },
        );
        for (column, part, of_column) in columns {
            taken.add(part, &of_column);
            match column.fresh {
                Fresh::Filter(_, Some(made)) => {
                    self.stores.filters.add(column.key, made);
                }
                Fresh::Score(_, Some(made)) => {
                    self.stores.scores.columns.add(column.key, made);
                }
                Fresh::Filter(_, None) | Fresh::Score(_, None) => {}
            }
        }
    }

    /// The first of these for whose columns there is room, of those whose nodes are all to be judged.
    fn with_room<'a>(&mut self, made: &[Made<'a>]) -> Vec<Made<'a>> {
        let (mut bytes, mut largest) = (0, 0);
        let mut first: Vec<Made<'a>> = Vec::new();
        for made in made {
            let (id, context) = (made.id, made.part.context);
            let Some((shape, stores)) = self.shape_and_stores(id) else { continue };
            shape.follow_filters(context, stores);
            let prepared = shape.prepared(stores);
            let left = pre_filter::run(context.profile, &prepared, context.cluster);
            if !matches!(left, Ok(NodesToCheck::All)) {
                continue;
            }
            let slots = context.cluster.nodes().slots();
            let own = shape.bytes_to_fill(slots, context.profile, stores);
            largest = largest.max(own);
            if !self.make_room(bytes + own) {
                break;
            }
            bytes += own;
            first.push(*made);
        }
        self.note_ahead_bytes(largest);
        first.retain(|made| self.shape(made.id).is_some());
        first
    }

    fn fill_filters(&mut self, made: &[Made<'_>], taken: &mut TakenBy) {
        let (mut shapes, stores) = self.several_mut(made.iter().map(|made| made.id));
        let unfilled = shapes
            .iter()
            .zip(made)
            .flat_map(|(shape, made)| unfilled(shape.unfilled_filters(stores), made.part));
        let unfilled = by_place(unfilled.collect());
        let columns = stores.filters.several_mut(unfilled.iter().map(|one| one.id));
        let mut tasks: Vec<_> = with_times(columns.into_iter().zip(&unfilled));
        each(
            &mut tasks,
            || (),
            |(), (column, one, taken)| {
                if let Some(rule) = one.part.context.profile.filters.get(one.position) {
                    let fill = |context: Measured<'_>| {
                        column.fill(rule, context.at(one.position), &mut ());
                    };
                    *taken = one.part.measured(fill);
                }
            },
        );
        tasks.iter().for_each(|(_, one, of_column)| taken.add(one.part, of_column));
        let stores = &*stores;
        let mut tasks: Vec<_> = shapes.iter_mut().zip(made).collect();
        each(
            &mut tasks,
            || (),
            |(), (shape, made)| {
                shape.judge_changed(made.part.context.cluster, stores);
            },
        );
    }

    /// Of those pods that pass somewhere.
    fn fill_scores(&mut self, made: &[Made<'_>], taken: &mut TakenBy) {
        let is_scored = |made: &&Made<'_>| {
            let shape = self.shape(made.id);
            shape.is_some_and(|shape| shape.feasible().count > 0)
        };
        let made: Vec<Made<'_>> = made.iter().filter(is_scored).copied().collect();
        let (shapes, stores) = self.several_mut(made.iter().map(|made| made.id));
        let mut tasks: Vec<_> = with_times(shapes.into_iter().zip(&made));
        let own: Vec<ColumnId> = take_own_columns(&mut tasks, stores);
        own.into_iter().for_each(|id| stores.scores.columns.release(id));
        for (shape, made, _) in &mut tasks {
            shape.follow_scores(made.part.context, stores);
        }
        let to_fill = tasks
            .iter()
            .flat_map(|(shape, made, _)| unfilled(shape.unfilled_scores(stores), made.part));
        let to_fill = by_place(to_fill.collect());
        let columns = stores.scores.columns.several_mut(to_fill.iter().map(|one| one.id));
        let mut to_fill: Vec<_> = with_times(columns.into_iter().zip(&to_fill));
        each(&mut to_fill, Scratch::default, |scratch, (column, one, taken)| {
            if let Some(rule) = one.part.context.profile.scores.get(one.position) {
                let fill =
                    |context: Measured<'_>| column.fill(rule, context.at(one.position), scratch);
                *taken = one.part.measured(fill);
            }
        });
        to_fill.iter().for_each(|(_, one, of_column)| taken.add(one.part, of_column));
        let columns = &stores.scores.columns;
        each(&mut tasks, Scratch::default, |scratch, (shape, made, taken)| {
            taken.add(&made.part.measured(|context| shape.sum_up(context, columns, scratch)));
        });
        tasks.iter().for_each(|(_, made, of_shape)| taken.add(made.part, of_shape));
    }
}

type Measured<'a> = Context<'a, Option<Metered<'a>>>;

impl Part<'_> {
    /// Does `work`, and measures it if it is to be measured.
    fn measured(self, work: impl FnOnce(Measured<'_>)) -> Taken {
        let Profile { filters, scores, .. } = self.context.profile;
        let positions = filters.len().max(scores.len());
        Taken::by(self.stopwatch, positions, |meter| work(self.context.measured_by(meter)))
    }
}

impl TakenBy {
    fn add(&mut self, part: Part<'_>, taken: &Taken) {
        if let Some(own) = self.0.get_mut(part.number) {
            own.add(taken);
        }
    }
}

/// Gives rules that read the feasible nodes columns of their own; tells which are not shared any more.
fn take_own_columns(
    tasks: &mut [(&mut Shape, &Made<'_>, Taken)],
    stores: &Stores,
) -> Vec<ColumnId> {
    let mut tasks: Vec<_> = tasks.iter_mut().map(|task| (task, Vec::new())).collect();
    each(
        &mut tasks,
        || (),
        |(), ((shape, made, taken), left)| {
            *taken = made.part.measured(|context| *left = shape.leave_shared(context, stores));
        },
    );
    tasks.into_iter().flat_map(|(_, left)| left).collect()
}

/// Each with room for what it took.
fn with_times<A, B>(pairs: impl Iterator<Item = (A, B)>) -> Vec<(A, B, Taken)> {
    pairs.map(|(left, right)| (left, right, Taken::default())).collect()
}

fn unfilled(columns: Vec<(ColumnId, usize)>, part: Part<'_>) -> impl Iterator<Item = Unfilled<'_>> {
    columns.into_iter().map(move |(id, position)| Unfilled { id, position, part })
}

/// In order of their places, each once, for the first pod that needs it.
fn by_place(mut columns: Vec<Unfilled<'_>>) -> Vec<Unfilled<'_>> {
    columns.sort_by_key(|one| one.id);
    columns.dedup_by_key(|one| one.id);
    columns
}

impl FreshColumn<'_> {
    fn make(&mut self, context: Measured<'_>) {
        let context = context.at(self.position);
        match &mut self.fresh {
            Fresh::Filter(rule, made) => *made = Some(FilterColumn::new(rule, context)),
            Fresh::Score(rule, made) => *made = Some(ScoreColumn::new(rule, context)),
        }
    }
}
