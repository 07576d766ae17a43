//! Dry runs of the next nodes of a search, divided among the threads.
//!
//! A stretch has no more nodes than the search needs in any case, so nothing is tried in vain. Where
//! its dry runs take together more than is left, the search would end within the stretch whoever is
//! done first: then nothing of it is used.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::snapshot::NodeView;
use crate::threads::each;

use super::dry_run::DryRuns;
use super::{CandidateMemo, DryRun, Unplaced};

/// Nodes that are tried at once.
pub(super) const STRETCH_MAX: usize = 64;
/// From so many units on dry runs are divided: waking a thread takes some ten microseconds, and a unit about
/// ten nanoseconds. Debug builds divide what they can: their tests have few nodes.
const DIVIDED_UNITS_MIN: u64 = if cfg!(debug_assertions) { 1 } else { 20_000 };

/// A node and what comes of it.
pub(super) struct Tried<'a> {
    pub(super) node: NodeView<'a>,
    pub(super) is_new: bool,
    pub(super) dry_run: Option<DryRun>,
}

/// What comes of these nodes, in their order. `None`: it takes more than is left.
pub(super) fn tried<'a>(
    nodes: impl Iterator<Item = NodeView<'a>>,
    unplaced: Unplaced<'a>,
    dry_runs: &mut DryRuns<'a>,
    left: u64,
    memo: &CandidateMemo,
) -> Option<Vec<Tried<'a>>> {
    let known = |node| {
        let known = memo.get(node);
        Tried { node, is_new: known.is_none(), dry_run: known.cloned() }
    };
    let mut stretch: Vec<Tried<'a>> = nodes.map(known).collect();
    let spent = AtomicU64::new(0);
    let run = |dry_runs: &mut DryRuns<'a>, one: &mut Tried<'a>| {
        let left = left.saturating_sub(spent.load(Ordering::Relaxed));
        one.dry_run = DryRun::of(dry_runs, one.node, left);
        let units = one.dry_run.as_ref().map_or(left, |dry_run| dry_run.units);
        spent.fetch_add(units, Ordering::Relaxed);
    };
    let mut new: Vec<_> = stretch.iter_mut().filter(|one| one.is_new).collect();
    if let Some((first, others)) = new.split_first_mut() {
        run(dry_runs, first);
        // The others are taken to be like the first.
        let units = first.dry_run.as_ref().map_or(0, |dry_run| dry_run.units);
        match units.saturating_mul(others.len() as u64) {
            0..DIVIDED_UNITS_MIN => others.iter_mut().for_each(|one| run(dry_runs, one)),
            _ => unplaced.question.threads.inside(|| {
                each(others, || DryRuns::of(unplaced), |dry_runs, one| run(dry_runs, one));
            }),
        }
    }
    let units = |one: &Tried<'_>| one.dry_run.as_ref().map(|dry_run| dry_run.units);
    let together = stretch.iter().map(units).try_fold(0_u64, |sum, units| sum.checked_add(units?));
    together.is_some_and(|units| units <= left).then_some(stretch)
}
