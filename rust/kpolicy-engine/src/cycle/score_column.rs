//! What one score gives every node, for all pods of one sub-shape.
//!
//! Owns a prepared score and its answers by slot, kept up to date as a filter's are. Where a rule
//! normalises without looking at other nodes, only the finished scores are kept, a byte each.

use crate::rules::lanes::extremes;
use crate::rules::normalization::ready;
use crate::rules::{Feasible, Fitted, IGNORED, Normalization, PreparedScore, Refresh, Score};
use crate::snapshot::{Changes, Cluster, NodeSlot, Pod};
use crate::timing::{Meter, Point, StatusCode};

use super::filter_column::touched;

/// Answers by slot.
#[derive(Debug)]
enum Answers {
    None,
    /// Finished, 0 to 100.
    Ready(Vec<u8>),
    Raw(Vec<f64>),
}

#[derive(Debug)]
pub struct ScoreColumn {
    /// `None`: it gives no scores.
    prepared: Option<Box<dyn PreparedScore>>,
    answers: Answers,
    is_filled: bool,
    seen: u64,
    rewritten: u64,
    /// The rule reads the feasible nodes and has not been shown any yet.
    owes_feasible: bool,
    /// All raw scores lie within.
    lowest: f64,
    highest: f64,
    /// Some raw scores lie on them: none was written since they were worked out.
    is_tight: bool,
}

/// Room for raw scores that are not kept.
pub type Scratch = Vec<f64>;

impl ScoreColumn {
    pub fn new(rule: &dyn Score, pod: &Pod, cluster: &Cluster, meter: impl Meter) -> Self {
        let now = cluster.generation();
        meter.begin();
        let prepared = rule.prepare(pod, cluster);
        let column = Self {
            owes_feasible: prepared.as_deref().is_some_and(PreparedScore::reads_feasible),
            prepared,
            answers: Answers::None,
            is_filled: false,
            seen: now,
            rewritten: now,
            lowest: f64::NEG_INFINITY,
            highest: f64::INFINITY,
            is_tight: false,
        };
        meter.whole(Point::PreScore, || column.status());
        column
    }

    /// What it comes to before any node is scored.
    fn status(&self) -> StatusCode {
        match self.prepared() {
            Some(prepared) if prepared.problem().is_some() => StatusCode::Error,
            Some(prepared) if !prepared.is_skipped() => StatusCode::Success,
            Some(_) | None => StatusCode::Skip,
        }
    }

    pub fn prepared(&self) -> Option<&dyn PreparedScore> {
        self.prepared.as_deref()
    }

    /// Raw scores by slot; empty where only finished ones are kept.
    pub fn raw(&self) -> &[f64] {
        match &self.answers {
            Answers::Raw(raw) => raw,
            Answers::Ready(_) | Answers::None => &[],
        }
    }

    /// The finished score of one node.
    pub fn score_of(&self, slot: NodeSlot, normalization: &Normalization, fitted: &Fitted) -> i64 {
        match &self.answers {
            Answers::Ready(scores) => scores.get(slot.index()).copied().map_or(0, i64::from),
            Answers::Raw(raw) => {
                normalization.apply(fitted, raw.get(slot.index()).copied().unwrap_or(IGNORED))
            }
            Answers::None => 0,
        }
    }

    /// Adds every node's weighted score to its total.
    pub fn add_all(
        &self,
        normalization: &Normalization,
        fitted: &Fitted,
        weight: i32,
        totals: &mut [i32],
    ) {
        match &self.answers {
            Answers::Ready(scores) if weight == 1 => {
                for (total, score) in totals.iter_mut().zip(scores) {
                    *total = total.wrapping_add(i32::from(*score));
                }
            }
            Answers::Ready(scores) => {
                for (total, score) in totals.iter_mut().zip(scores) {
                    *total = total.wrapping_add(weight.wrapping_mul(i32::from(*score)));
                }
            }
            Answers::Raw(raw) => normalization.add_all(fitted, weight, raw, totals),
            Answers::None => {}
        }
    }

    pub fn rewritten(&self) -> u64 {
        self.rewritten
    }

    pub fn bytes(&self) -> usize {
        match &self.answers {
            Answers::Ready(scores) => scores.len(),
            Answers::Raw(raw) => raw.len() * size_of::<f64>(),
            Answers::None => 0,
        }
    }

    pub fn is_active(&self) -> bool {
        self.prepared().is_some_and(|prepared| !prepared.is_skipped())
    }

    pub fn reads_feasible(&self) -> bool {
        self.prepared().is_some_and(PreparedScore::reads_feasible)
    }

    /// The raw score of every node, where all have the same. Only told where extremes matter.
    #[allow(clippy::float_cmp)]
    pub fn constant(&self) -> Option<f64> {
        (self.lowest == self.highest).then_some(self.lowest)
    }

    /// The extremes over the feasible nodes, ignored ones left out.
    pub fn fit(&self, feasible: Feasible<'_>, cluster: &Cluster, meter: impl Meter) -> Fitted {
        let all_feasible = feasible.count == cluster.nodes().len();
        let is_known =
            self.constant().is_some() || (self.is_tight && all_feasible && self.lowest != IGNORED);
        if is_known {
            return Fitted { lowest: self.lowest, highest: self.highest };
        }
        meter.begin();
        let (lowest, highest) = extremes::<true>(self.raw(), feasible.mask);
        meter.whole(Point::Normalize, || StatusCode::Success);
        Fitted { lowest, highest }
    }

    pub fn follow(
        &mut self,
        rule: &dyn Score,
        pod: &Pod,
        cluster: &Cluster,
        scratch: &mut Scratch,
        meter: impl Meter,
    ) {
        let now = cluster.generation();
        if self.seen == now {
            return;
        }
        let changes = cluster.log().since(self.seen);
        self.seen = now;
        let Some(prepared) = &mut self.prepared else { return };
        let enough = prepared.worth_asking_all(cluster.nodes().len());
        let refreshed = changes.map(|changes| (changes, prepared.refresh(changes, cluster)));
        if matches!(refreshed, Some((_, Refresh::Again)) | None) {
            self.prepared = rule.prepare(pod, cluster);
        }
        meter.whole(Point::PreScore, || self.status());
        match refreshed {
            Some((changes, Refresh::Nodes)) if changes.len() <= enough => {
                self.touch(changes, cluster, meter);
            }
            Some((_, Refresh::Nodes)) => self.rewrite(cluster, scratch, meter),
            Some((_, Refresh::All | Refresh::Again)) | None => {
                self.forget_feasible();
                self.rewrite(cluster, scratch, meter);
            }
        }
    }

    /// Works out the answers of all nodes, if that was not done yet.
    pub fn fill(&mut self, cluster: &Cluster, scratch: &mut Scratch, meter: impl Meter) {
        if !self.is_filled {
            self.is_filled = true;
            meter.begin();
            self.rewrite(cluster, scratch, meter);
        }
    }

    pub fn owes_feasible(&self) -> bool {
        self.owes_feasible
    }

    /// What was shown last does not hold any more.
    pub fn forget_feasible(&mut self) {
        self.owes_feasible = self.reads_feasible();
    }

    /// Shows the feasible nodes to a rule that reads them; every raw score may change.
    pub fn see_feasible(
        &mut self,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        scratch: &mut Scratch,
        meter: impl Meter,
    ) {
        self.owes_feasible = false;
        meter.begin();
        if let Some(prepared) = &mut self.prepared {
            prepared.see_feasible(cluster, feasible);
        }
        meter.whole(Point::PreScore, || self.status());
        self.rewrite(cluster, scratch, meter);
    }

    fn rewrite(&mut self, cluster: &Cluster, scratch: &mut Scratch, meter: impl Meter) {
        self.rewritten = cluster.generation();
        // Nothing is known of them, so that nothing passes for constant.
        (self.lowest, self.highest) = (f64::NEG_INFINITY, f64::INFINITY);
        self.is_tight = false;
        if !self.is_filled || self.owes_feasible {
            return;
        }
        let Some(prepared) = self.prepared.as_deref().filter(|prepared| !prepared.is_skipped())
        else {
            self.answers = Answers::None;
            return;
        };
        let normalization = prepared.normalization();
        let slots = cluster.nodes().slots();
        if is_ready(normalization) {
            scratch.resize(slots, 0.0);
            prepared.raw_all(cluster, scratch);
            meter.scored(cluster.nodes().len());
            let mut scores = match std::mem::replace(&mut self.answers, Answers::None) {
                Answers::Ready(scores) => scores,
                Answers::Raw(_) | Answers::None => Vec::with_capacity(slots),
            };
            ready(normalization, scratch, &mut scores);
            self.answers = Answers::Ready(scores);
            return;
        }
        let mut raw = match std::mem::replace(&mut self.answers, Answers::None) {
            Answers::Raw(raw) if raw.len() == slots => raw,
            _ => vec![0.0; slots],
        };
        prepared.raw_all(cluster, &mut raw);
        meter.scored(cluster.nodes().len());
        if normalization.reads_extremes() {
            let live = &cluster.nodes().columns().live;
            (self.lowest, self.highest) = extremes::<false>(&raw, live);
            self.is_tight = true;
        }
        self.answers = Answers::Raw(raw);
    }

    fn touch(&mut self, changes: Changes<'_>, cluster: &Cluster, meter: impl Meter) {
        if !self.is_filled || self.owes_feasible {
            return;
        }
        let Some(prepared) = self.prepared.as_deref().filter(|prepared| !prepared.is_skipped())
        else {
            return;
        };
        match &mut self.answers {
            Answers::Ready(scores) => scores.resize(cluster.nodes().slots(), 0),
            Answers::Raw(raw) => raw.resize(cluster.nodes().slots(), 0.0),
            Answers::None => return,
        }
        let reads = prepared.reads();
        for slot in changes.iter().filter_map(|change| touched(change, reads)) {
            let Some(view) = cluster.nodes().view(slot) else {
                // An extreme may have gone with the node.
                self.is_tight = false;
                continue;
            };
            let value = prepared.raw(cluster, view);
            meter.scored(1);
            match &mut self.answers {
                Answers::Ready(scores) => {
                    let score = prepared.normalization().apply(&Fitted::NONE, value);
                    if let Some(cell) = scores.get_mut(slot.index()) {
                        *cell = u8::try_from(score).unwrap_or(0);
                    }
                }
                Answers::Raw(raw) => {
                    if let Some(cell) = raw.get_mut(slot.index()) {
                        *cell = value;
                    }
                    self.is_tight = false;
                    self.lowest = self.lowest.min(value);
                    self.highest = self.highest.max(value);
                }
                Answers::None => {}
            }
        }
    }
}

/// Whether a node's score follows from its raw score alone.
fn is_ready(normalization: &Normalization) -> bool {
    !normalization.reads_extremes() && *normalization != Normalization::Whole
}
