//! The verdicts of one filter on all nodes.

use multiversion::multiversion;

use crate::heap::flat_bytes;
use crate::judging::new_node;
use crate::rules::{Code, FilterRule, HeldBytes, PreparedFilter, Refresh, Stage};
use crate::snapshot::columns::behind;
use crate::snapshot::{Changes, Cluster, NodeSlot, NodeView, Pod};
use crate::threads::ranges;
use crate::timing::{Meter, Point, StatusCode};

use super::column::{Answers, Column, touched};
use super::spare::Spare;

/// Codes by slot. A slot without a code passes: where all nodes do, there is none.
#[derive(Debug, Default)]
pub(super) struct FilterAnswers(Vec<Code>);

pub(super) type FilterColumn = Column<FilterAnswers>;

impl FilterColumn {
    /// Whether the filter is active in this cycle.
    pub(super) fn is_active(&self) -> bool {
        self.active().is_some()
    }

    /// The filter, if it is active in this cycle.
    pub(super) fn active(&self) -> Option<&dyn PreparedFilter> {
        active(self.prepared())
    }

    pub(super) fn codes(&self) -> &[Code] {
        self.answers().map_or(&[], |answers| &answers.0)
    }

    /// Whether the filter could not judge some node. Without an early end, so that the compiler
    /// compares several codes at once.
    pub(super) fn has_failure(&self) -> bool {
        let can_fail = self.active().is_some_and(PreparedFilter::can_fail);
        can_fail && self.codes().iter().fold(false, |failed, code| failed | code.is_failure())
    }

    /// Whether the filter rejects a node by itself. It is asked only where its answers are not known.
    pub(super) fn rejects(&self, node: NodeView<'_>, cluster: &Cluster) -> bool {
        let known = self.answers().map(|_| self.code(node.slot));
        new_node::rejects(self.active(), node, cluster, known)
    }

    /// Of the nodes from a slot on, only those that pass stay feasible.
    pub(super) fn judge_all(&self, first: usize, feasible: &mut [bool]) {
        keep_passing(feasible, behind(self.codes(), first));
    }

    pub(super) fn code(&self, slot: NodeSlot) -> Code {
        self.codes().get(slot.index()).copied().unwrap_or_default()
    }
}

fn active<'a>(
    prepared: Option<&'a (dyn PreparedFilter + 'static)>,
) -> Option<&'a dyn PreparedFilter> {
    match prepared {
        Some(prepared) if !matches!(prepared.stage(), Stage::Skip) => Some(prepared),
        _ => None,
    }
}

/// Codes that are looked at before it is known whether one of them rejects.
const CODES_AT_ONCE: usize = 512;

fn all_pass(codes: &[Code]) -> bool {
    codes.chunks(CODES_AT_ONCE).all(pass)
}

/// Without an early end, so that the compiler compares several codes at once.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn pass(codes: &[Code]) -> bool {
    codes.iter().fold(true, |all, code| all & code.passes())
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn keep_passing(feasible: &mut [bool], codes: &[Code]) {
    for (is_feasible, code) in feasible.iter_mut().zip(codes) {
        *is_feasible &= code.passes();
    }
}

/// How many are feasible. Counted in bytes first, so that the processor adds many at once.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
pub(super) fn count(feasible: &[bool]) -> usize {
    let in_bytes = |part: &[bool]| {
        part.iter().fold(0_u8, |count, is_feasible| count.wrapping_add(u8::from(*is_feasible)))
    };
    feasible.chunks(128).fold(0, |count: usize, part| count.wrapping_add(in_bytes(part).into()))
}

fn check_all(prepared: &dyn PreparedFilter, cluster: &Cluster, codes: &mut [Code]) {
    match prepared.has_ranges() {
        true => ranges(codes, |first, codes| prepared.check_range(cluster, first, codes)),
        false => prepared.check_all(cluster, codes),
    }
}

impl Answers for FilterAnswers {
    type Rule = FilterRule;
    type Prepared = dyn PreparedFilter;
    type Scratch = ();
    const POINT: Point = Point::PreFilter;

    fn with_room(
        _: &FilterRule,
        prepared: Option<&(dyn PreparedFilter + 'static)>,
        cluster: &Cluster,
        spare: &mut Spare,
    ) -> Self {
        let needed = active(prepared).filter(|prepared| !prepared.passes_all(cluster));
        Self(needed.map_or_else(Vec::new, |_| spare.take(cluster.nodes().slots())))
    }

    fn leave(self, spare: &mut Spare) {
        spare.put(self.0);
    }

    fn prepare(rule: &FilterRule, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        rule.prepare(pod, cluster)
    }

    fn refresh(
        rule: &FilterRule,
        prepared: &mut Option<Box<dyn PreparedFilter>>,
        changes: Changes<'_>,
        cluster: &Cluster,
    ) -> Refresh {
        rule.refresh(prepared.as_deref_mut(), changes, cluster)
    }

    fn may_change(rule: &FilterRule) -> bool {
        rule.may_change()
    }

    fn status(prepared: Option<&(dyn PreparedFilter + 'static)>) -> StatusCode {
        match prepared.map(PreparedFilter::stage) {
            None | Some(Stage::Skip) => StatusCode::Skip,
            Some(Stage::Check) => StatusCode::Success,
            Some(Stage::Reject(status)) => status.rejection.into(),
        }
    }

    fn reads_feasible(_: Option<&(dyn PreparedFilter + 'static)>) -> bool {
        false
    }

    fn fill(
        &mut self,
        _: &FilterRule,
        prepared: Option<&(dyn PreparedFilter + 'static)>,
        cluster: &Cluster,
        (): &mut (),
        meter: impl Meter,
    ) {
        let Some(prepared) = active(prepared) else {
            self.0.clear();
            return;
        };
        let passes_all = prepared.passes_all(cluster);
        // Those who do a part by itself write the code of every node that is there.
        if passes_all || !prepared.has_ranges() {
            self.0.clear();
        }
        if !passes_all {
            self.0.resize(cluster.nodes().slots(), Code::PASS);
            check_all(prepared, cluster, &mut self.0);
            if all_pass(&self.0) {
                self.0.clear();
            }
        }
        meter.judged(|verdicts| verdicts.all(prepared, &self.0, cluster));
    }

    fn touch(
        &mut self,
        prepared: Option<&(dyn PreparedFilter + 'static)>,
        changes: Changes<'_>,
        cluster: &Cluster,
        meter: impl Meter,
    ) {
        let Some(prepared) = active(prepared) else { return };
        if changes.len() > prepared.worth_asking_all(cluster.nodes().len()) {
            self.0.resize(cluster.nodes().slots(), Code::PASS);
            check_all(prepared, cluster, &mut self.0);
            meter.judged(|verdicts| verdicts.all(prepared, &self.0, cluster));
            return;
        }
        let reads = prepared.reads();
        for slot in changes.iter().filter_map(|change| touched(change, reads)) {
            let code = cluster.nodes().view(slot).map(|view| prepared.check(cluster, view));
            if let Some(code) = code {
                meter.judged(|verdicts| verdicts.one(prepared, slot, code, cluster));
            }
            let code = code.unwrap_or_default();
            if !code.passes() && self.0.len() <= slot.index() {
                self.0.resize(cluster.nodes().slots(), Code::PASS);
            }
            if let Some(cell) = self.0.get_mut(slot.index()) {
                *cell = code;
            }
        }
    }

    /// Verdicts that are asked for again without need are the same: nothing rests on more than the
    /// nodes that changed, so the column is not rewritten for it.
    fn is_worth_filling(_: &(dyn PreparedFilter + 'static), _: usize, _: usize) -> bool {
        false
    }

    fn heap_bytes(&self) -> usize {
        flat_bytes(&self.0)
    }

    fn held_bytes(prepared: &(dyn PreparedFilter + 'static)) -> HeldBytes {
        prepared.held_bytes()
    }
}
