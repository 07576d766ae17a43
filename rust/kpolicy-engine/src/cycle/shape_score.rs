//! One score of a shape: its column, its weight, and the extremes it was normalised by last.

use crate::heap::flat_bytes;
use crate::rules::{Feasible, Fitted, Normalization, PreparedScore, Scale, ScoreRule};
use crate::snapshot::columns::behind;
use crate::snapshot::{Cluster, Generation, NodeSlot};
use crate::timing::{Meter, Point, StatusCode};

use super::column::Column;
use super::context::Context;
use super::score_answers::{ScoreColumn, Scratch, is_ready};
use super::spare::BytesToFill;
use super::store::{ColumnId, Columns};
use super::totals::{Movement, ScoreStore};

#[derive(Debug)]
enum Source {
    Shared(ColumnId),
    /// A rule that reads the feasible nodes has its column to itself.
    Own(Box<ScoreColumn>),
}

#[derive(Debug)]
pub(super) struct ShapeScore {
    weight: i32,
    scale: Scale,
    source: Source,
    fitted: Fitted,
    /// For rules that normalise by themselves: 0–100 by slot.
    normalized: Vec<i64>,
}

impl ShapeScore {
    pub(super) fn new(column: ColumnId, rule: &ScoreRule) -> Self {
        Self {
            weight: i32::try_from(rule.weight).unwrap_or(i32::MAX),
            scale: rule.scale,
            source: Source::Shared(column),
            fitted: Fitted::NONE,
            normalized: Vec::new(),
        }
    }

    /// Its column, if that is shared.
    pub(super) fn shared(&self) -> Option<ColumnId> {
        match self.source {
            Source::Shared(id) => Some(id),
            Source::Own(_) => None,
        }
    }

    /// What it holds besides itself and a shared column.
    pub(super) fn weigh(&mut self) -> usize {
        let own = match &mut self.source {
            Source::Own(column) => size_of::<ScoreColumn>() + column.weigh(),
            Source::Shared(_) => 0,
        };
        own + flat_bytes(&self.normalized)
    }

    /// Adds the scores of some nodes as if only they were feasible.
    pub(super) fn add_only<M: Meter>(
        &mut self,
        rule: &ScoreRule,
        slots: &[NodeSlot],
        feasible: Feasible<'_>,
        context: Context<'_, M>,
        store: &mut ScoreStore,
        totals: &mut [i32],
    ) {
        if let Source::Own(column) = &mut self.source {
            column.see_feasible(rule, feasible, context, &mut store.scratch);
        }
        if let Some((_, prepared)) = self.active(&store.columns) {
            let Context { cluster, meter, .. } = context;
            let normalized = normalized_only(prepared, self.scale, slots, feasible, cluster, meter);
            for (total, normalized) in totals.iter_mut().zip(normalized) {
                *total += self.weight * normalized;
            }
        }
        if let Source::Own(column) = &mut self.source {
            column.forget_feasible();
        }
    }

    fn column<'a>(&'a self, columns: &'a dyn Columns<ScoreColumn>) -> Option<&'a ScoreColumn> {
        match &self.source {
            Source::Own(column) => Some(column),
            Source::Shared(id) => columns.get(*id),
        }
    }

    pub(super) fn prepared<'a>(
        &'a self,
        columns: &'a dyn Columns<ScoreColumn>,
    ) -> Option<&'a dyn PreparedScore> {
        self.column(columns)?.prepared()
    }

    /// The column and its rule, if the rule is active in this cycle.
    fn active<'a>(
        &'a self,
        columns: &'a dyn Columns<ScoreColumn>,
    ) -> Option<(&'a ScoreColumn, &'a dyn PreparedScore)> {
        let column = self.column(columns)?;
        Some((column, column.active()?))
    }

    pub(super) fn follow<M: Meter>(
        &mut self,
        rule: &ScoreRule,
        context: Context<'_, M>,
        store: &mut ScoreStore,
    ) {
        match &mut self.source {
            Source::Own(column) => column.follow(rule, context, &mut store.scratch),
            Source::Shared(id) => {
                if let Some(column) = store.columns.get_mut(*id) {
                    column.follow(rule, context, &mut store.scratch);
                }
                if let Some(left) = self.leave_shared(rule, context, &store.columns) {
                    store.columns.release(left);
                }
            }
        }
    }

    /// Where the rule reads the feasible nodes: takes a column of its own, and gives the place of the
    /// shared one that it does not use any more.
    pub(super) fn leave_shared<M: Meter>(
        &mut self,
        rule: &ScoreRule,
        context: Context<'_, M>,
        columns: &dyn Columns<ScoreColumn>,
    ) -> Option<ColumnId> {
        let id = self.shared().filter(|id| columns.get(*id).is_some_and(Column::reads_feasible))?;
        self.source = Source::Own(Box::new(ScoreColumn::new(rule, context)));
        Some(id)
    }

    /// What the score will hold of each node.
    pub(super) fn bytes_to_fill(
        &self,
        rule: &ScoreRule,
        columns: &dyn Columns<ScoreColumn>,
    ) -> BytesToFill {
        let Some((column, prepared)) = self.active(columns) else { return BytesToFill::default() };
        let normalization = rule.scale.normalization(prepared);
        let normalized = match normalization {
            Normalization::Whole => size_of::<i64>(),
            _ => 0,
        };
        let answer = if is_ready(normalization) { size_of::<u8>() } else { size_of::<f64>() };
        match column.reads_feasible() {
            true => BytesToFill { taken: 0, apart: normalized + answer },
            false if column.is_unfilled() => BytesToFill { taken: answer, apart: normalized },
            false => BytesToFill { taken: 0, apart: normalized },
        }
    }

    /// Brings what the score comes to up to date; a shared column is filled. Tells whether every node
    /// is to be summed up anew.
    #[allow(clippy::too_many_arguments, reason = "what a shape has and what it shares are apart")]
    pub(super) fn update<M: Meter>(
        &mut self,
        rule: &ScoreRule,
        feasible: Feasible<'_>,
        movement: Movement,
        seen: Option<Generation>,
        context: Context<'_, M>,
        columns: &dyn Columns<ScoreColumn>,
        scratch: &mut Scratch,
    ) -> bool {
        let Context { cluster, meter, .. } = context;
        let mut is_rewritten = false;
        if let Source::Own(column) = &mut self.source {
            column.fill(rule, context, scratch);
            if column.awaits_feasible() || movement != Movement::None {
                column.see_feasible(rule, feasible, context, scratch);
                is_rewritten = true;
            }
        }
        let mut normalized = std::mem::take(&mut self.normalized);
        let Some((column, prepared)) = self.active(columns) else {
            // Whether it is active may have changed with the nodes.
            let had_a_say = self.fitted != Fitted::SILENT;
            self.fitted = Fitted::SILENT;
            return is_rewritten || had_a_say;
        };
        is_rewritten |= seen.is_none_or(|seen| column.rewritten() > seen);
        let normalization = self.scale.normalization(prepared);
        let is_as_before = movement == Movement::None
            && self.fitted != Fitted::SILENT
            && seen.is_some_and(|seen| column.is_as_of(seen) && column.rewritten() <= seen);
        let fitted = match normalization.reads_extremes() {
            true if is_as_before => self.fitted.clone(),
            true => column.fit(feasible, cluster, meter),
            false => Fitted::NONE,
        };
        if *normalization == Normalization::Whole {
            meter.begin();
            normalized.clear();
            normalized.resize(feasible.mask.len(), 0);
            self.scale.normalize_all(prepared, cluster, feasible, column.raw(), &mut normalized);
            meter.whole(Point::Normalize, || StatusCode::Success);
            is_rewritten = true;
        }
        is_rewritten |= fitted != self.fitted;
        self.fitted = fitted;
        self.normalized = normalized;
        is_rewritten
    }

    /// Adds the weighted scores of some nodes to their sums.
    pub(super) fn add_some(
        &self,
        slots: &[NodeSlot],
        columns: &dyn Columns<ScoreColumn>,
        sums: &mut [i32],
    ) {
        if let Some(alike) = self.alike(columns) {
            sums.iter_mut().for_each(|sum| *sum += alike);
            return;
        }
        let Some((column, prepared)) = self.active(columns) else { return };
        let add = |sum: &mut i32, normalized| *sum += self.weight * narrow(normalized);
        let sums = slots.iter().copied().zip(sums);
        match self.scale.normalization(prepared) {
            Normalization::Whole => sums.for_each(|(slot, sum)| {
                add(sum, self.normalized.get(slot.index()).copied().unwrap_or(0));
            }),
            other => column.scores_of(sums, other, &self.fitted, add),
        }
    }

    /// What every node gets, where all get the same.
    pub(super) fn alike(&self, columns: &dyn Columns<ScoreColumn>) -> Option<i32> {
        let (column, prepared) = self.active(columns)?;
        let constant = column.constant()?;
        Some(self.weight * narrow(self.scale.normalization(prepared).apply(&self.fitted, constant)))
    }

    /// Sets the totals of the nodes from a slot on to `base` and their weighted scores, where that is quicker
    /// than adding these. Tells whether it is.
    pub(super) fn begin(
        &self,
        base: i32,
        columns: &dyn Columns<ScoreColumn>,
        first: usize,
        totals: &mut [i32],
    ) -> bool {
        let column = self.active(columns).map(|(column, _)| column);
        column.is_some_and(|column| column.begin(base, self.weight, first, totals))
    }

    /// Adds the weighted scores of the nodes from a slot on to their totals.
    pub(super) fn add_all(
        &self,
        columns: &dyn Columns<ScoreColumn>,
        first: usize,
        totals: &mut [i32],
        meter: impl Meter,
    ) {
        let Some((column, prepared)) = self.active(columns) else { return };
        meter.begin();
        let normalization = self.scale.normalization(prepared);
        if *normalization == Normalization::Whole {
            for (total, value) in totals.iter_mut().zip(behind(&self.normalized, first)) {
                *total = total.wrapping_add(self.weight.wrapping_mul(narrow(*value)));
            }
        } else {
            column.add_all(normalization, &self.fitted, self.weight, first, totals);
            if normalization.reads_extremes() {
                meter.whole(Point::Normalize, || StatusCode::Success);
            }
        }
    }
}

/// Scores within 0–100.
fn narrow(normalized: i64) -> i32 {
    i32::try_from(normalized).unwrap_or(0)
}

/// One score of some nodes, normalised over them.
fn normalized_only(
    prepared: &dyn PreparedScore,
    scale: Scale,
    slots: &[NodeSlot],
    feasible: Feasible<'_>,
    cluster: &Cluster,
    meter: impl Meter,
) -> Vec<i32> {
    meter.begin();
    let raw_of = |slot: &NodeSlot| {
        cluster.nodes().view(*slot).map_or(0.0, |view| prepared.raw(cluster, view))
    };
    let raw: Vec<f64> = slots.iter().map(raw_of).collect();
    meter.scored(slots.len());
    let normalization = scale.normalization(prepared);
    if *normalization == Normalization::Whole {
        let mut by_slot = vec![0.0; feasible.mask.len()];
        for (slot, raw) in slots.iter().zip(&raw) {
            if let Some(cell) = by_slot.get_mut(slot.index()) {
                *cell = *raw;
            }
        }
        let mut normalized = vec![0; feasible.mask.len()];
        scale.normalize_all(prepared, cluster, feasible, &by_slot, &mut normalized);
        meter.whole(Point::Normalize, || StatusCode::Success);
        let of = |slot: &NodeSlot| narrow(normalized.get(slot.index()).copied().unwrap_or(0));
        return slots.iter().map(of).collect();
    }
    let fitted = Fitted::over(raw.iter().copied());
    let apply = |raw: &f64| narrow(normalization.apply(&fitted, *raw));
    let normalized = raw.iter().map(apply).collect();
    if normalization.reads_extremes() {
        meter.whole(Point::Normalize, || StatusCode::Success);
    }
    normalized
}
