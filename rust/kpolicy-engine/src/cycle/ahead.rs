//! Makes the shapes of pods that are decided next, side by side over the snapshot as it is.
//!
//! A decision finds its shape made and brings it up to date, as if an equal pod had been decided
//! before. So it comes to the same, whatever was placed in between. Which shapes are made rests on
//! the pods and the snapshot and not on the number of threads, so that rules spend the same.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::api::Stopwatch;
use crate::judging::Question;
use crate::judging::pre_filter::{self, NodesToCheck};
use crate::program::{Profile, Program};
use crate::rules::{FilterRule, ScoreRule};
use crate::snapshot::{Cluster, Pod};
use crate::threads::each;
use crate::timing::{Metered, Taken, Unmetered};

use super::context::Context;
use super::filter_answers::FilterColumn;
use super::score_answers::ScoreColumn;
use super::shape_key::ShapeKey;
use super::shapes::Shapes;

/// So many columns times nodes are worth looking ahead for, as they are worth waking the other threads, which
/// takes some ten thousand nanoseconds each time. Debug builds divide what they can: their tests have few nodes.
pub(crate) const LANES_MIN: usize = if cfg!(debug_assertions) { 2 } else { 500_000 };

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
pub(super) struct Part<'a> {
    number: usize,
    pub(crate) context: Ahead<'a>,
    /// By which it is measured.
    stopwatch: Option<&'a dyn Stopwatch>,
}

/// A shape that is made.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(crate) id: usize,
    pub(crate) part: Part<'a>,
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
    part: Part<'a>,
    /// What preparing it took.
    taken: Taken,
}

/// By number of the new shape.
pub(super) struct TakenBy(Vec<Taken>);

impl Shapes {
    /// Makes the shapes of these pods that are not there yet, if there are enough: on all threads if that is
    /// worth waking them.
    pub(super) fn make_ahead(
        &mut self,
        prospects: &Prospects,
        Question { program, threads, .. }: Question<'_>,
        cluster: &Cluster,
        stopwatch: &dyn Stopwatch,
    ) {
        let began_ns = stopwatch.elapsed_ns();
        let new = self.new_shapes(&prospects.pods, program, cluster, stopwatch);
        if !prospects.are_enough(new.len()) {
            return;
        }
        let fresh = self.fresh_columns(&new);
        let lanes = fresh.len().saturating_mul(cluster.nodes().slots());
        let make = || self.make_all(&new, fresh, stopwatch, began_ns);
        match lanes >= LANES_MIN && cluster.nodes().may_be_asked_at_once() {
            true => threads.inside(make),
            false => make(),
        }
    }

    fn make_all(
        &mut self,
        new: &[New<'_>],
        fresh: Vec<FreshColumn<'_>>,
        stopwatch: &dyn Stopwatch,
        began_ns: u64,
    ) {
        let mut taken = TakenBy(vec![Taken::default(); new.len()]);
        self.prepare(fresh, &mut taken);
        let mut made: Vec<Made<'_>> = Vec::with_capacity(new.len());
        for New { key, part } in new {
            let id = self.add(key, part.context, Some(AheadTimes::default()));
            made.push(Made { id, part: *part });
        }
        let (mut filled, bytes) = self.with_room(&made);
        // Places that were free are taken in any order.
        filled.sort_unstable_by_key(|made| made.id);
        let prepared_ns = stopwatch.elapsed_ns();
        let parts = self.fill(&filled, bytes, stopwatch, &mut taken);
        let ended_ns = stopwatch.elapsed_ns();
        made.iter().for_each(|made| self.weigh(made.id));
        let shapes = made.len() as u64;
        let of_scores = parts.of_scores(ended_ns.saturating_sub(prepared_ns));
        let filter_ns = (ended_ns.saturating_sub(began_ns) - of_scores) / shapes;
        let score_ns = of_scores / shapes;
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
        let mut key = ShapeKey::default();
        for prospect in prospects {
            if new.len() == count_max {
                break;
            }
            let Some(profile) = program.profiles.get(prospect.profile) else { continue };
            key.set(prospect.profile, profile, &prospect.pod, cluster);
            if !self.has(&key) && seen.insert(key.parts().into()) {
                let pod = prospect.pod.as_ref();
                let context = Context { profile, pod, cluster, meter: Unmetered };
                let stopwatch = prospect.is_timed.then_some(stopwatch);
                new.push(New {
                    key: key.clone(),
                    part: Part { number: new.len(), context, stopwatch },
                });
            }
        }
        new
    }

    /// The columns that are not there, each for the first shape that has it.
    fn fresh_columns<'a>(&self, new: &'a [New<'a>]) -> Vec<FreshColumn<'a>> {
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
                    let taken = Taken::default();
                    columns.push(FreshColumn { key, position, fresh, part: *part, taken });
                }
            }
        }
        columns
    }

    /// Prepares the rules of columns.
    fn prepare(&mut self, mut columns: Vec<FreshColumn<'_>>, taken: &mut TakenBy) {
        each(&mut columns, || (), |(), column| column.make());
        for column in columns {
            taken.add(column.part, &column.taken);
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

    /// The first of these for whose columns there is room, of those whose nodes are all to be judged, and
    /// how much they need.
    fn with_room<'a>(&mut self, made: &[Made<'a>]) -> (Vec<Made<'a>>, usize) {
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
            let own = slots * shape.bytes_to_fill(context.profile, stores).all();
            largest = largest.max(own);
            if !self.make_room(bytes + own) {
                break;
            }
            bytes += own;
            first.push(*made);
        }
        self.note_ahead_bytes(largest);
        first.retain(|made| self.shape(made.id).is_some());
        (first, bytes)
    }
}

pub(super) type Measured<'a> = Context<'a, Option<Metered<'a>>>;

impl Part<'_> {
    /// Does `work`, and measures it if it is to be measured.
    pub(super) fn measured(self, work: impl FnOnce(Measured<'_>)) -> Taken {
        let Profile { filters, scores, .. } = self.context.profile;
        let positions = filters.len().max(scores.len());
        Taken::by(self.stopwatch, positions, |meter| work(self.context.measured_by(meter)))
    }
}

impl TakenBy {
    pub(super) fn add(&mut self, part: Part<'_>, taken: &Taken) {
        if let Some(own) = self.0.get_mut(part.number) {
            own.add(taken);
        }
    }
}

impl FreshColumn<'_> {
    fn make(&mut self) {
        let (position, fresh) = (self.position, &mut self.fresh);
        self.taken = self.part.measured(|context| {
            let context = context.at(position);
            match fresh {
                Fresh::Filter(rule, made) => *made = Some(FilterColumn::new(rule, context)),
                Fresh::Score(rule, made) => *made = Some(ScoreColumn::new(rule, context)),
            }
        });
    }
}
