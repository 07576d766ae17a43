//! Totals: every feasible node's weighted sum, kept from decision to decision.
//!
//! Owns what a shape knows of scores. Touched nodes are summed up anew; all are, where a column was
//! rewritten or the extremes of a normalisation moved. The outcome always equals summing up from
//! scratch.

use crate::judging::pre_score_failure;
use crate::program::Profile;
use crate::rules::{Feasible, ScoreRule};
use crate::snapshot::{Change, Cluster, NodeSlot, Pod};
use crate::timing::Meter;

use super::best::Best;
use super::score_column::{ScoreColumn, Scratch};
use super::shape_score::ShapeScore;
use super::store::{ColumnId, Store};

/// The total of a node that is not feasible.
pub const INFEASIBLE: i32 = i32::MIN;

/// Shared columns, and room to work them out in.
#[derive(Debug, Default)]
pub struct ScoreStore {
    pub columns: Store<ScoreColumn>,
    pub scratch: Scratch,
}

/// What became of the feasible nodes since the totals were worked out last.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
    /// They are not the same.
    pub feasible: bool,
    /// Also nodes came or went among them that did not change themselves.
    pub beyond_changes: bool,
}

#[derive(Debug)]
pub struct Totals {
    /// By position in the profile's scores.
    scores: Vec<ShapeScore>,
    totals: Vec<i32>,
    best: Best,
    /// The generation summed up last; `None` before the first time.
    seen: Option<u64>,
}

impl Totals {
    pub fn new(columns: Vec<ColumnId>, profile: &Profile) -> Self {
        let of = |(id, rule): (ColumnId, &ScoreRule)| ShapeScore::new(id, rule.weight);
        let scores = columns.into_iter().zip(&profile.scores).map(of).collect();
        Self { scores, totals: Vec::new(), best: Best::default(), seen: None }
    }

    /// By slot; [`INFEASIBLE`] where a node is not feasible.
    pub fn by_slot(&self) -> &[i32] {
        &self.totals
    }

    /// The highest of them.
    pub fn best(&self) -> &Best {
        &self.best
    }

    pub fn bytes(&self) -> usize {
        self.totals.len() * size_of::<i32>()
            + self.scores.iter().map(ShapeScore::bytes).sum::<usize>()
    }

    /// Takes account of what its shared columns hold.
    pub fn weigh_columns(&self, store: &mut ScoreStore) {
        self.scores.iter().filter_map(ShapeScore::shared).for_each(|id| {
            store.columns.weigh(id, ScoreColumn::bytes);
        });
    }

    /// Gives its columns back.
    pub fn release(self, store: &mut ScoreStore) {
        self.scores.iter().filter_map(ShapeScore::shared).for_each(|id| store.columns.release(id));
    }

    /// Brings the prepared scores up to date, without asking any node.
    pub fn follow(
        &mut self,
        profile: &Profile,
        pod: &Pod,
        cluster: &Cluster,
        store: &mut ScoreStore,
        meter: impl Meter,
    ) {
        meter.begin();
        for (position, (score, rule)) in self.scores.iter_mut().zip(&profile.scores).enumerate() {
            score.follow(rule.rule.as_ref(), pod, cluster, store, meter.at(position));
        }
    }

    /// Why nodes cannot be scored, if so.
    pub fn failure(&self, profile: &Profile, store: &ScoreStore) -> Option<String> {
        pre_score_failure(profile, self.scores.iter().map(|score| score.prepared(store)))
    }

    /// Scores some nodes as if only they were feasible, in their order.
    pub fn of_only(
        &mut self,
        slots: &[NodeSlot],
        cluster: &Cluster,
        store: &mut ScoreStore,
        meter: impl Meter,
    ) -> Vec<i32> {
        let mut mask = vec![false; cluster.nodes().slots()];
        for slot in slots {
            if let Some(cell) = mask.get_mut(slot.index()) {
                *cell = true;
            }
        }
        let feasible = Feasible { mask: &mask, count: slots.len() };
        let mut totals = vec![0_i32; slots.len()];
        for (position, score) in self.scores.iter_mut().enumerate() {
            score.add_only(slots, feasible, cluster, store, &mut totals, meter.at(position));
        }
        totals
    }

    /// Works out the total of every feasible node.
    pub fn update(
        &mut self,
        feasible: Feasible<'_>,
        moved: Moved,
        cluster: &Cluster,
        store: &mut ScoreStore,
        meter: impl Meter,
    ) {
        let seen = self.seen.replace(cluster.generation());
        let mut is_rewritten = moved.beyond_changes;
        for (position, score) in self.scores.iter_mut().enumerate() {
            let meter = meter.at(position);
            is_rewritten |= score.update(feasible, moved.feasible, seen, cluster, store, meter);
        }
        match cluster.changes_since(seen).filter(|_| !is_rewritten) {
            None => self.sum_all(feasible, store, meter),
            Some((_, changes)) => {
                self.totals.resize(feasible.mask.len(), INFEASIBLE);
                for slot in changes.iter().filter_map(Change::slot) {
                    self.sum(slot, feasible, store);
                }
            }
        }
    }

    fn sum_all(&mut self, feasible: Feasible<'_>, store: &ScoreStore, meter: impl Meter) {
        // What every node gets alike is added once.
        let alike = self.scores.iter().filter_map(|score| score.alike(store)).sum();
        self.totals.clear();
        self.totals.resize(feasible.mask.len(), alike);
        let differing = |(_, score): &(usize, &ShapeScore)| score.alike(store).is_none();
        for (position, score) in self.scores.iter().enumerate().filter(differing) {
            score.add_all(store, &mut self.totals, meter.at(position));
        }
        for (total, is_feasible) in self.totals.iter_mut().zip(feasible.mask) {
            *total = if *is_feasible { *total } else { INFEASIBLE };
        }
        self.best.rewrite(&self.totals);
    }

    // Metered and unmetered cycles both sum up: without the hint neither has it in line.
    #[inline]
    fn sum(&mut self, slot: NodeSlot, feasible: Feasible<'_>, store: &ScoreStore) {
        let is_feasible = feasible.mask.get(slot.index()).copied().unwrap_or(false);
        let total = if is_feasible {
            self.scores.iter().map(|score| score.weighted(slot, store)).sum()
        } else {
            INFEASIBLE
        };
        if let Some(cell) = self.totals.get_mut(slot.index()) {
            *cell = total;
            self.best.touch(slot, &self.totals);
        }
    }
}
