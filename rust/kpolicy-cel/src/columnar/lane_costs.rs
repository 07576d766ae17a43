//! Counts what each lane has spent, and finds the lanes that may have spent too much.
//!
//! A cost limit must have the same effect in columns as in the scalar evaluator. The sum kept here
//! is an upper bound of what the scalar evaluator would spend on a lane: the cost of the parts
//! without a kernel, and a bound for each kernel. A lane within the limit by this sum is within it
//! for the scalar evaluator too. The scalar evaluator evaluates the few other lanes again.

use super::machine::has_kernel;
use crate::bits::Bits;
use crate::ir::{Expression, Node, Operation};
use crate::prices::{CALL, LOOKUP, NODE, PARSING};
use crate::types::Type;
use crate::value::Value;

/// The longest text that columns hold: the name of an object.
const TEXT_MAX: u64 = 253;

#[derive(Debug, Default)]
pub(super) struct LaneCosts {
    /// Spent by every lane.
    everywhere: u64,
    /// By lane; empty as long as no lane spent by itself.
    lanes: Vec<u64>,
    /// What some lanes have not spent of it, at the most.
    overcounted: u64,
    /// Some of it may have been counted twice: nothing is certain.
    is_blurred: bool,
    /// How often something was counted.
    counted: usize,
}

impl LaneCosts {
    pub(super) const fn counted(&self) -> usize {
        self.counted
    }

    /// What is counted may be too much.
    pub(super) fn blur(&mut self) {
        self.is_blurred = true;
    }

    /// What was counted since then may be too much.
    pub(super) fn blur_since(&mut self, counted: usize) {
        self.is_blurred |= self.counted != counted;
    }

    /// Each lane has spent so much, or less.
    pub(super) fn add_at_most_everywhere(&mut self, units: u64) {
        self.counted += 1;
        self.everywhere = self.everywhere.saturating_add(units);
        self.overcounted = self.overcounted.saturating_add(units);
    }

    pub(super) fn add(&mut self, lane: usize, lanes: usize, units: u64) {
        self.counted += 1;
        self.lanes.resize(lanes, 0);
        if let Some(cell) = self.lanes.get_mut(lane) {
            *cell = cell.saturating_add(units);
        }
    }

    /// The most that a lane has spent.
    pub(super) fn of(&self, lane: usize) -> u64 {
        self.everywhere.saturating_add(self.lanes.get(lane).copied().unwrap_or_default())
    }

    /// What a lane has spent for certain, of so much at the most.
    fn certain_of(&self, most: u64) -> u64 {
        if self.is_blurred { 0 } else { most.saturating_sub(self.overcounted) }
    }

    pub(super) fn certain(&self, lane: usize) -> u64 {
        self.certain_of(self.of(lane))
    }

    /// What is taken as spent when a lane goes on that has spent so much at the most.
    pub(super) fn before(&self, most: u64) -> u64 {
        if self.is_blurred { most } else { self.certain_of(most) }
    }

    /// Of `lanes`, those that may have spent more than `limit` with what kernels stand for.
    pub(super) fn above(&self, limit: u64, expression: &Expression, lanes: &Bits) -> Vec<usize> {
        let room = limit.checked_sub(kernel_costs(expression));
        let most = self.lanes.iter().copied().max().unwrap_or_default();
        match room {
            Some(room) if self.everywhere.saturating_add(most) <= room => Vec::new(),
            Some(room) => lanes.iter().filter(|lane| self.of(*lane) > room).collect(),
            None => lanes.iter().collect(),
        }
    }
}

/// What the scalar evaluator spends at most on the nodes that kernels evaluated.
fn kernel_costs(expression: &Expression) -> u64 {
    let kernels = |node: &Node| has_kernel(expression, node);
    expression.kernel_units.unwrap_or_else(|| scalar_costs(expression, kernels))
}

/// What the scalar evaluator spends at most on the nodes that a walk from the root reaches. It goes on
/// below those that are `open`.
pub(super) fn scalar_costs(expression: &Expression, open: impl Fn(&Node) -> bool) -> u64 {
    let mut is_reached = vec![false; expression.nodes.len()];
    if let Some(root) = is_reached.get_mut(expression.root as usize) {
        *root = true;
    }
    let mut units = 0_u64;
    for (index, node) in expression.nodes.iter().enumerate().rev() {
        if !is_reached.get(index).copied().unwrap_or(false) {
            continue;
        }
        units = units.saturating_add(own(expression, node));
        if !open(node) {
            continue;
        }
        // An operand that several nodes share is charged for each of them.
        units = units.saturating_add(node.args.len() as u64);
        for arg in &node.args {
            if let Some(flag) = is_reached.get_mut(*arg as usize) {
                *flag = true;
            }
        }
    }
    units
}

/// What one node may spend besides its operands.
fn own(expression: &Expression, node: &Node) -> u64 {
    let overload = match &node.operation {
        Operation::Call { overload, .. } => overload,
        Operation::Fact { fact, .. } | Operation::Present { fact, .. } => return fact.units,
        _ => return NODE,
    };
    let operands = node.args.iter().filter_map(|arg| expression.node(*arg));
    let (mut text, mut items, mut looking_up) = (None, 0, 0);
    for operand in operands {
        let bytes = match expression.constant_of(operand) {
            Some(Value::List(list)) => {
                items = list.len() as u64;
                continue;
            }
            Some(Value::Map(_)) => {
                looking_up = LOOKUP;
                continue;
            }
            Some(Value::String(text)) => text.len() as u64,
            None if operand.kind == Type::String => TEXT_MAX,
            _ => continue,
        };
        text = Some(text.map_or(bytes, |have: u64| have.min(bytes)));
    }
    let is_parsed = overload.family.is_parsing && text.is_some();
    let text = text.unwrap_or_default();
    let parsed = if is_parsed { PARSING + text } else { 0 };
    NODE + CALL + 1 + parsed + looking_up + items * (2 + text / 100) + text / 10 + text / 100
}
