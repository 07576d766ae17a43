//! What evaluating all lanes side by side costs.
//!
//! A kernel takes about a nanosecond a lane, so several kernels cost one unit. An expression that
//! kernels evaluate as a whole is charged for them once, in columns as in the scalar evaluator, so that
//! a node that is asked by itself ends at the same limit. Any other is charged node by node: some of
//! its lanes may be evaluated by the scalar evaluator from the start.

use super::lane_costs::scalar_costs;
use crate::budget::Budget;
use crate::error::EvaluationError;
use crate::functions::Kernel;
use crate::ir::{Expression, Node, Operation};
use crate::prices::{DIVISION_KERNELS, KERNELS, NUMBER_KERNELS};
use crate::types::Type;
use crate::value::Value;

impl Expression {
    /// Works out what it costs a lane if kernels do all of it.
    pub(crate) fn price_kernels(&mut self) {
        let of_nodes = self.nodes.iter().map(|node| self.kernels_of(node));
        let kernels = of_nodes.sum::<Option<u64>>().filter(|_| !self.nodes.is_empty());
        self.kernel_units = kernels.map(|kernels| kernels.div_ceil(KERNELS));
        self.units_by_itself = self.kernel_units.map_or(0, |_| scalar_costs(self, |_| true));
    }

    /// What the scalar evaluator really takes for one world, at the most, where an evaluation costs as
    /// much as kernels take for a lane. `None`: it costs what it takes.
    pub fn units_by_itself(&self, limit: u64) -> Option<u64> {
        let ends_at_once = self.kernels_exceed(limit);
        self.is_side_by_side().then_some(if ends_at_once { 1 } else { self.units_by_itself })
    }

    /// Whether kernels do all of it, whatever the operands hold.
    pub const fn is_side_by_side(&self) -> bool {
        self.kernel_units.is_some()
    }

    /// Whether kernels alone cost a lane more than it may spend.
    pub(super) fn kernels_exceed(&self, limit: u64) -> bool {
        self.kernel_units.is_some_and(|units| units > limit)
    }

    /// Charges for all kernels, before the root is evaluated.
    pub(crate) fn charge_kernels(&self, budget: &mut Budget) -> Result<(), EvaluationError> {
        let units = self.kernel_units.unwrap_or_default();
        budget.charge(units).map_err(|fault| fault.at(self.root()))
    }

    /// As how many kernels a node counts; `None` where it may need the scalar evaluator.
    fn kernels_of(&self, node: &Node) -> Option<u64> {
        let is_simple = match &node.operation {
            Operation::Constant(_) | Operation::And | Operation::Or => true,
            Operation::Fact { fact, read: Some(_) }
            | Operation::Present { fact, read: Some(_) } => fact.column_kernels.is_some(),
            Operation::Conditional => is_number(node) || self.is_text_column(node),
            Operation::Call { overload, .. } => self.is_done_by(overload.family.kernel, node),
            _ => false,
        };
        is_simple.then(|| self.kernels(node))
    }

    /// Whether the kernel does a call whatever the operands hold.
    fn is_done_by(&self, kernel: Kernel, node: &Node) -> bool {
        let operands: Vec<&Node> = node.args.iter().filter_map(|arg| self.node(*arg)).collect();
        match (kernel, operands.as_slice()) {
            (Kernel::In, [text, list]) => self.is_text_column(text) && self.items(list).is_some(),
            (Kernel::None | Kernel::In, _) => false,
            (Kernel::Equal | Kernel::NotEqual, [a, b])
                if self.is_text_column(a) && self.is_text(b)
                    || self.is_text(a) && self.is_text_column(b) =>
            {
                true
            }
            (Kernel::Less | Kernel::LessEqual | Kernel::Greater | Kernel::GreaterEqual, [a, _])
                if a.kind == Type::Bool =>
            {
                false
            }
            (_, operands) => operands.iter().all(|operand| is_number(operand)),
        }
    }

    /// As how many kernels a node counts where kernels do it.
    pub(super) fn kernels(&self, node: &Node) -> u64 {
        match &node.operation {
            Operation::Constant(_) => 0,
            Operation::Fact { fact, .. } | Operation::Present { fact, .. } => {
                fact.column_kernels.unwrap_or(fact.units.saturating_mul(KERNELS))
            }
            Operation::Conditional => NUMBER_KERNELS,
            Operation::Call { overload, .. } => match overload.family.kernel {
                Kernel::In => {
                    let list = node.args.get(1).and_then(|list| self.node(*list));
                    let items = list.and_then(|list| self.items(list)).unwrap_or_default();
                    1 + u64::from(items.max(1).ilog2())
                }
                Kernel::Add | Kernel::Subtract | Kernel::Multiply => NUMBER_KERNELS,
                Kernel::Divide => DIVISION_KERNELS,
                _ => 1,
            },
            _ => 1,
        }
    }

    /// A column of texts, or of texts and one constant where the column has none: `label(node, key)`.
    fn is_text_column(&self, node: &Node) -> bool {
        let is_column = |node: &Node| {
            node.kind == Type::String
                && matches!(&node.operation, Operation::Fact { fact, read: Some(_) } if fact.column_kernels.is_some())
        };
        let operand = |at: usize| node.args.get(at).and_then(|arg| self.node(*arg));
        match node.operation {
            Operation::Conditional => {
                operand(1).is_some_and(is_column) && operand(2).is_some_and(|no| self.is_text(no))
            }
            _ => is_column(node),
        }
    }

    fn is_text(&self, node: &Node) -> bool {
        matches!(self.constant_of(node), Some(Value::String(_)))
    }

    fn items(&self, node: &Node) -> Option<usize> {
        match self.constant_of(node)? {
            Value::List(items) => Some(items.len()),
            _ => None,
        }
    }

    pub(crate) fn constant_of(&self, node: &Node) -> Option<&Value> {
        match node.operation {
            Operation::Constant(constant) => self.constants.get(constant as usize),
            _ => None,
        }
    }
}

const fn is_number(node: &Node) -> bool {
    matches!(node.kind, Type::Int | Type::Double | Type::Bool)
}
