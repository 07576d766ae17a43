//! The scores that one rule gives all nodes.
//!
//! If a rule normalizes without looking at other nodes, only the finished scores are kept, one byte
//! each. Otherwise the raw scores are kept, with their extremes.

use multiversion::multiversion;

use crate::heap::flat_bytes;
use crate::rules::lanes::extremes;
use crate::rules::normalization::ready;
use crate::rules::{
    Feasible, Fitted, HeldBytes, IGNORED, Normalization, PreparedScore, Refresh, ScoreProblem,
    ScoreRule,
};
use crate::snapshot::columns::behind;
use crate::snapshot::{Changes, Cluster, Generation, NodeSlot, Pod};
use crate::threads::ranges;
use crate::timing::{Meter, Point, StatusCode};

use super::column::{Answers, Column, touched};
use super::context::Context;
use super::raw_scores::{Extremes, Raw};
use super::spare::Spare;

/// Raw scores that are finished before the next are worked out: they never leave the nearest cache.
const LANES_AT_ONCE: usize = 1_024;

/// Answers by slot.
#[derive(Debug, Default)]
pub(super) enum ScoreAnswers {
    /// The rule has no say.
    #[default]
    None,
    /// Finished, 0 to 100.
    Ready(Vec<u8>),
    Raw(Raw),
}

/// Room for raw scores that are not kept.
pub(super) type Scratch = Vec<f64>;

pub(super) type ScoreColumn = Column<ScoreAnswers>;

impl ScoreColumn {
    /// The rule, if it is active in this cycle.
    pub(super) fn active(&self) -> Option<&dyn PreparedScore> {
        active(self.prepared())
    }

    /// Raw scores by slot; empty where only finished ones are kept.
    pub(super) fn raw(&self) -> &[f64] {
        match self.answers() {
            Some(ScoreAnswers::Raw(raw)) => &raw.scores,
            Some(ScoreAnswers::Ready(_) | ScoreAnswers::None) | None => &[],
        }
    }

    /// Adds the finished scores of some nodes to their sums.
    pub(super) fn scores_of<'s>(
        &self,
        sums: impl Iterator<Item = (NodeSlot, &'s mut i32)>,
        normalization: &Normalization,
        fitted: &Fitted,
        add: impl Fn(&mut i32, i64),
    ) {
        match self.answers() {
            Some(ScoreAnswers::Ready(scores)) => sums.for_each(|(slot, sum)| {
                add(sum, scores.get(slot.index()).copied().map_or(0, i64::from));
            }),
            Some(ScoreAnswers::Raw(raw)) => sums.for_each(|(slot, sum)| {
                let raw = raw.scores.get(slot.index()).copied().unwrap_or(IGNORED);
                add(sum, normalization.apply(fitted, raw));
            }),
            Some(ScoreAnswers::None) | None => {}
        }
    }

    /// Where scores are finished: sets the totals of the nodes from a slot on to `base` and their weighted
    /// scores. Tells whether they are.
    pub(super) fn begin(&self, base: i32, weight: i32, first: usize, totals: &mut [i32]) -> bool {
        let Some(ScoreAnswers::Ready(scores)) = self.answers() else { return false };
        let scores = behind(scores, first);
        if scores.len() < totals.len() {
            return false;
        }
        set_finished(base, weight, scores, totals);
        true
    }

    /// Adds the weighted scores of the nodes from a slot on to their totals.
    pub(super) fn add_all(
        &self,
        normalization: &Normalization,
        fitted: &Fitted,
        weight: i32,
        first: usize,
        totals: &mut [i32],
    ) {
        match self.answers() {
            Some(ScoreAnswers::Ready(scores)) => {
                add_finished(weight, behind(scores, first), totals);
            }
            Some(ScoreAnswers::Raw(raw)) => {
                normalization.add_all(fitted, weight, behind(&raw.scores, first), totals);
            }
            Some(ScoreAnswers::None) | None => {}
        }
    }

    fn extremes(&self) -> &Extremes {
        match self.answers() {
            Some(ScoreAnswers::Raw(raw)) => &raw.extremes,
            Some(ScoreAnswers::Ready(_) | ScoreAnswers::None) | None => &Extremes::Unknown,
        }
    }

    /// The raw score of every node, where all are known to have the same.
    #[allow(clippy::float_cmp)]
    pub(super) fn constant(&self) -> Option<f64> {
        let bounds = self.extremes().bounds()?;
        (bounds.lowest == bounds.highest).then_some(bounds.lowest)
    }

    /// Whether every raw score is as it was then.
    pub(super) fn is_as_of(&self, then: Generation) -> bool {
        matches!(self.answers(), Some(ScoreAnswers::Raw(raw)) if raw.altered <= then)
    }

    /// The extremes over the feasible nodes, ignored ones left out.
    pub(super) fn fit(
        &self,
        feasible: Feasible<'_>,
        cluster: &Cluster,
        meter: impl Meter,
    ) -> Fitted {
        let all_feasible = feasible.count == cluster.nodes().len();
        match self.extremes() {
            Extremes::Exact(fitted) if all_feasible && fitted.lowest != IGNORED => {
                return fitted.clone();
            }
            extremes if self.constant().is_some() => {
                if let Some(fitted) = extremes.bounds() {
                    return fitted.clone();
                }
            }
            _ => {}
        }
        meter.begin();
        let (lowest, highest) = extremes::<true>(self.raw(), feasible.mask);
        meter.whole(Point::Normalize, || StatusCode::Success);
        Fitted { lowest, highest }
    }

    /// Shows the feasible nodes to a rule that reads them; every raw score may change.
    pub(super) fn see_feasible<M: Meter>(
        &mut self,
        rule: &ScoreRule,
        feasible: Feasible<'_>,
        context: Context<'_, M>,
        scratch: &mut Scratch,
    ) {
        let cluster = context.cluster;
        self.show(rule, context, scratch, |prepared| prepared.see_feasible(cluster, feasible));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn set_finished(base: i32, weight: i32, scores: &[u8], totals: &mut [i32]) {
    for (total, score) in totals.iter_mut().zip(scores) {
        *total = base.wrapping_add(weight.wrapping_mul(i32::from(*score)));
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn add_finished(weight: i32, scores: &[u8], totals: &mut [i32]) {
    for (total, score) in totals.iter_mut().zip(scores) {
        *total = total.wrapping_add(weight.wrapping_mul(i32::from(*score)));
    }
}

fn active<'a>(
    prepared: Option<&'a (dyn PreparedScore + 'static)>,
) -> Option<&'a dyn PreparedScore> {
    match prepared {
        Some(prepared) if !prepared.is_skipped() => Some(prepared),
        _ => None,
    }
}

/// Whether a node's score follows from its raw score alone.
pub(super) fn is_ready(normalization: &Normalization) -> bool {
    !normalization.reads_extremes() && *normalization != Normalization::Whole
}

fn raw_all(prepared: &dyn PreparedScore, cluster: &Cluster, raw: &mut [f64]) {
    match prepared.has_ranges() {
        true => ranges(raw, |first, raw| prepared.raw_range(cluster, first, raw)),
        false => prepared.raw_all(cluster, raw),
    }
}

/// Finished scores of all nodes, of a rule that normalises without looking at the others.
fn finish_all(
    prepared: &dyn PreparedScore,
    normalization: &Normalization,
    cluster: &Cluster,
    scratch: &mut Scratch,
    scores: &mut [u8],
) {
    if !prepared.has_ranges() {
        scratch.resize(scores.len(), 0.0);
        prepared.raw_all(cluster, scratch);
        ready(normalization, scratch, scores);
        return;
    }
    let are_percentages = *normalization == Normalization::Percentage;
    ranges(scores, |first, scores| {
        if are_percentages && prepared.finish_range(cluster, first, scores) {
            return;
        }
        let mut raw = [0.0; LANES_AT_ONCE];
        let starts = (first..).step_by(LANES_AT_ONCE);
        for (first, scores) in starts.zip(scores.chunks_mut(LANES_AT_ONCE)) {
            if let Some(raw) = raw.get_mut(..scores.len()) {
                prepared.raw_range(cluster, first, raw);
                ready(normalization, raw, scores);
            }
        }
    });
}

impl Answers for ScoreAnswers {
    type Rule = ScoreRule;
    type Prepared = dyn PreparedScore;
    type Scratch = Scratch;
    const POINT: Point = Point::PreScore;

    fn with_room(
        rule: &ScoreRule,
        prepared: Option<&(dyn PreparedScore + 'static)>,
        cluster: &Cluster,
        spare: &mut Spare,
    ) -> Self {
        let slots = cluster.nodes().slots();
        match active(prepared) {
            None => Self::None,
            Some(prepared) if is_ready(rule.scale.normalization(prepared)) => {
                Self::Ready(spare.take(slots))
            }
            Some(_) => Self::Raw(Raw {
                scores: spare.take(slots),
                extremes: Extremes::Unknown,
                altered: Generation::default(),
            }),
        }
    }

    fn leave(self, spare: &mut Spare) {
        match self {
            Self::None => {}
            Self::Ready(scores) => spare.put(scores),
            Self::Raw(raw) => spare.put(raw.scores),
        }
    }

    fn prepare(rule: &ScoreRule, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        rule.prepare(pod, cluster)
    }

    fn refresh(
        rule: &ScoreRule,
        prepared: &mut Option<Box<dyn PreparedScore>>,
        changes: Changes<'_>,
        cluster: &Cluster,
    ) -> Refresh {
        rule.refresh(prepared.as_deref_mut(), changes, cluster)
    }

    fn may_change(rule: &ScoreRule) -> bool {
        rule.may_change()
    }

    fn status(prepared: Option<&(dyn PreparedScore + 'static)>) -> StatusCode {
        match prepared {
            Some(prepared) if matches!(prepared.problem(), Some(ScoreProblem::PreScore(_))) => {
                StatusCode::Error
            }
            Some(prepared) if !prepared.is_skipped() => StatusCode::Success,
            Some(_) | None => StatusCode::Skip,
        }
    }

    fn reads_feasible(prepared: Option<&(dyn PreparedScore + 'static)>) -> bool {
        prepared.is_some_and(PreparedScore::reads_feasible)
    }

    fn fill(
        &mut self,
        rule: &ScoreRule,
        prepared: Option<&(dyn PreparedScore + 'static)>,
        cluster: &Cluster,
        scratch: &mut Scratch,
        meter: impl Meter,
    ) {
        let Some(prepared) = active(prepared) else {
            *self = Self::None;
            return;
        };
        let normalization = rule.scale.normalization(prepared);
        let slots = cluster.nodes().slots();
        if is_ready(normalization) {
            let mut scores = match std::mem::take(self) {
                Self::Ready(scores) => scores,
                Self::Raw(_) | Self::None => Vec::with_capacity(slots),
            };
            scores.resize(slots, 0);
            finish_all(prepared, normalization, cluster, scratch, &mut scores);
            meter.scored(cluster.nodes().len());
            *self = Self::Ready(scores);
            return;
        }
        let mut raw = match std::mem::take(self) {
            Self::Raw(raw) => raw.scores,
            Self::Ready(_) | Self::None => Vec::with_capacity(slots),
        };
        raw.resize(slots, 0.0);
        raw_all(prepared, cluster, &mut raw);
        meter.scored(cluster.nodes().len());
        let known = match normalization.reads_extremes() {
            true => {
                let live = &cluster.nodes().columns().live;
                let (lowest, highest) = extremes::<false>(&raw, live);
                Extremes::Exact(Fitted { lowest, highest })
            }
            false => Extremes::Unknown,
        };
        *self = Self::Raw(Raw { scores: raw, extremes: known, altered: cluster.generation() });
    }

    fn touch(
        &mut self,
        prepared: Option<&(dyn PreparedScore + 'static)>,
        changes: Changes<'_>,
        cluster: &Cluster,
        meter: impl Meter,
    ) {
        let Some(prepared) = active(prepared) else { return };
        match self {
            Self::Ready(scores) => scores.resize(cluster.nodes().slots(), 0),
            Self::Raw(raw) => raw.scores.resize(cluster.nodes().slots(), 0.0),
            Self::None => return,
        }
        let reads = prepared.reads();
        for slot in changes.iter().filter_map(|change| touched(change, reads)) {
            let value = cluster.nodes().view(slot).map(|view| prepared.raw(cluster, view));
            if value.is_some() {
                meter.scored(1);
            }
            match (&mut *self, value) {
                (Self::Ready(scores), Some(value)) => {
                    let score = prepared.normalization().apply(&Fitted::NONE, value);
                    if let Some(cell) = scores.get_mut(slot.index()) {
                        *cell = u8::try_from(score).unwrap_or(0);
                    }
                }
                (Self::Raw(raw), value) => raw.put(slot, value, cluster.generation()),
                (Self::Ready(_) | Self::None, _) => {}
            }
        }
    }

    fn is_worth_filling(
        prepared: &(dyn PreparedScore + 'static),
        changes: usize,
        nodes: usize,
    ) -> bool {
        changes > prepared.worth_asking_all(nodes)
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Ready(scores) => flat_bytes(scores),
            Self::Raw(raw) => flat_bytes(&raw.scores),
            Self::None => 0,
        }
    }

    fn held_bytes(prepared: &(dyn PreparedScore + 'static)) -> HeldBytes {
        prepared.held_bytes()
    }
}
