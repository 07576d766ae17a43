//! Totals: every feasible node's weighted sum, kept from decision to decision.
//!
//! Owns what a shape knows of scores. Touched nodes are summed up anew; all are, where a column was
//! rewritten or the extremes of a normalisation moved. The outcome always equals summing up from
//! scratch.

use crate::program::Profile;
use crate::rules::{Feasible, Fitted, Normalization, PreparedScore, Score};
use crate::snapshot::{Change, Changes, Cluster, NodeSlot, Pod};

use super::score_column::{ScoreColumn, Scratch};
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

/// Shared columns, and room to work them out in.
#[derive(Debug, Default)]
pub struct ScoreStore {
    pub columns: Store<ScoreColumn>,
    scratch: Scratch,
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
    pub fn release(self, store: &mut ScoreStore) {
        for score in self.scores {
            if let Source::Shared(id) = score.source {
                store.columns.release(id);
            }
        }
    }

    /// Brings the prepared scores up to date, without asking any node.
    pub fn follow(
        &mut self,
        profile: &Profile,
        pod: &Pod,
        cluster: &Cluster,
        store: &mut ScoreStore,
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
        store: &mut ScoreStore,
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
                column.see_feasible(cluster, feasible, &mut store.scratch);
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
        store: &mut ScoreStore,
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

    fn sum_all(&mut self, feasible: Feasible<'_>, store: &ScoreStore) {
        // What every node gets alike is added once.
        let alike = self.scores.iter().filter_map(|score| score.alike(store)).sum();
        self.totals.clear();
        self.totals.resize(feasible.mask.len(), alike);
        for score in self.scores.iter().filter(|score| score.alike(store).is_none()) {
            score.add_all(store, &mut self.totals);
        }
        for (total, is_feasible) in self.totals.iter_mut().zip(feasible.mask) {
            *total = if *is_feasible { *total } else { INFEASIBLE };
        }
    }

    fn sum(&mut self, slot: NodeSlot, feasible: Feasible<'_>, store: &ScoreStore) {
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
        store: &'a ScoreStore,
    ) -> Option<(&'a ScoreColumn, &'a dyn PreparedScore)> {
        let column = match &self.source {
            Source::Own(column) => column,
            Source::Shared(id) => store.columns.get(*id)?,
        };
        Some((column, column.prepared().filter(|_| column.is_active())?))
    }

    fn follow(&mut self, rule: &dyn Score, pod: &Pod, cluster: &Cluster, store: &mut ScoreStore) {
        match &mut self.source {
            Source::Own(column) => column.follow(rule, pod, cluster, &mut store.scratch),
            Source::Shared(id) => {
                let Some(column) = store.columns.get_mut(*id) else { return };
                column.follow(rule, pod, cluster, &mut store.scratch);
                if column.reads_feasible() {
                    store.columns.release(*id);
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
        store: &mut ScoreStore,
    ) -> bool {
        let mut is_rewritten = false;
        match &mut self.source {
            Source::Shared(id) => {
                if let Some(column) = store.columns.get_mut(*id) {
                    column.fill(cluster, &mut store.scratch);
                }
            }
            Source::Own(column) => {
                column.fill(cluster, &mut store.scratch);
                if column.owes_feasible() || has_moved {
                    column.see_feasible(cluster, feasible, &mut store.scratch);
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
        let fitted = match prepared.normalization().reads_extremes() {
            true => column.fit(feasible, cluster),
            false => Fitted::NONE,
        };
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

    fn weighted(&self, slot: NodeSlot, store: &ScoreStore) -> i32 {
        let Some((column, prepared)) = self.active(store) else { return 0 };
        let normalized = match prepared.normalization() {
            Normalization::Whole => self.normalized.get(slot.index()).copied().unwrap_or(0),
            other => column.score_of(slot, other, &self.fitted),
        };
        self.weight * narrow(normalized)
    }

    /// What every node gets, where all get the same.
    fn alike(&self, store: &ScoreStore) -> Option<i32> {
        let (column, prepared) = self.active(store)?;
        let constant = column.constant()?;
        Some(self.weight * narrow(prepared.normalization().apply(&self.fitted, constant)))
    }

    fn add_all(&self, store: &ScoreStore, totals: &mut [i32]) {
        let Some((column, prepared)) = self.active(store) else { return };
        if prepared.normalization() == &Normalization::Whole {
            for (total, value) in totals.iter_mut().zip(&self.normalized) {
                *total = total.wrapping_add(self.weight.wrapping_mul(narrow(*value)));
            }
        } else {
            column.add_all(prepared.normalization(), &self.fitted, self.weight, totals);
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
