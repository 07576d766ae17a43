//! Evaluates operations without a kernel: the scalar evaluator runs once for each class of lanes
//! that read the same values.

use std::borrow::Cow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::lane_costs::LaneCosts;
use super::machine::Machine;
use super::vector::{NO_CLASS, Vector};
use crate::bits::Bits;
use crate::budget::Budget;
use crate::error::{ErrorKind, Fault};
use crate::facts::{Answer, Column, Columns, Facts, Read};
use crate::ir::{Expression, Operation};
use crate::names::Name;
use crate::prices::{CLASS, KERNELS, LANE};
use crate::value::Evaluated;

/// What is less than this part of a lane's limit is counted to all lanes alike.
const CHEAP_SHARE: u64 = 64;

/// Where a part reads more than this, its lanes seldom read the same.
const CLASS_READS_MAX: usize = 8;

/// One lane of columns.
struct Lane<'a> {
    columns: &'a dyn Columns,
    lane: usize,
}

impl Facts for Lane<'_> {
    fn read(&self, read: &Read) -> Answer {
        self.columns.read(self.lane, read)
    }

    fn read_charged(&self, read: &Read, budget: &mut Budget) -> Result<Answer, Fault> {
        self.columns.read_charged(self.lane, read, budget)
    }

    fn is_made(&self, read: &Read) -> bool {
        self.columns.is_made(read)
    }
}

/// What a node rests on.
pub(super) struct Below {
    /// The reads at it and below, ascending; `None` when a fact that is not shared by all lanes is
    /// read with arguments that are not constant.
    pub reads: Option<Vec<u32>>,
    /// Whether others use a part of it too, so that the scalar evaluator works that out only once.
    pub is_shared: bool,
}

pub(super) fn below(
    expression: &Expression,
    index: u32,
    is_shared: impl Fn(&Name) -> bool,
) -> Below {
    let mut wanted = vec![false; index as usize + 1];
    if let Some(last) = wanted.last_mut() {
        *last = true;
    }
    let (mut reads, mut shares, mut has_columns) = (Vec::new(), false, true);
    for at in (0..wanted.len()).rev() {
        let (Some(true), Some(node)) = (wanted.get(at), expression.nodes.get(at)) else {
            continue;
        };
        shares |= node.memo.is_some();
        match &node.operation {
            Operation::Fact { read: Some(read), .. }
            | Operation::Present { read: Some(read), .. } => reads.push(*read),
            // Of one that is shared, the arguments are below, and what they read counts.
            Operation::Fact { fact, read: None } | Operation::Present { fact, read: None } => {
                has_columns &= is_shared(fact);
            }
            _ => {}
        }
        for arg in &node.args {
            if let Some(flag) = wanted.get_mut(*arg as usize) {
                *flag = true;
            }
        }
    }
    reads.sort_unstable();
    reads.dedup();
    Below { reads: has_columns.then_some(reads), is_shared: shares }
}

fn is_exceeded(outcome: &Evaluated) -> bool {
    matches!(outcome, Err(error) if error.kind == ErrorKind::CostExceeded)
}

impl<'a> Machine<'a> {
    pub(super) fn fallback(&mut self, index: u32, needed: &Bits) -> Vector<'a> {
        if index != self.expression.root {
            return self.lane_by_lane(index, needed);
        }
        // What operands spent in columns does not count: they are evaluated anew with the whole.
        self.costs = LaneCosts::default();
        self.is_settled = true;
        let vector = self.lane_by_lane(index, needed);
        let limit = self.budget.lane_limit();
        let exceeded = needed.iter().filter(|lane| self.costs.of(*lane) > limit).count();
        self.budget.count_exceeded(exceeded);
        vector
    }

    fn lane_by_lane(&mut self, index: u32, needed: &Bits) -> Vector<'a> {
        let below = below(self.expression, index, |fact| self.columns.is_shared(fact));
        if below.is_shared {
            self.costs.blur();
        }
        let classes = below.reads.and_then(|reads| self.classes(&reads));
        match classes {
            Some(Classes::All) => match needed.iter().next() {
                Some(lane) => {
                    let least = needed.iter().map(|lane| self.costs.of(lane)).min();
                    let (outcome, spent) = self.lane(index, lane, least.unwrap_or_default());
                    self.count(needed, spent, |_| spent);
                    Vector::Same(outcome)
                }
                None => Vector::Each { classes: vec![NO_CLASS; self.lanes], outcomes: Vec::new() },
            },
            Some(Classes::By(ids)) => self.by_class(index, &ids, needed),
            None => self.by_lane(index, needed),
        }
    }

    /// What a lane gives that has spent so much at the most, and what it spends on top. One that may
    /// have spent all is not worth going on with: it is asked again as a whole.
    fn lane(&mut self, index: u32, lane: usize, most: u64) -> (Evaluated, u64) {
        let mut budget = self.budget.for_lane(self.costs.before(most));
        if most > self.budget.lane_limit() {
            return (Err(budget.exhausted().at(index)), 0);
        }
        let facts = Lane { columns: self.columns, lane };
        let outcome = self.expression.evaluate_node(index, &facts, &mut budget, &mut self.room);
        self.budget.settle(&budget);
        self.budget.count(LANE);
        let is_spent = u64::from(is_exceeded(&outcome));
        (outcome, budget.spent() + is_spent)
    }

    /// Lanes of `selected` that may have spent too much, by the scalar evaluator.
    pub(super) fn asked_again(&mut self, selected: &Bits) -> Vec<(usize, Evaluated)> {
        if self.is_settled {
            return Vec::new();
        }
        let limit = self.budget.lane_limit();
        let lanes = self.costs.above(limit, self.expression, selected);
        let ask = |lane: usize| {
            if self.costs.certain(lane) > limit {
                let fault = Budget::new(limit).exhausted();
                return (lane, Err(fault.at(self.expression.root())));
            }
            let facts = Lane { columns: self.columns, lane };
            (lane, self.expression.evaluate(&facts, &mut Budget::new(limit)))
        };
        let answers: Vec<_> = lanes.into_iter().map(ask).collect();
        let exceeded = answers.iter().filter(|(_, outcome)| is_exceeded(outcome)).count();
        self.budget.count_exceeded(exceeded);
        answers
    }

    fn by_class(&mut self, index: u32, ids: &[u32], needed: &Bits) -> Vector<'a> {
        let mut classes = vec![NO_CLASS; self.lanes];
        // Of each class its first lane, and the least that one of its lanes has spent: where even that
        // one spends too much, all lanes of the class do.
        let mut firsts: Vec<(usize, u64)> = Vec::new();
        let mut known = Known::of(ids);
        for lane in needed.iter() {
            let (Some(id), Some(place)) = (ids.get(lane), classes.get_mut(lane)) else {
                continue;
            };
            let class = known.class(*id);
            if *class == NO_CLASS {
                *class = u32::try_from(firsts.len()).unwrap_or(NO_CLASS);
                firsts.push((lane, u64::MAX));
            }
            *place = *class;
            if let Some((_, least)) = firsts.get_mut(*class as usize) {
                *least = (*least).min(self.costs.of(lane));
            }
        }
        let (outcomes, spent): (Vec<_>, Vec<_>) =
            firsts.into_iter().map(|(lane, least)| self.lane(index, lane, least)).unzip();
        self.count_classes(&classes, &spent, needed);
        Vector::packed(classes, outcomes)
    }

    /// Lanes of a class have spent what its first lane did.
    fn count_classes(&mut self, classes: &[u32], spent: &[u64], needed: &Bits) {
        let most = spent.iter().copied().max().unwrap_or_default();
        self.count(needed, most, |lane| {
            let class = classes.get(lane).copied().unwrap_or(NO_CLASS);
            spent.get(class as usize).copied().unwrap_or_default()
        });
    }

    /// Counts what each of these lanes has spent, `most` at the most.
    fn count(&mut self, needed: &Bits, most: u64, spent: impl Fn(usize) -> u64) {
        if most <= self.budget.lane_limit() / CHEAP_SHARE {
            // Too little to tell lanes apart for.
            self.costs.add_at_most_everywhere(most);
            return;
        }
        for lane in needed.iter() {
            self.costs.add(lane, self.lanes, spent(lane));
        }
    }

    fn by_lane(&mut self, index: u32, needed: &Bits) -> Vector<'a> {
        let mut classes = vec![NO_CLASS; self.lanes];
        let mut outcomes = Vec::with_capacity(needed.count());
        for lane in needed.iter() {
            if let Some(place) = classes.get_mut(lane) {
                *place = u32::try_from(outcomes.len()).unwrap_or(NO_CLASS);
                let (outcome, units) = self.lane(index, lane, self.costs.of(lane));
                outcomes.push(outcome);
                self.costs.add(lane, self.lanes, units);
            }
        }
        Vector::packed(classes, outcomes)
    }

    /// Lanes with equal ids read the same of `reads`; `None` when a read has no column.
    fn classes(&mut self, reads: &[u32]) -> Option<Classes<'a>> {
        if reads.len() > CLASS_READS_MAX {
            return None;
        }
        let mut classes = Classes::All;
        for read in reads {
            let read = self.expression.reads.get(*read as usize)?;
            self.charge_kernels(CLASS * KERNELS);
            let column = self.columns.column(read);
            if matches!(column, Column::Constant(_)) {
                continue;
            }
            let ids = ids_of(column, self.lanes)?;
            classes = match classes {
                Classes::All => Classes::By(ids),
                Classes::By(before) => Classes::By(paired(&before, &ids).into()),
            };
        }
        Some(classes)
    }
}

enum Classes<'a> {
    /// All lanes are of one class.
    All,
    By(Cow<'a, [u32]>),
}

/// The classes by id that are known so far, [`NO_CLASS`] for the others: a table where ids are small,
/// as they are where a host numbers what it has.
struct Known {
    table: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
}

impl Known {
    fn of(ids: &[u32]) -> Self {
        let highest = ids.iter().max().map_or(0, |id| *id as usize);
        let length = (highest + 1).min(2 * ids.len());
        Self { table: vec![NO_CLASS; length], sparse: FxHashMap::default() }
    }

    fn class(&mut self, id: u32) -> &mut u32 {
        match self.table.get_mut(id as usize) {
            Some(class) => class,
            None => self.sparse.entry(id).or_insert(NO_CLASS),
        }
    }
}

/// Ids that are equal where a column answers the same; `None` when it is none.
fn ids_of(column: Column<'_>, lanes: usize) -> Option<Cow<'_, [u32]>> {
    Some(match column {
        Column::Text { ids, .. } | Column::Classes(ids) => Cow::Borrowed(ids.get(..lanes)?),
        Column::Bool(words) => {
            let is_set = Bits::from_words(words.into_owned(), lanes);
            (0..lanes).map(|lane| u32::from(is_set.get(lane))).collect()
        }
        Column::Int(values) => numbered(values.get(..lanes)?.iter().copied()).into(),
        Column::Whole(values) | Column::Double(values) => {
            numbered(values.get(..lanes)?.iter().map(|value| value.to_bits())).into()
        }
        Column::Sparse { column, absent } => {
            let ids = ids_of(*column, lanes)?;
            let id =
                |(lane, id): (usize, &u32)| if absent.get(lane) { 0 } else { id.wrapping_add(1) };
            ids.iter().enumerate().map(id).collect()
        }
        Column::Constant(_) | Column::Unavailable => return None,
    })
}

/// Ids of the values that occur.
fn numbered<T: Eq + Hash>(values: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known: FxHashMap<T, u32> = FxHashMap::default();
    let mut id = |value| {
        let next = u32::try_from(known.len()).unwrap_or(NO_CLASS);
        *known.entry(value).or_insert(next)
    };
    values.map(&mut id).collect()
}

/// Ids of the pairs of ids that occur together.
fn paired(a: &[u32], b: &[u32]) -> Vec<u32> {
    numbered(a.iter().zip(b))
}
