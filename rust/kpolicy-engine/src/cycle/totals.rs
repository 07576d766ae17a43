//! Totals: every feasible node's weighted sum, kept from decision to decision.
//!
//! Owns what a shape knows of scores. Touched nodes are summed up anew; all are, where a column was
//! rewritten or the extremes of a normalisation moved. The outcome always equals summing up from
//! scratch.

use crate::program::Profile;
use crate::rules::{Feasible, Fitted, Normalization, PreparedScore, Score};
use crate::snapshot::{Change, Changes, Cluster, NodeSlot, Pod};

use super::columns::{ScoreColumn, extremes};
use super::store::{ColumnId, Store};

/// The total of a node that is not feasible.
pub const INFEASIBLE: i32 = i32::MIN;

#[derive(Debug)]
enum Source {
    Shared(ColumnId),
    /// A rule that reads the feasible nodes has its column to itself.
    Own(Box<ScoreColumn>),
}

#[derive(Debug)]
struct ShapeScore {
    weight: i32,
    source: Source,
    fitted: Fitted,
    /// For rules that normalise by themselves: 0–100 by slot.
    normalized: Vec<i64>,
}

#[derive(Debug)]
pub struct Totals {
    /// By position in the profile's scores.
    scores: Vec<ShapeScore>,
    totals: Vec<i32>,
    /// The generation summed up last; `None` before the first time.
    seen: Option<u64>,
}

impl Totals {
    pub fn new(columns: Vec<ColumnId>, profile: &Profile) -> Self {
        let of = |(id, rule): (ColumnId, &crate::rules::ScoreRule)| ShapeScore {
            weight: i32::try_from(rule.weight).unwrap_or(i32::MAX),
            source: Source::Shared(id),
            fitted: Fitted::NONE,
            normalized: Vec::new(),
        };
        let scores = columns.into_iter().zip(&profile.scores).map(of).collect();
        Self { scores, totals: Vec::new(), seen: None }
    }

    /// By slot; [`INFEASIBLE`] where a node is not feasible.
    pub fn by_slot(&self) -> &[i32] {
        &self.totals
    }

    pub fn bytes(&self) -> usize {
        let of_score = |score: &ShapeScore| {
            let own = match &score.source {
                Source::Own(column) => column.bytes(),
                Source::Shared(_) => 0,
            };
            own + score.normalized.len() * size_of::<i64>()
        };
        self.totals.len() * size_of::<i32>() + self.scores.iter().map(of_score).sum::<usize>()
    }

    /// Gives its columns back.
    pub fn release(self, store: &mut Store<ScoreColumn>) {
        for score in self.scores {
            if let Source::Shared(id) = score.source {
                store.release(id);
            }
        }
    }

    /// Brings the prepared scores up to date, without asking any node.
    pub fn follow(
        &mut self,
        profile: &Profile,
        pod: &Pod,
        cluster: &Cluster,
        store: &mut Store<ScoreColumn>,
    ) {
        for (score, rule) in self.scores.iter_mut().zip(&profile.scores) {
            score.follow(rule.rule.as_ref(), pod, cluster, store);
        }
    }

    /// Scores some nodes as if only they were feasible, in their order.
    pub fn of_only(
        &mut self,
        slots: &[NodeSlot],
        cluster: &Cluster,
        store: &Store<ScoreColumn>,
    ) -> Vec<i32> {
        let mut mask = vec![false; cluster.nodes().slots()];
        for slot in slots {
            if let Some(cell) = mask.get_mut(slot.index()) {
                *cell = true;
            }
        }
        let feasible = Feasible { mask: &mask, count: slots.len() };
        let mut totals = vec![0_i32; slots.len()];
        for score in &mut self.scores {
            if let Source::Own(column) = &mut score.source {
                column.see_feasible(cluster, feasible);
            }
            if let Some((_, prepared)) = score.active(store) {
                let normalized = normalized_only(prepared, slots, feasible, cluster);
                for (total, normalized) in totals.iter_mut().zip(normalized) {
                    *total += score.weight * normalized;
                }
            }
            if let Source::Own(column) = &mut score.source {
                column.forget_feasible();
            }
        }
        totals
    }

    /// Works out the total of every feasible node. `has_moved`: the feasible nodes are not those of
    /// the last time.
    pub fn update(
        &mut self,
        feasible: Feasible<'_>,
        has_moved: bool,
        cluster: &Cluster,
        store: &mut Store<ScoreColumn>,
    ) {
        let seen = self.seen.replace(cluster.generation());
        let mut is_rewritten = false;
        for score in &mut self.scores {
            is_rewritten |= score.update(feasible, has_moved, seen, cluster, store);
        }
        match changes_since(seen, cluster).filter(|_| !is_rewritten) {
            None => self.sum_all(feasible, store),
            Some((_, changes)) => {
                self.totals.resize(feasible.mask.len(), INFEASIBLE);
                for slot in changes.iter().filter_map(Change::slot) {
                    self.sum(slot, feasible, store);
                }
            }
        }
    }

    fn sum_all(&mut self, feasible: Feasible<'_>, store: &Store<ScoreColumn>) {
        self.totals.clear();
        self.totals.resize(feasible.mask.len(), 0);
        for score in &self.scores {
            if let Some((column, prepared)) = score.active(store) {
                score.add_all(column, prepared.normalization(), feasible.mask, &mut self.totals);
            }
        }
        for (total, is_feasible) in self.totals.iter_mut().zip(feasible.mask) {
            *total = if *is_feasible { *total } else { INFEASIBLE };
        }
    }

    fn sum(&mut self, slot: NodeSlot, feasible: Feasible<'_>, store: &Store<ScoreColumn>) {
        let is_feasible = feasible.mask.get(slot.index()).copied().unwrap_or(false);
        let total = if is_feasible {
            self.scores.iter().map(|score| score.weighted(slot, store)).sum()
        } else {
            INFEASIBLE
        };
        if let Some(cell) = self.totals.get_mut(slot.index()) {
            *cell = total;
        }
    }
}

impl ShapeScore {
    /// The column and its rule, if that has a say in this cycle.
    fn active<'a>(
        &'a self,
        store: &'a Store<ScoreColumn>,
    ) -> Option<(&'a ScoreColumn, &'a dyn PreparedScore)> {
        let column = match &self.source {
            Source::Own(column) => column,
            Source::Shared(id) => store.get(*id)?,
        };
        Some((column, column.prepared().filter(|_| column.is_active())?))
    }

    fn follow(
        &mut self,
        rule: &dyn Score,
        pod: &Pod,
        cluster: &Cluster,
        store: &mut Store<ScoreColumn>,
    ) {
        match &mut self.source {
            Source::Own(column) => column.follow(rule, pod, cluster),
            Source::Shared(id) => {
                let Some(column) = store.get_mut(*id) else { return };
                column.follow(rule, pod, cluster);
                if column.reads_feasible() {
                    store.release(*id);
                    self.source = Source::Own(Box::new(ScoreColumn::new(rule, pod, cluster)));
                }
            }
        }
    }

    /// Whether every node is to be summed up anew.
    fn update(
        &mut self,
        feasible: Feasible<'_>,
        has_moved: bool,
        seen: Option<u64>,
        cluster: &Cluster,
        store: &mut Store<ScoreColumn>,
    ) -> bool {
        let mut is_rewritten = false;
        match &mut self.source {
            Source::Shared(id) => {
                if let Some(column) = store.get_mut(*id) {
                    column.fill(cluster);
                }
            }
            Source::Own(column) => {
                column.fill(cluster);
                if column.owes_feasible() || has_moved {
                    column.see_feasible(cluster, feasible);
                    is_rewritten = true;
                }
            }
        }
        let mut normalized = std::mem::take(&mut self.normalized);
        let Some((column, prepared)) = self.active(store) else {
            // Whether it has a say may have changed with the nodes.
            let had_a_say = self.fitted != Fitted::SILENT;
            self.fitted = Fitted::SILENT;
            return is_rewritten || had_a_say;
        };
        is_rewritten |= seen.is_none_or(|seen| column.rewritten() > seen);
        let fitted = fit(column, prepared.normalization(), feasible.mask);
        if prepared.normalization() == &Normalization::Whole {
            normalized.clear();
            normalized.resize(feasible.mask.len(), 0);
            prepared.normalize_all(cluster, feasible, column.raw(), &mut normalized);
            is_rewritten = true;
        }
        is_rewritten |= fitted != self.fitted;
        self.fitted = fitted;
        self.normalized = normalized;
        is_rewritten
    }

    fn weighted(&self, slot: NodeSlot, store: &Store<ScoreColumn>) -> i32 {
        let Some((column, prepared)) = self.active(store) else { return 0 };
        let normalized = match prepared.normalization() {
            Normalization::Whole => self.normalized.get(slot.index()).copied().unwrap_or(0),
            other => other.apply(&self.fitted, column.raw_of(slot)),
        };
        self.weight * narrow(normalized)
    }

    /// Adds to every total; what it adds where a node is not feasible does not matter. Sums stay
    /// within 32 bits because the program's weights are bounded.
    fn add_all(
        &self,
        column: &ScoreColumn,
        normalization: &Normalization,
        feasible: &[bool],
        totals: &mut [i32],
    ) {
        let weight = self.weight;
        match (normalization, column.constant()) {
            (Normalization::Whole, _) => {
                for (total, value) in totals.iter_mut().zip(&self.normalized) {
                    *total = total.wrapping_add(weight.wrapping_mul(narrow(*value)));
                }
            }
            (_, Some(constant)) => {
                let value =
                    weight.wrapping_mul(narrow(normalization.apply(&self.fitted, constant)));
                totals.iter_mut().for_each(|total| *total = total.wrapping_add(value));
            }
            (Normalization::AsIs, None) => {
                for (total, raw) in totals.iter_mut().zip(column.raw()) {
                    *total = total.wrapping_add(weight.wrapping_mul(as_is(*raw)));
                }
            }
            _ => {
                let cells = totals.iter_mut().zip(feasible).zip(column.raw());
                for ((total, is_feasible), raw) in cells {
                    if *is_feasible {
                        let value = narrow(normalization.apply(&self.fitted, *raw));
                        *total = total.wrapping_add(weight.wrapping_mul(value));
                    }
                }
            }
        }
    }
}

/// Scores within 0–100.
fn narrow(normalized: i64) -> i32 {
    i32::try_from(normalized).unwrap_or(0)
}

/// The integer part of a score, held within 0–100, in steps that run on several lanes at once.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
#[inline]
fn as_is(raw: f64) -> i32 {
    const TO_INTEGER: f64 = 4_503_599_627_370_496.0;
    let held = if raw > 0.0 { raw } else { 0.0 };
    let held = if held < 100.0 { held } else { 100.0 };
    let rounded = held + TO_INTEGER;
    let floor = if rounded - TO_INTEGER > held { rounded - 1.0 } else { rounded };
    // The lowest bits of the sum are the integer.
    floor.to_bits() as u32 as i32
}

fn fit(column: &ScoreColumn, normalization: &Normalization, feasible: &[bool]) -> Fitted {
    if !normalization.reads_extremes() {
        return Fitted::NONE;
    }
    let (lowest, highest) = match column.constant() {
        Some(constant) => (constant, constant),
        None => extremes(column.raw(), feasible),
    };
    Fitted { lowest, highest }
}

/// One score of some nodes, normalised over them.
fn normalized_only(
    prepared: &dyn PreparedScore,
    slots: &[NodeSlot],
    feasible: Feasible<'_>,
    cluster: &Cluster,
) -> Vec<i32> {
    let raw_of = |slot: &NodeSlot| {
        cluster.nodes().view(*slot).map_or(0.0, |view| prepared.raw(cluster, view))
    };
    let raw: Vec<f64> = slots.iter().map(raw_of).collect();
    if prepared.normalization() == &Normalization::Whole {
        let mut by_slot = vec![0.0; feasible.mask.len()];
        for (slot, raw) in slots.iter().zip(&raw) {
            if let Some(cell) = by_slot.get_mut(slot.index()) {
                *cell = *raw;
            }
        }
        let mut normalized = vec![0; feasible.mask.len()];
        prepared.normalize_all(cluster, feasible, &by_slot, &mut normalized);
        let of = |slot: &NodeSlot| narrow(normalized.get(slot.index()).copied().unwrap_or(0));
        return slots.iter().map(of).collect();
    }
    let fitted = Fitted::over(raw.iter().copied());
    raw.iter().map(|raw| narrow(prepared.normalization().apply(&fitted, *raw))).collect()
}

/// The changes since a generation, if it is worth looking at them one by one.
pub fn changes_since(seen: Option<u64>, cluster: &Cluster) -> Option<(u64, Changes<'_>)> {
    let seen = seen?;
    let changes = cluster.log().since(seen)?;
    (changes.len() <= cluster.nodes().len()).then_some((seen, changes))
}
