//! Columns: what one rule says of every node, for all pods of one sub-shape.
//!
//! Owns [`FilterColumn`] and [`ScoreColumn`]: a prepared rule and its answers by slot, brought up to
//! date by asking again only the nodes that changed in what the rule reads. Answers are only worked
//! out once somebody needs all of them.

use crate::rules::{
    Code, Feasible, Filter, IGNORED, PreparedFilter, PreparedScore, Reads, Refresh, Score, Stage,
};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeSlot, Pod};

#[derive(Debug)]
pub struct FilterColumn {
    /// `None`: it lets every node pass.
    prepared: Option<Box<dyn PreparedFilter>>,
    codes: Vec<Code>,
    is_filled: bool,
    seen: u64,
    rewritten: u64,
}

#[derive(Debug)]
pub struct ScoreColumn {
    /// `None`: it gives no scores.
    prepared: Option<Box<dyn PreparedScore>>,
    raw: Vec<f64>,
    is_filled: bool,
    seen: u64,
    rewritten: u64,
    /// The rule reads the feasible nodes and has not been shown any yet.
    owes_feasible: bool,
    /// Where extremes matter, every raw score written since the last rewriting lies within.
    lowest: f64,
    highest: f64,
}

/// The slot that a change makes a rule look at again.
pub fn touched(change: &Change, reads: Reads) -> Option<NodeSlot> {
    match change {
        Change::Node(slot, parts) => {
            parts.meets(reads.node.with(NodeParts::EXISTENCE)).then_some(*slot)
        }
        Change::PodPut(slot, _) | Change::PodTaken(slot, _) => reads.load.then_some(*slot),
        Change::Object(_) => None,
    }
}

impl FilterColumn {
    pub fn new(rule: &dyn Filter, pod: &Pod, cluster: &Cluster) -> Self {
        let now = cluster.generation();
        let prepared = rule.prepare(pod, cluster);
        Self { prepared, codes: Vec::new(), is_filled: false, seen: now, rewritten: now }
    }

    pub fn prepared(&self) -> Option<&dyn PreparedFilter> {
        self.prepared.as_deref()
    }

    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    pub fn code(&self, slot: NodeSlot) -> Code {
        self.codes.get(slot.index()).copied().unwrap_or_default()
    }

    /// The generation at which more than the touched nodes may have changed.
    pub fn rewritten(&self) -> u64 {
        self.rewritten
    }

    pub fn bytes(&self) -> usize {
        self.codes.len() * size_of::<Code>()
    }

    /// Whether it has a say in this cycle.
    pub fn is_active(&self) -> bool {
        self.prepared().is_some_and(|prepared| !matches!(prepared.stage(), Stage::Skip))
    }

    pub fn follow(&mut self, rule: &dyn Filter, pod: &Pod, cluster: &Cluster) {
        let now = cluster.generation();
        if self.seen == now {
            return;
        }
        let changes = cluster.log().since(self.seen);
        self.seen = now;
        let Some(prepared) = &mut self.prepared else { return };
        match changes.map(|changes| (changes, prepared.refresh(changes, cluster))) {
            Some((changes, Refresh::Nodes)) => self.touch(changes, cluster),
            Some((_, Refresh::All)) => self.rewrite(cluster),
            Some((_, Refresh::Again)) | None => {
                self.prepared = rule.prepare(pod, cluster);
                self.rewrite(cluster);
            }
        }
    }

    /// Works out the answers of all nodes, if that was not done yet.
    pub fn fill(&mut self, cluster: &Cluster) {
        if !self.is_filled {
            self.is_filled = true;
            self.rewrite(cluster);
        }
    }

    fn rewrite(&mut self, cluster: &Cluster) {
        self.rewritten = cluster.generation();
        if !self.is_filled {
            return;
        }
        self.codes.clear();
        self.codes.resize(cluster.nodes().slots(), Code::PASS);
        if let (true, Some(prepared)) = (self.is_active(), &self.prepared) {
            prepared.check_all(cluster, &mut self.codes);
        }
    }

    fn touch(&mut self, changes: Changes<'_>, cluster: &Cluster) {
        if !self.is_filled || !self.is_active() {
            self.codes.resize(if self.is_filled { cluster.nodes().slots() } else { 0 }, Code::PASS);
            return;
        }
        let Some(prepared) = &self.prepared else { return };
        self.codes.resize(cluster.nodes().slots(), Code::PASS);
        if changes.len() > cluster.nodes().len() {
            prepared.check_all(cluster, &mut self.codes);
            return;
        }
        let reads = prepared.reads();
        for slot in changes.iter().filter_map(|change| touched(change, reads)) {
            let code = cluster.nodes().view(slot).map(|view| prepared.check(cluster, view));
            if let Some(cell) = self.codes.get_mut(slot.index()) {
                *cell = code.unwrap_or_default();
            }
        }
    }
}

impl ScoreColumn {
    pub fn new(rule: &dyn Score, pod: &Pod, cluster: &Cluster) -> Self {
        let now = cluster.generation();
        let prepared = rule.prepare(pod, cluster);
        Self {
            owes_feasible: prepared.as_deref().is_some_and(PreparedScore::reads_feasible),
            prepared,
            raw: Vec::new(),
            is_filled: false,
            seen: now,
            rewritten: now,
            lowest: f64::INFINITY,
            highest: f64::NEG_INFINITY,
        }
    }

    pub fn prepared(&self) -> Option<&dyn PreparedScore> {
        self.prepared.as_deref()
    }

    pub fn raw(&self) -> &[f64] {
        &self.raw
    }

    pub fn raw_of(&self, slot: NodeSlot) -> f64 {
        self.raw.get(slot.index()).copied().unwrap_or_default()
    }

    pub fn rewritten(&self) -> u64 {
        self.rewritten
    }

    pub fn bytes(&self) -> usize {
        self.raw.len() * size_of::<f64>()
    }

    pub fn is_active(&self) -> bool {
        self.prepared().is_some_and(|prepared| !prepared.is_skipped())
    }

    pub fn reads_feasible(&self) -> bool {
        self.prepared().is_some_and(PreparedScore::reads_feasible)
    }

    /// The raw score of every node, where all have the same. Only told where extremes matter.
    pub fn constant(&self) -> Option<f64> {
        #[allow(clippy::float_cmp)]
        let is_constant = self.lowest == self.highest;
        is_constant.then_some(self.lowest)
    }

    pub fn follow(&mut self, rule: &dyn Score, pod: &Pod, cluster: &Cluster) {
        let now = cluster.generation();
        if self.seen == now {
            return;
        }
        let changes = cluster.log().since(self.seen);
        self.seen = now;
        let Some(prepared) = &mut self.prepared else { return };
        match changes.map(|changes| (changes, prepared.refresh(changes, cluster))) {
            Some((changes, Refresh::Nodes)) => self.touch(changes, cluster),
            Some((_, Refresh::All)) => self.rewrite(cluster),
            Some((_, Refresh::Again)) | None => {
                self.prepared = rule.prepare(pod, cluster);
                self.owes_feasible = self.reads_feasible();
                self.rewrite(cluster);
            }
        }
    }

    /// As [`FilterColumn::fill`].
    pub fn fill(&mut self, cluster: &Cluster) {
        if !self.is_filled {
            self.is_filled = true;
            self.rewrite(cluster);
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
    pub fn see_feasible(&mut self, cluster: &Cluster, feasible: Feasible<'_>) {
        self.owes_feasible = false;
        if let Some(prepared) = &mut self.prepared {
            prepared.see_feasible(cluster, feasible);
        }
        self.rewrite(cluster);
    }

    fn rewrite(&mut self, cluster: &Cluster) {
        self.rewritten = cluster.generation();
        (self.lowest, self.highest) = (f64::INFINITY, f64::NEG_INFINITY);
        if !self.is_filled || self.owes_feasible {
            return;
        }
        self.raw.clear();
        self.raw.resize(cluster.nodes().slots(), 0.0);
        if let (true, Some(prepared)) = (self.is_active(), &self.prepared) {
            prepared.raw_all(cluster, &mut self.raw);
        }
        let reads_extremes =
            self.prepared().is_some_and(|prepared| prepared.normalization().reads_extremes());
        if reads_extremes {
            (self.lowest, self.highest) = extremes(&self.raw, &cluster.nodes().columns().live);
        }
    }

    fn touch(&mut self, changes: Changes<'_>, cluster: &Cluster) {
        if !self.is_filled || self.owes_feasible {
            return;
        }
        self.raw.resize(cluster.nodes().slots(), 0.0);
        let Some(prepared) = self.prepared.as_deref().filter(|prepared| !prepared.is_skipped())
        else {
            return;
        };
        let reads = prepared.reads();
        for slot in changes.iter().filter_map(|change| touched(change, reads)) {
            let Some(view) = cluster.nodes().view(slot) else { continue };
            let raw = prepared.raw(cluster, view);
            if let Some(cell) = self.raw.get_mut(slot.index()) {
                *cell = raw;
            }
            self.lowest = self.lowest.min(raw);
            self.highest = self.highest.max(raw);
        }
    }
}

/// The extremes of raw scores over feasible nodes, ignored ones left out.
pub fn extremes(raw: &[f64], feasible: &[bool]) -> (f64, f64) {
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    for (raw, is_feasible) in raw.iter().zip(feasible) {
        let counts = *is_feasible && *raw != IGNORED;
        let low = if counts { *raw } else { f64::INFINITY };
        let high = if counts { *raw } else { f64::NEG_INFINITY };
        lowest = if low < lowest { low } else { lowest };
        highest = if high > highest { high } else { highest };
    }
    (lowest, highest)
}
