//! Totals: the weighted sum of scores for every feasible node, kept from decision to decision.
//!
//! Nodes that changed are summed again; all nodes are, if a column was rewritten or the extremes of
//! a normalization changed. The result always equals summing from scratch.

use multiversion::multiversion;

use crate::heap::{HeapBytes, flat_bytes};
use crate::judging::{Tie, score_failure};
use crate::program::Profile;
use crate::rules::{Feasible, ScoreRule};
use crate::snapshot::columns::behind;
use crate::snapshot::{Change, Cluster, Generation, NodeSlot};
use crate::threads::new_ranges;
use crate::timing::{Meter, Unmetered};

use super::best::Best;
use super::context::Context;
use super::score_answers::{ScoreColumn, Scratch};
use super::shape_score::ShapeScore;
use super::spare::{BytesToFill, Spare};
use super::store::{ColumnId, Columns, Store};

/// The total of a node that is not feasible.
pub(super) const INFEASIBLE: i32 = i32::MIN;

/// Nodes that are summed up together, so that each score is looked up once for all of them.
const SLOTS_AT_ONCE: usize = 64;

/// Shared columns, and room to work them out in.
#[derive(Debug, Default)]
pub(super) struct ScoreStore {
    pub(crate) columns: Store<ScoreColumn>,
    pub(crate) scratch: Scratch,
}

/// What became of the feasible nodes since the totals were worked out last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Movement {
    /// They are the same.
    None,
    /// Only nodes that changed themselves came or went.
    Changed,
    /// Nodes came or went that did not change themselves.
    Any,
}

#[derive(Debug)]
pub(super) struct Totals {
    /// By position in the profile's scores.
    scores: Vec<ShapeScore>,
    /// Before the first time, room in which anything may stand.
    totals: Vec<i32>,
    best: Best,
    /// The generation summed up last; `None` before the first time.
    seen: Option<Generation>,
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn keep(totals: &mut [i32], mask: &[bool]) {
    for (total, is_feasible) in totals.iter_mut().zip(mask) {
        *total = if *is_feasible { *total } else { INFEASIBLE };
    }
}

/// Only feasible nodes keep their totals, of the slots from `first` on.
fn keep_feasible(first: usize, totals: &mut [i32], feasible: Feasible<'_>) {
    if feasible.count < feasible.mask.len() {
        keep(totals, behind(feasible.mask, first));
    }
}

impl Totals {
    pub(super) fn new(columns: Vec<ColumnId>, profile: &Profile) -> Self {
        let of = |(id, rule): (ColumnId, &ScoreRule)| ShapeScore::new(id, rule);
        let scores = columns.into_iter().zip(&profile.scores).map(of).collect();
        Self { scores, totals: Vec::new(), best: Best::default(), seen: None }
    }

    /// The node to take of those with the highest total, and that total.
    pub(super) fn best_node(&self, tie: Tie, cluster: &Cluster) -> Option<(NodeSlot, i32)> {
        let best = self.best.highest();
        if best == INFEASIBLE {
            return None;
        }
        let is_tied = |slot: NodeSlot| self.totals.get(slot.index()) == Some(&best);
        // A slot without a node has no total.
        let all_tied = || self.best.tied(&self.totals).filter_map(NodeSlot::at).collect();
        let chosen = tie.break_among(cluster.nodes(), is_tied, all_tied)?;
        Some((chosen, best))
    }

    /// For how many slots they were worked out.
    pub(super) fn len(&self) -> usize {
        self.seen.map_or(0, |_| self.totals.len())
    }

    /// What it holds besides itself and shared columns.
    pub(super) fn weigh(&mut self) -> usize {
        let scores = self.scores.capacity() * size_of::<ShapeScore>();
        let of_scores: usize = self.scores.iter_mut().map(ShapeScore::weigh).sum();
        scores + of_scores + flat_bytes(&self.totals) + self.best.heap_bytes()
    }

    /// Takes account of what its shared columns hold.
    pub(super) fn weigh_columns(&self, store: &mut ScoreStore) {
        self.scores.iter().filter_map(ShapeScore::shared).for_each(|id| {
            store.columns.weigh(id, ScoreColumn::weigh);
        });
    }

    /// Gives its columns back, and leaves its room for others.
    pub(super) fn release(self, store: &mut ScoreStore, spare: &mut Spare) {
        let shared = self.scores.iter().filter_map(ShapeScore::shared);
        for column in shared.filter_map(|id| store.columns.release(id)) {
            column.leave(spare);
        }
        spare.put(self.totals);
    }

    /// Brings the prepared scores up to date, without asking any node.
    pub(super) fn follow<M: Meter>(&mut self, context: Context<'_, M>, store: &mut ScoreStore) {
        context.meter.begin();
        for (position, score) in self.scores.iter_mut().enumerate() {
            let Some(rule) = context.profile.scores.get(position) else { continue };
            score.follow(rule, context.at(position), store);
        }
    }

    /// As [`Totals::follow`], only for shared columns; none is left.
    pub(super) fn follow_shared<M: Meter>(&self, context: Context<'_, M>, store: &mut ScoreStore) {
        context.meter.begin();
        let ScoreStore { columns, scratch } = store;
        for (position, (score, rule)) in self.scores.iter().zip(&context.profile.scores).enumerate()
        {
            if let Some(column) = score.shared().and_then(|id| columns.get_mut(id)) {
                column.follow(rule, context.at(position), scratch);
            }
        }
    }

    /// Why nodes cannot be scored, if so.
    pub(super) fn failure(&self, profile: &Profile, store: &ScoreStore) -> Option<String> {
        let prepared = self.scores.iter().map(|score| score.prepared(&store.columns));
        score_failure(profile, prepared)
    }

    /// Scores some nodes as if only they were feasible, in their order.
    pub(super) fn of_only<M: Meter>(
        &mut self,
        slots: &[NodeSlot],
        context: Context<'_, M>,
        store: &mut ScoreStore,
    ) -> Vec<i32> {
        let cluster = context.cluster;
        let mut mask = vec![false; cluster.nodes().slots()];
        for slot in slots {
            if let Some(cell) = mask.get_mut(slot.index()) {
                *cell = true;
            }
        }
        let feasible = Feasible { mask: &mask, count: slots.len() };
        let mut totals = vec![0_i32; slots.len()];
        for (position, score) in self.scores.iter_mut().enumerate() {
            let Some(rule) = context.profile.scores.get(position) else { continue };
            let context = context.at(position);
            score.add_only(rule, slots, feasible, context, store, &mut totals);
        }
        totals
    }

    /// Works out the scores of all nodes, where that was not done yet, in the columns that are shared.
    pub(super) fn fill<M: Meter>(
        &self,
        context: Context<'_, M>,
        store: &mut ScoreStore,
        spare: &mut Spare,
    ) {
        let ScoreStore { columns, scratch } = store;
        for (position, (score, rule)) in self.scores.iter().zip(&context.profile.scores).enumerate()
        {
            if let Some(column) = score.shared().and_then(|id| columns.get_mut(id)) {
                column.make_room(rule, context.cluster, spare);
                column.fill(rule, context.at(position), scratch);
            }
        }
    }

    /// What totals and scores will hold of each node.
    pub(super) fn bytes_to_fill(
        &self,
        profile: &Profile,
        columns: &dyn Columns<ScoreColumn>,
    ) -> BytesToFill {
        let scores = self.scores.iter().zip(&profile.scores);
        let of_scores = scores.map(|(score, rule)| score.bytes_to_fill(rule, columns));
        of_scores.fold(BytesToFill { taken: size_of::<i32>(), apart: 0 }, BytesToFill::and)
    }

    /// Makes room for the totals of so many slots.
    pub(super) fn make_room(&mut self, slots: usize, spare: &mut Spare) {
        if self.seen.is_none() && self.totals.capacity() < slots {
            self.totals = spare.take(slots);
        }
    }

    /// The places of the shared columns, with the positions of their rules.
    pub(super) fn places(&self) -> impl Iterator<Item = (ColumnId, usize)> {
        let shared = self.scores.iter().map(ShapeScore::shared).enumerate();
        shared.filter_map(|(position, id)| Some((id?, position)))
    }

    /// Takes columns of its own for rules that read the feasible nodes; gives the places of those that
    /// it does not share any more.
    pub(super) fn leave_shared<M: Meter>(
        &mut self,
        context: Context<'_, M>,
        columns: &dyn Columns<ScoreColumn>,
    ) -> Vec<ColumnId> {
        let rules = context.profile.scores.iter().enumerate();
        let leave = |((position, rule), score): ((usize, &ScoreRule), &mut ShapeScore)| {
            score.leave_shared(rule, context.at(position), columns)
        };
        rules.zip(&mut self.scores).filter_map(leave).collect()
    }

    /// Works out the total of every feasible node. The shared columns are filled.
    pub(super) fn update<M: Meter>(
        &mut self,
        feasible: Feasible<'_>,
        movement: Movement,
        context: Context<'_, M>,
        columns: &dyn Columns<ScoreColumn>,
        scratch: &mut Scratch,
    ) {
        let Context { cluster, meter, .. } = context;
        let seen = self.seen.replace(cluster.generation());
        let mut is_rewritten = movement == Movement::Any;
        for (position, score) in self.scores.iter_mut().enumerate() {
            let Some(rule) = context.profile.scores.get(position) else { continue };
            let context = context.at(position);
            is_rewritten |= score.update(rule, feasible, movement, seen, context, columns, scratch);
        }
        match cluster.changes_since(seen).filter(|_| !is_rewritten) {
            None => self.sum_all(feasible, columns, meter),
            Some((_, changes)) => {
                self.totals.resize(feasible.mask.len(), INFEASIBLE);
                let mut changed = changes.iter().filter_map(Change::slot);
                while let Some(first) = changed.next() {
                    let mut slots = [first; SLOTS_AT_ONCE];
                    let rest = slots.iter_mut().skip(1).zip(&mut changed);
                    let count = 1 + rest.map(|(place, slot)| *place = slot).count();
                    self.sum(slots.get(..count).unwrap_or_default(), feasible, columns);
                }
            }
        }
    }

    fn sum_all(
        &mut self,
        feasible: Feasible<'_>,
        columns: &dyn Columns<ScoreColumn>,
        meter: impl Meter,
    ) {
        // What every node gets alike is added once.
        let alike = self.scores.iter().filter_map(|score| score.alike(columns)).sum();
        let count = feasible.mask.len();
        let differing = |(_, score): &(usize, &ShapeScore)| score.alike(columns).is_none();
        let differing: Vec<_> = self.scores.iter().enumerate().filter(differing).collect();
        if meter.measures() {
            self.totals.clear();
            self.totals.resize(count, alike);
            for (position, score) in differing {
                score.add_all(columns, 0, &mut self.totals, meter.at(position));
            }
            keep_feasible(0, &mut self.totals, feasible);
        } else {
            new_ranges(&mut self.totals, count, |first, totals| {
                let mut scores = differing.iter().map(|(_, score)| score);
                let is_begun = scores
                    .clone()
                    .next()
                    .is_some_and(|score| score.begin(alike, columns, first, totals));
                if is_begun {
                    scores.next();
                } else {
                    totals.fill(alike);
                }
                for score in scores {
                    score.add_all(columns, first, totals, Unmetered);
                }
                keep_feasible(first, totals, feasible);
            });
        }
        self.best.rewrite(&self.totals);
    }

    /// Of some nodes, at most [`SLOTS_AT_ONCE`].
    fn sum(
        &mut self,
        slots: &[NodeSlot],
        feasible: Feasible<'_>,
        columns: &dyn Columns<ScoreColumn>,
    ) {
        let mut sums = [0_i32; SLOTS_AT_ONCE];
        for score in &self.scores {
            score.add_some(slots, columns, &mut sums);
        }
        for (slot, sum) in slots.iter().copied().zip(sums) {
            let is_feasible = feasible.mask.get(slot.index()).copied().unwrap_or(false);
            if let Some(cell) = self.totals.get_mut(slot.index()) {
                let before = std::mem::replace(cell, if is_feasible { sum } else { INFEASIBLE });
                self.best.touch(slot, before, &self.totals);
            }
        }
    }
}
