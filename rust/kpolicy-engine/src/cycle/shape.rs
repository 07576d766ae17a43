//! A shape: all pods for which every rule of a profile gives the same answers. Keeps the feasible
//! nodes and the totals of the shape from decision to decision.

use std::sync::Arc;

use crate::heap::{HeapBytes, flat_bytes};
use crate::judging::{NodeRejection, PreparedFilters, Question, Rejected};
use crate::preemption::{CandidateMemo, Unplaced};
use crate::program::Profile;
use crate::rules::{Code, Feasible};
use crate::snapshot::{Change, Cluster, Generation, NodeSlot, Pod};
use crate::threads::ranges;
use crate::timing::Meter;

use super::context::Context;
use super::filter_answers::{FilterColumn, count};
use super::fit_error::{FitError, FitErrorMemo};
use super::node_memos::{self, NodeMemos};
use super::score_answers::{ScoreColumn, Scratch};
use super::spare::{BytesToFill, Spare};
use super::store::{ColumnId, Columns};
use super::stores::Stores;
use super::totals::{Movement, ScoreStore, Totals};

#[derive(Debug)]
pub(super) struct Shape {
    /// By position in the profile's filters.
    filters: Vec<ColumnId>,
    feasible: Vec<bool>,
    feasible_count: usize,
    /// What became of them since the totals were worked out.
    movement: Movement,
    /// The generation judged last; `None` before the first time.
    seen: Option<Generation>,
    totals: Totals,
    /// Why the last pod found no room, to be found again.
    fit_error: Option<FitErrorMemo>,
    /// What is known of single nodes, once it was needed.
    node_memos: Option<ColumnId>,
}

impl Shape {
    pub(super) fn new(filters: Vec<ColumnId>, totals: Totals) -> Self {
        Self {
            filters,
            feasible: Vec::new(),
            feasible_count: 0,
            movement: Movement::Any,
            seen: None,
            totals,
            fit_error: None,
            node_memos: None,
        }
    }

    pub(super) fn feasible(&self) -> Feasible<'_> {
        Feasible { mask: &self.feasible, count: self.feasible_count }
    }

    /// As of the last [`Shape::update_totals`].
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    pub(super) fn totals_mut(&mut self) -> &mut Totals {
        &mut self.totals
    }

    /// Whether everything was worked out for so many slots.
    pub(super) fn has_columns(&self, slots: usize) -> bool {
        self.feasible.len() == slots && self.totals.len() == slots
    }

    /// What it holds besides itself and shared columns.
    pub(super) fn weigh(&mut self) -> usize {
        let filters = flat_bytes(&self.filters) + flat_bytes(&self.feasible);
        filters + self.totals.weigh() + self.fit_error.heap_bytes()
    }

    /// The message that the pod would get, if it is known.
    pub(super) fn fit_error(&self, pod: &Pod, cluster: &Cluster) -> Option<Arc<FitError>> {
        self.fit_error.as_ref()?.for_pod(pod, cluster).map(Arc::clone)
    }

    /// Nodes that nominated pods close to this one.
    pub(super) fn closed(
        &mut self,
        question: Question<'_>,
        profile: &Profile,
        cluster: &Cluster,
        stores: &mut Stores,
    ) -> Vec<NodeRejection> {
        let (id, mut memos) = self.taken_memos(question, profile, cluster, stores);
        let prepared = self.prepared(stores);
        let is_rewritten = |seen| self.is_rewritten(seen, stores);
        let Question { pod, program, .. } = question;
        let closed = memos.nominated.rejections(pod, program, &prepared, cluster, is_rewritten);
        stores.put_back(id, memos);
        closed
    }

    /// What is known of single nodes, until it is put back.
    fn taken_memos(
        &mut self,
        question: Question<'_>,
        profile: &Profile,
        cluster: &Cluster,
        stores: &mut Stores,
    ) -> (ColumnId, NodeMemos) {
        let active = self.active(&stores.filters).map(|(position, _)| position);
        let columns = active.filter_map(|position| {
            let id = self.filters.get(position)?;
            stores.filters.key(*id)
        });
        let prepared = self.prepared(stores);
        let key = node_memos::key(question, profile, columns, &prepared, cluster);
        let known = self.node_memos.filter(|id| stores.node_memos.key(*id) == Some(key.parts()));
        let id = known.unwrap_or_else(|| {
            let id = stores.node_memos.claim(key.parts(), NodeMemos::default);
            if let Some(before) = self.node_memos.replace(id) {
                stores.node_memos.release(before);
            }
            id
        });
        (id, stores.node_memos.get_mut(id).map(std::mem::take).unwrap_or_default())
    }

    /// Does `work` for a pod that no node will have, with what is known of making room.
    pub(super) fn with_candidate_memo<T>(
        &mut self,
        question: Question<'_>,
        profile: &Profile,
        rejected: &Rejected,
        cluster: &Cluster,
        stores: &mut Stores,
        work: impl FnOnce(Unplaced<'_>, &mut CandidateMemo) -> T,
    ) -> T {
        let (id, mut memos) = self.taken_memos(question, profile, cluster, stores);
        let memo = &mut memos.candidates;
        // The possible victims depend on other nodes, which nothing here follows.
        if profile.victims().is_some_and(|rule| !rule.is_local()) {
            *memo = CandidateMemo::default();
        }
        let prepared = self.prepared(stores);
        memo.follow(question.pod, &prepared, cluster, |seen| self.is_rewritten(seen, stores));
        let unplaced = Unplaced { question, profile, rejected, prepared: &prepared, cluster };
        let done = work(unplaced, memo);
        stores.put_back(id, memos);
        done
    }

    /// Keeps the message that the pod got.
    pub(super) fn remember(&mut self, fit_error: &Arc<FitError>, pod: &Pod, cluster: &Cluster) {
        self.fit_error = FitErrorMemo::of(fit_error, pod, cluster);
    }

    /// Whether more than the touched nodes may have changed since a generation, in what active filters
    /// say.
    fn is_rewritten(&self, seen: Generation, stores: &Stores) -> bool {
        self.active(&stores.filters).any(|(_, column)| column.rewritten() > seen)
    }

    /// As [`Shape::is_rewritten`], or filters may have come to have a say or lost it.
    fn is_rearranged(&self, seen: Generation, filters: &dyn Columns<FilterColumn>) -> bool {
        let columns = self.filters.iter().filter_map(|id| filters.get(*id));
        columns.into_iter().any(|column| column.rewritten() > seen)
    }

    /// Takes account of what its shared columns hold.
    pub(super) fn weigh_columns(&self, stores: &mut Stores) {
        let filters = &mut stores.filters;
        self.filters.iter().for_each(|id| {
            filters.weigh(*id, FilterColumn::weigh);
        });
        self.totals.weigh_columns(&mut stores.scores);
        if let Some(id) = self.node_memos {
            stores.node_memos.weigh(id, |memos| memos.heap_bytes());
        }
    }

    /// Gives its columns back, and leaves its room for others.
    pub(super) fn release(self, stores: &mut Stores) {
        let Stores { filters, scores, spare, .. } = stores;
        for column in self.filters.iter().filter_map(|id| filters.release(*id)) {
            column.leave(spare);
        }
        spare.put(self.feasible);
        self.totals.release(scores, spare);
        if let Some(id) = self.node_memos {
            stores.node_memos.release(id);
        }
    }

    /// Brings the prepared filters up to date, without asking any node.
    pub(super) fn follow_filters<M: Meter>(&self, context: Context<'_, M>, stores: &mut Stores) {
        context.meter.begin();
        let filters = &context.profile.filters;
        for (position, (id, rule)) in self.filters.iter().zip(filters).enumerate() {
            if let Some(column) = stores.filters.get_mut(*id) {
                column.follow(rule, context.at(position), &mut ());
            }
        }
    }

    /// The filters that are active in this cycle, by position.
    pub(super) fn prepared<'a>(&self, stores: &'a Stores) -> PreparedFilters<'a> {
        let active = |id: &ColumnId| stores.filters.get(*id)?.active();
        self.filters.iter().map(active).collect()
    }

    /// Columns of active filters, with their positions.
    fn active<'a>(
        &self,
        filters: &'a dyn Columns<FilterColumn>,
    ) -> impl Iterator<Item = (usize, &'a FilterColumn)> {
        let active = move |(position, id): (usize, &ColumnId)| {
            let column = filters.get(*id).filter(|column| column.is_active())?;
            Some((position, column))
        };
        self.filters.iter().enumerate().filter_map(active)
    }

    /// Works out which nodes are feasible.
    pub(super) fn update_feasible<M: Meter>(
        &mut self,
        context: Context<'_, M>,
        stores: &mut Stores,
    ) {
        let cluster = context.cluster;
        let Stores { filters, spare, .. } = stores;
        self.make_room_to_judge(cluster.nodes().slots(), spare);
        let rules = &context.profile.filters;
        for (position, (id, rule)) in self.filters.iter().zip(rules).enumerate() {
            if let Some(column) = filters.get_mut(*id) {
                column.make_room(rule, cluster, spare);
                column.fill(rule, context.at(position), &mut ());
            }
        }
        self.judge_changed(cluster, filters);
    }

    /// What it will hold of each node once everything is worked out.
    pub(super) fn bytes_to_fill(&self, profile: &Profile, stores: &Stores) -> BytesToFill {
        let active = self.active(&stores.filters);
        let of_filters =
            active.filter(|(_, column)| column.is_unfilled()).count() * size_of::<Code>();
        let own = BytesToFill { taken: size_of::<bool>() + of_filters, apart: 0 };
        own.and(self.totals.bytes_to_fill(profile, &stores.scores.columns))
    }

    /// Makes room for what it will hold of so many slots.
    pub(super) fn make_room(&mut self, slots: usize, spare: &mut Spare) {
        self.make_room_to_judge(slots, spare);
        self.totals.make_room(slots, spare);
    }

    fn make_room_to_judge(&mut self, slots: usize, spare: &mut Spare) {
        if self.feasible.is_empty() {
            self.feasible = spare.take(slots);
            self.feasible.clear();
        }
    }

    /// The places of its filters' columns, with the positions of their rules.
    pub(super) fn filter_places(&self) -> impl Iterator<Item = (ColumnId, usize)> {
        self.filters.iter().copied().zip(0..)
    }

    /// Works out which nodes are feasible. The columns are filled.
    pub(super) fn judge_changed(&mut self, cluster: &Cluster, filters: &dyn Columns<FilterColumn>) {
        let seen = self.seen.replace(cluster.generation());
        let changes =
            cluster.changes_since(seen).filter(|(seen, _)| !self.is_rearranged(*seen, filters));
        let columns: Vec<_> = self.active(filters).collect();
        match changes {
            None => self.judge_all(&columns, cluster),
            Some((_, changes)) => {
                self.feasible.resize(cluster.nodes().slots(), false);
                for slot in changes.iter().filter_map(Change::slot) {
                    self.judge(slot, &columns, cluster);
                }
            }
        }
    }

    fn judge_all(&mut self, columns: &[(usize, &FilterColumn)], cluster: &Cluster) {
        // The first time, in the room that was made for it.
        let mut feasible = match self.feasible.is_empty() {
            true => std::mem::take(&mut self.feasible),
            false => Vec::new(),
        };
        feasible.extend_from_slice(&cluster.nodes().columns().live);
        ranges(&mut feasible, |first, feasible| {
            for (_, column) in columns {
                column.judge_all(first, feasible);
            }
        });
        self.feasible_count = count(&feasible);
        if self.feasible != feasible {
            self.feasible = feasible;
            self.movement = Movement::Any;
        }
    }

    fn judge(&mut self, slot: NodeSlot, columns: &[(usize, &FilterColumn)], cluster: &Cluster) {
        let is_live = cluster.nodes().view(slot).is_some();
        let is_feasible = is_live && columns.iter().all(|(_, column)| column.code(slot).passes());
        if let Some(cell) = self.feasible.get_mut(slot.index())
            && *cell != is_feasible
        {
            *cell = is_feasible;
            self.feasible_count =
                self.feasible_count + usize::from(is_feasible) - usize::from(!is_feasible);
            self.movement = self.movement.max(Movement::Changed);
        }
    }

    /// The first filter that rejects each node that is not feasible.
    pub(super) fn rejections(&self, cluster: &Cluster, stores: &Stores) -> Vec<NodeRejection> {
        let columns: Vec<_> = self.active(&stores.filters).collect();
        let first = |slot: NodeSlot| {
            columns.iter().find_map(|(filter, column)| {
                let code = column.code(slot);
                let rejection = NodeRejection { slot, filter: *filter, code, status: None };
                (!code.passes()).then_some(rejection)
            })
        };
        cluster.nodes().iter().filter_map(|view| first(view.slot)).collect()
    }

    /// The column of one filter.
    pub(super) fn filter<'a>(&self, at: usize, stores: &'a Stores) -> Option<&'a FilterColumn> {
        stores.filters.get(*self.filters.get(at)?)
    }

    /// Nodes that could not be judged.
    pub(super) fn failures(&self, cluster: &Cluster, stores: &Stores) -> Vec<NodeRejection> {
        if !self.active(&stores.filters).any(|(_, column)| column.has_failure()) {
            return Vec::new();
        }
        let mut rejections = self.rejections(cluster, stores);
        rejections.retain(|rejection| rejection.code.is_failure());
        rejections
    }

    /// Why the nodes cannot be scored, as of the last time scores were brought up to date.
    pub(super) fn score_failure(&self, profile: &Profile, stores: &Stores) -> Option<String> {
        self.totals.failure(profile, &stores.scores)
    }

    /// Brings the prepared scores up to date, without asking any node.
    pub(super) fn follow_scores<M: Meter>(&mut self, context: Context<'_, M>, stores: &mut Stores) {
        self.totals.follow(context, &mut stores.scores);
    }

    /// Scores some nodes as if only they were feasible, in their order.
    pub(super) fn totals_of_only<M: Meter>(
        &mut self,
        slots: &[NodeSlot],
        context: Context<'_, M>,
        stores: &mut Stores,
    ) -> Vec<i32> {
        self.totals.of_only(slots, context, &mut stores.scores)
    }

    /// Works out the total of every feasible node.
    pub(super) fn update_totals<M: Meter>(&mut self, context: Context<'_, M>, stores: &mut Stores) {
        let Stores { scores, spare, .. } = stores;
        self.totals.make_room(context.cluster.nodes().slots(), spare);
        self.totals.fill(context, scores, spare);
        let ScoreStore { columns, scratch } = scores;
        self.sum_up(context, columns, scratch);
    }

    /// Works out the total of every feasible node. The shared columns are filled.
    pub(super) fn sum_up<M: Meter>(
        &mut self,
        context: Context<'_, M>,
        columns: &dyn Columns<ScoreColumn>,
        scratch: &mut Scratch,
    ) {
        let feasible = Feasible { mask: &self.feasible, count: self.feasible_count };
        let movement = std::mem::replace(&mut self.movement, Movement::None);
        self.totals.update(feasible, movement, context, columns, scratch);
    }
}
