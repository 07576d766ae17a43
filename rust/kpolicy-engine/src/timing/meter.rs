//! Measures how long single rules take in one cycle.
//!
//! There are two kinds of [`Meter`]: one measures, and [`Unmetered`] leaves nothing in the compiled
//! cycle. Answers that were remembered, and not computed, are not counted.

use std::cell::{Cell, Ref, RefCell};

use rustc_hash::FxHashMap;

use crate::api::Stopwatch;
use crate::rules::{Code, PreparedFilter};
use crate::snapshot::{Cluster, NodeSlot};

use super::point::{Point, StatusCode};

/// Time counts for the rule that is named next.
pub(crate) trait Meter: Copy {
    /// About the rule at this position in the profile's filters, or scores, from here on.
    #[must_use]
    fn at(self, position: usize) -> Self;

    /// What was done until now was not a rule's doing.
    fn begin(self);

    /// Until now the rule was asked about the pod as a whole. The last word counts.
    fn whole(self, point: Point, status: impl FnOnce() -> StatusCode);

    /// Until now the rule scored so many nodes.
    fn scored(self, nodes: usize);

    /// Until now the rule judged nodes, and `tell` says what came of it.
    fn judged(self, tell: impl FnOnce(&mut Verdicts<'_>));

    /// Adds what other meters of the same cycle measured.
    fn add(self, taken: &Taken);

    /// Whether anything is measured.
    fn measures(self) -> bool {
        true
    }
}

/// The kind that measures nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unmetered;

impl Meter for Unmetered {
    fn at(self, _: usize) -> Self {
        self
    }

    fn begin(self) {}

    fn whole(self, _: Point, _: impl FnOnce() -> StatusCode) {}

    fn scored(self, _: usize) {}

    fn judged(self, _: impl FnOnce(&mut Verdicts<'_>)) {}

    fn add(self, _: &Taken) {}

    fn measures(self) -> bool {
        false
    }
}

/// The times of one rule at one extension point in one cycle.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// Otherwise the rule was not asked.
    pub(crate) is_reported: bool,
    pub(crate) took_ns: u64,
    /// By status, as in [`StatusCode::ALL`].
    pub(crate) counts: [u64; StatusCode::ALL.len()],
}

/// By point, as in [`Point::ALL`].
pub(super) type OfRule = [Spent; Point::ALL.len()];

/// What rules took on other threads, by position; empty where nothing was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken(Vec<OfRule>);

impl Taken {
    /// Does `work` with a meter of its own, if it is to be measured.
    pub(crate) fn by(
        stopwatch: Option<&dyn Stopwatch>,
        positions: usize,
        work: impl FnOnce(Option<Metered<'_>>),
    ) -> Self {
        let tally = stopwatch.map(|stopwatch| Tally::new(stopwatch, positions));
        work(tally.as_ref().map(Tally::meter));
        Self(tally.map(|tally| tally.rules.into_inner()).unwrap_or_default())
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), OfRule::default());
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            own.iter_mut().zip(other).for_each(|(own, other)| own.add(other));
        }
    }
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.is_reported |= other.is_reported;
        self.took_ns += other.took_ns;
        self.counts.iter_mut().zip(other.counts).for_each(|(own, other)| *own += other);
    }
}

/// What one cycle's rules took.
pub(crate) struct Tally<'a> {
    stopwatch: &'a dyn Stopwatch,
    since_ns: Cell<u64>,
    /// By position: of filters and of scores alike, as no point is of both.
    rules: RefCell<Vec<OfRule>>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(stopwatch: &'a dyn Stopwatch, positions: usize) -> Self {
        let rules = RefCell::new(vec![OfRule::default(); positions]);
        Self { stopwatch, since_ns: Cell::new(stopwatch.elapsed_ns()), rules }
    }

    pub(crate) fn meter(&self) -> Metered<'_> {
        Metered { tally: self, position: 0 }
    }

    /// By position in the profile.
    pub(crate) fn rules(&self) -> Ref<'_, Vec<OfRule>> {
        self.rules.borrow()
    }

    fn lap_ns(&self) -> u64 {
        let now_ns = self.stopwatch.elapsed_ns();
        now_ns.saturating_sub(self.since_ns.replace(now_ns))
    }
}

/// The kind that measures.
#[derive(Clone, Copy)]
pub(crate) struct Metered<'a> {
    tally: &'a Tally<'a>,
    position: usize,
}

impl Metered<'_> {
    fn spend(self, point: Point, change: impl FnOnce(&mut Spent)) {
        let took_ns = self.tally.lap_ns();
        let mut rules = self.tally.rules.borrow_mut();
        if let Some(spent) = rules.get_mut(self.position).map(|rule| &mut rule[point as usize]) {
            spent.is_reported = true;
            spent.took_ns += took_ns;
            change(spent);
        }
    }
}

impl Meter for Metered<'_> {
    fn at(self, position: usize) -> Self {
        Self { position, ..self }
    }

    fn begin(self) {
        self.tally.lap_ns();
    }

    fn whole(self, point: Point, status: impl FnOnce() -> StatusCode) {
        self.spend(point, |spent| {
            spent.counts = [0; StatusCode::ALL.len()];
            spent.counts[status() as usize] = 1;
        });
    }

    fn scored(self, nodes: usize) {
        self.spend(Point::Score, |spent| spent.counts[0] += nodes as u64);
    }

    fn judged(self, tell: impl FnOnce(&mut Verdicts<'_>)) {
        self.spend(Point::Filter, |spent| {
            tell(&mut Verdicts { counts: &mut spent.counts, known: FxHashMap::default() });
        });
        // Sorting verdicts is none of the rule's doing.
        self.begin();
    }

    fn add(self, taken: &Taken) {
        let mut rules = self.tally.rules.borrow_mut();
        for (own, other) in rules.iter_mut().zip(&taken.0) {
            own.iter_mut().zip(other).for_each(|(own, other)| own.add(other));
        }
    }
}

/// Where it does not matter that nothing is left of one that measures nothing.
impl<M: Meter> Meter for Option<M> {
    fn at(self, position: usize) -> Self {
        self.map(|meter| meter.at(position))
    }

    fn begin(self) {
        if let Some(meter) = self {
            meter.begin();
        }
    }

    fn whole(self, point: Point, status: impl FnOnce() -> StatusCode) {
        if let Some(meter) = self {
            meter.whole(point, status);
        }
    }

    fn scored(self, nodes: usize) {
        if let Some(meter) = self {
            meter.scored(nodes);
        }
    }

    fn judged(self, tell: impl FnOnce(&mut Verdicts<'_>)) {
        if let Some(meter) = self {
            meter.judged(tell);
        }
    }

    fn add(self, taken: &Taken) {
        if let Some(meter) = self {
            meter.add(taken);
        }
    }

    fn measures(self) -> bool {
        self.is_some()
    }
}

/// Counts the nodes by the status that a filter gave each.
pub(crate) struct Verdicts<'a> {
    counts: &'a mut [u64; StatusCode::ALL.len()],
    known: FxHashMap<Code, StatusCode>,
}

impl Verdicts<'_> {
    /// Codes by slot, of every node.
    pub(crate) fn all(&mut self, filter: &dyn PreparedFilter, codes: &[Code], cluster: &Cluster) {
        let nodes = cluster.nodes();
        // Mostly every node passes. Without an early end, several codes are compared at once.
        if codes.iter().fold(true, |all, code| all & code.passes()) {
            self.counts[StatusCode::Success as usize] += nodes.len() as u64;
            return;
        }
        let mut passing = nodes.len() as u64;
        for (index, (is_live, code)) in nodes.columns().live.iter().zip(codes).enumerate() {
            if *is_live
                && !code.passes()
                && let Some(slot) = NodeSlot::at(index)
            {
                passing -= 1;
                self.one(filter, slot, *code, cluster);
            }
        }
        self.counts[StatusCode::Success as usize] += passing;
    }

    pub(crate) fn one(
        &mut self,
        filter: &dyn PreparedFilter,
        slot: NodeSlot,
        code: Code,
        cluster: &Cluster,
    ) {
        let status = match () {
            () if code.passes() => StatusCode::Success,
            () if code.is_failure() => StatusCode::Error,
            () if filter.describes_code(code) => {
                *self.known.entry(code).or_insert_with(|| rejection(filter, slot, code, cluster))
            }
            () => rejection(filter, slot, code, cluster),
        };
        self.counts[status as usize] += 1;
    }
}

fn rejection(
    filter: &dyn PreparedFilter,
    slot: NodeSlot,
    code: Code,
    cluster: &Cluster,
) -> StatusCode {
    let view = cluster.nodes().view(slot);
    view.map_or(StatusCode::Unresolvable, |view| {
        filter.describe(cluster, view, code).rejection.into()
    })
}
