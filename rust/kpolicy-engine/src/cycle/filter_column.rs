//! What one filter says of every node, for all pods of one sub-shape.
//!
//! Owns a prepared filter and its answers by slot, brought up to date by asking again only the nodes
//! that changed in what the rule reads. Answers are only worked out once somebody needs all of them.

use crate::rules::{Code, Filter, PreparedFilter, Reads, Refresh, Stage};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeSlot, Pod};
use crate::timing::{Meter, Point, StatusCode};

#[derive(Debug)]
pub struct FilterColumn {
    /// `None`: it lets every node pass.
    prepared: Option<Box<dyn PreparedFilter>>,
    codes: Vec<Code>,
    is_filled: bool,
    seen: u64,
    rewritten: u64,
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
    pub fn new(rule: &dyn Filter, pod: &Pod, cluster: &Cluster, meter: impl Meter) -> Self {
        let now = cluster.generation();
        meter.begin();
        let prepared = rule.prepare(pod, cluster);
        let column =
            Self { prepared, codes: Vec::new(), is_filled: false, seen: now, rewritten: now };
        meter.whole(Point::PreFilter, || column.status());
        column
    }

    /// What it comes to before any node is asked.
    fn status(&self) -> StatusCode {
        match self.prepared().map(PreparedFilter::stage) {
            None | Some(Stage::Skip) => StatusCode::Skip,
            Some(Stage::Check) => StatusCode::Success,
            Some(Stage::Reject(status)) => status.rejection.into(),
        }
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

    pub fn follow(&mut self, rule: &dyn Filter, pod: &Pod, cluster: &Cluster, meter: impl Meter) {
        let now = cluster.generation();
        if self.seen == now {
            return;
        }
        let changes = cluster.log().since(self.seen);
        self.seen = now;
        let Some(prepared) = &mut self.prepared else { return };
        let refreshed = changes.map(|changes| (changes, prepared.refresh(changes, cluster)));
        if matches!(refreshed, Some((_, Refresh::Again)) | None) {
            self.prepared = rule.prepare(pod, cluster);
        }
        meter.whole(Point::PreFilter, || self.status());
        match refreshed {
            Some((changes, Refresh::Nodes)) => self.touch(changes, cluster, meter),
            Some((_, Refresh::All | Refresh::Again)) | None => self.rewrite(cluster, meter),
        }
    }

    /// Works out the answers of all nodes, if that was not done yet.
    pub fn fill(&mut self, cluster: &Cluster, meter: impl Meter) {
        if !self.is_filled {
            self.is_filled = true;
            meter.begin();
            self.rewrite(cluster, meter);
        }
    }

    fn rewrite(&mut self, cluster: &Cluster, meter: impl Meter) {
        self.rewritten = cluster.generation();
        if !self.is_filled {
            return;
        }
        self.codes.clear();
        self.codes.resize(cluster.nodes().slots(), Code::PASS);
        if let (true, Some(prepared)) = (self.is_active(), self.prepared.as_deref()) {
            prepared.check_all(cluster, &mut self.codes);
            meter.judged(|verdicts| verdicts.all(prepared, &self.codes, cluster));
        }
    }

    fn touch(&mut self, changes: Changes<'_>, cluster: &Cluster, meter: impl Meter) {
        if !self.is_filled || !self.is_active() {
            self.codes.resize(if self.is_filled { cluster.nodes().slots() } else { 0 }, Code::PASS);
            return;
        }
        let Some(prepared) = self.prepared.as_deref() else { return };
        self.codes.resize(cluster.nodes().slots(), Code::PASS);
        if changes.len() > prepared.worth_asking_all(cluster.nodes().len()) {
            prepared.check_all(cluster, &mut self.codes);
            meter.judged(|verdicts| verdicts.all(prepared, &self.codes, cluster));
            return;
        }
        let reads = prepared.reads();
        for slot in changes.iter().filter_map(|change| touched(change, reads)) {
            let code = cluster.nodes().view(slot).map(|view| prepared.check(cluster, view));
            if let Some(code) = code {
                meter.judged(|verdicts| verdicts.one(prepared, slot, code, cluster));
            }
            if let Some(cell) = self.codes.get_mut(slot.index()) {
                *cell = code.unwrap_or_default();
            }
        }
    }
}
