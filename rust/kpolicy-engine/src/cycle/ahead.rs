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
use crate::timing::Unmetered;

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
}

/// How long making a shape ahead took: its share of what all that were made together took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AheadTimes {
    pub(crate) filter_ns: u64,
    pub(crate) score_ns: u64,
}

type Ahead<'a> = Context<'a, Unmetered>;

/// A shape that is made.
#[derive(Clone, Copy)]
struct Made<'a> {
    id: usize,
    context: Ahead<'a>,
}

/// A column that is not there yet.
enum Fresh<'a> {
    Filter(&'a FilterRule, Option<FilterColumn>),
    Score(&'a ScoreRule, Option<ScoreColumn>),
}

struct FreshColumn<'a> {
    key: Vec<u64>,
    context: Ahead<'a>,
    fresh: Fresh<'a>,
}

impl Shapes {
    /// Makes the shapes of these pods that are not there yet, if there are several.
    pub(super) fn make_ahead(
        &mut self,
        prospects: &[Prospect],
        program: &Program,
        cluster: &Cluster,
        stopwatch: &dyn Stopwatch,
    ) {
        let began_ns = stopwatch.elapsed_ns();
        let new = self.new_keys(prospects, program, cluster);
        if new.len() < 2 {
            return;
        }
        self.prepare(&new);
        let mut made: Vec<Made<'_>> = Vec::with_capacity(new.len());
        for (key, context) in &new {
            made.push(Made {
                id: self.add(key, *context, Some(AheadTimes::default())),
                context: *context,
            });
        }
        let mut filled = self.with_room(&made);
        // Places that were free are taken in any order.
        filled.sort_unstable_by_key(|made| made.id);
        self.fill_filters(&filled);
        let filtered_ns = stopwatch.elapsed_ns();
        self.fill_scores(&filled);
        made.iter().for_each(|made| self.weigh(made.id));
        let shapes = made.len() as u64;
        let took = AheadTimes {
            filter_ns: filtered_ns.saturating_sub(began_ns) / shapes,
            score_ns: stopwatch.elapsed_ns().saturating_sub(filtered_ns) / shapes,
        };
        made.iter().for_each(|made| self.note_ahead(made.id, took));
    }

    /// Keys of shapes that are not there, each once, with the first pod that has it.
    fn new_keys<'a>(
        &self,
        prospects: &'a [Prospect],
        program: &'a Program,
        cluster: &'a Cluster,
    ) -> Vec<(ShapeKey, Ahead<'a>)> {
        let mut seen: FxHashSet<Box<[u64]>> = FxHashSet::default();
        let mut new = Vec::new();
        for prospect in prospects {
            let Some(profile) = program.profiles.get(prospect.profile) else { continue };
            let mut key = ShapeKey::default();
            key.set(prospect.profile, profile, &prospect.pod);
            if !self.has(&key) && seen.insert(key.parts().into()) {
                let pod = prospect.pod.as_ref();
                new.push((key, Context { profile, pod, cluster, meter: Unmetered }));
            }
        }
        new
    }

    /// Prepares the rules of the columns that are not there.
    fn prepare(&mut self, new: &[(ShapeKey, Ahead<'_>)]) {
        let mut seen: FxHashSet<Vec<u64>> = FxHashSet::default();
        let mut columns: Vec<FreshColumn<'_>> = Vec::new();
        for (key, context) in new {
            let Profile { filters, scores, .. } = context.profile;
            let of_filters = filters.iter().map(|rule| Fresh::Filter(rule, None));
            let of_scores = scores.iter().map(|rule| Fresh::Score(rule, None));
            for (position, fresh) in of_filters.chain(of_scores).enumerate() {
                let key = key.of_column(position);
                let is_there = match fresh {
                    Fresh::Filter(..) => self.stores.filters.has(&key),
                    Fresh::Score(..) => self.stores.scores.columns.has(&key),
                };
                if !is_there && seen.insert(key.clone()) {
                    columns.push(FreshColumn { key, context: *context, fresh });
                }
            }
        }
        each(&mut columns, || (), |(), column| column.make());
        for column in columns {
            match column.fresh {
                Fresh::Filter(_, Some(made)) => {
                    self.stores.filters.add(&column.key, made);
                }
                Fresh::Score(_, Some(made)) => {
                    self.stores.scores.columns.add(&column.key, made);
                }
                Fresh::Filter(_, None) | Fresh::Score(_, None) => {}
            }
        }
    }

    /// The first of these for whose columns there is room, of those whose nodes are all to be judged.
    fn with_room<'a>(&mut self, made: &[Made<'a>]) -> Vec<Made<'a>> {
        let mut bytes = 0;
        let mut first: Vec<Made<'a>> = Vec::new();
        for made in made {
            let Made { id, context } = *made;
            let Some((shape, stores)) = self.shape_and_stores(id) else { continue };
            shape.follow_filters(context, stores);
            let prepared = shape.prepared(stores);
            let left = pre_filter::run(context.profile, &prepared, context.cluster);
            if !matches!(left, Ok(NodesToCheck::All)) {
                continue;
            }
            let slots = context.cluster.nodes().slots();
            let own = shape.bytes_to_fill(slots, context.profile, stores);
            if !self.make_room(bytes + own) {
                break;
            }
            bytes += own;
            first.push(*made);
        }
        first.retain(|made| self.shape(made.id).is_some());
        first
    }

    fn fill_filters(&mut self, made: &[Made<'_>]) {
        let (mut shapes, stores) = self.several_mut(made.iter().map(|made| made.id));
        let mut columns: Vec<(ColumnId, usize, Ahead<'_>)> = Vec::new();
        for (shape, made) in shapes.iter().zip(made) {
            let unfilled = shape.unfilled_filters(stores).into_iter();
            columns.extend(unfilled.map(|(id, position)| (id, position, made.context)));
        }
        in_places(&mut columns);
        let filters = stores.filters.several_mut(columns.iter().map(|(id, ..)| *id));
        let mut tasks: Vec<_> = filters.into_iter().zip(&columns).collect();
        each(
            &mut tasks,
            || (),
            |(), (column, (_, position, context))| {
                if let Some(rule) = context.profile.filters.get(*position) {
                    column.fill(rule, context.at(*position), &mut ());
                }
            },
        );
        let stores = &*stores;
        let mut tasks: Vec<_> = shapes.iter_mut().zip(made).collect();
        each(
            &mut tasks,
            || (),
            |(), (shape, made)| {
                shape.judge_changed(made.context.cluster, stores);
            },
        );
    }

    /// Of those pods that pass somewhere, where totals of all nodes are asked for.
    fn fill_scores(&mut self, made: &[Made<'_>]) {
        let is_scored = |made: &&Made<'_>| {
            let shape = self.shape(made.id);
            made.context.profile.percentage_of_nodes_to_score == 100
                && shape.is_some_and(|shape| shape.feasible().count > 0)
        };
        let made: Vec<Made<'_>> = made.iter().filter(is_scored).copied().collect();
        let (mut shapes, stores) = self.several_mut(made.iter().map(|made| made.id));
        let mut tasks: Vec<_> =
            shapes.iter_mut().zip(&made).map(|(shape, made)| (shape, made, Vec::new())).collect();
        {
            let stores = &*stores;
            each(
                &mut tasks,
                || (),
                |(), (shape, made, left)| {
                    *left = shape.leave_shared(made.context, stores);
                },
            );
        }
        for (shape, made, left) in &mut tasks {
            left.iter().for_each(|id| stores.scores.columns.release(*id));
            shape.follow_scores(made.context, stores);
        }
        fill_shared(
            &tasks.iter().map(|(shape, made, _)| (&***shape, made.context)).collect::<Vec<_>>(),
            stores,
        );
        let columns = &stores.scores.columns;
        each(&mut tasks, Scratch::default, |scratch, (shape, made, _)| {
            shape.sum_up(made.context, columns, scratch);
        });
    }
}

fn fill_shared(shapes: &[(&Shape, Ahead<'_>)], stores: &mut Stores) {
    let mut columns: Vec<(ColumnId, usize, Ahead<'_>)> = Vec::new();
    for (shape, context) in shapes {
        let unfilled = shape.unfilled_scores(stores).into_iter();
        columns.extend(unfilled.map(|(id, position)| (id, position, *context)));
    }
    in_places(&mut columns);
    let scores = stores.scores.columns.several_mut(columns.iter().map(|(id, ..)| *id));
    let mut tasks: Vec<_> = scores.into_iter().zip(&columns).collect();
    each(&mut tasks, Scratch::default, |scratch, (column, (_, position, context))| {
        if let Some(rule) = context.profile.scores.get(*position) {
            column.fill(rule, context.at(*position), scratch);
        }
    });
}

/// In order of their places, each once, for the first pod that needs it.
fn in_places(columns: &mut Vec<(ColumnId, usize, Ahead<'_>)>) {
    columns.sort_by_key(|(id, ..)| *id);
    columns.dedup_by_key(|(id, ..)| *id);
}

impl FreshColumn<'_> {
    fn make(&mut self) {
        match &mut self.fresh {
            Fresh::Filter(rule, made) => *made = Some(FilterColumn::new(rule, self.context)),
            Fresh::Score(rule, made) => *made = Some(ScoreColumn::new(rule, self.context)),
        }
    }
}
