//! Which nodes of an expression kernels evaluate for all lanes side by side, and what that costs.
//!
//! A kernel takes about a nanosecond a lane, so several kernels cost one unit. They are charged once
//! for the whole expression, in columns as in the scalar evaluator, so that a node that is asked by
//! itself ends at the same limit.

use crate::budget::Budget;
use crate::error::EvaluationError;
use crate::functions::Kernel;
use crate::ir::{Expression, Node, Operation};
use crate::prices::KERNELS;
use crate::types::Type;
use crate::value::Value;

impl Expression {
    /// Marks the nodes that only kernels use and that are kernels or constants themselves.
    pub(crate) fn mark_side_by_side(&mut self) {
        let mut users = vec![Users::default(); self.nodes.len()];
        if let Some(root) = users.get_mut(self.root as usize) {
            root.kernels = true;
        }
        let mut kernels = 0;
        for index in (0..self.nodes.len()).rev() {
            let (Some(node), Some(of_node)) = (self.nodes.get(index), users.get(index).copied())
            else {
                continue;
            };
            let weight = if of_node.kernels { self.kernels_of(node) } else { 0 };
            for arg in &node.args {
                if let Some(of_arg) = users.get_mut(*arg as usize) {
                    of_arg.kernels |= weight > 0;
                    of_arg.others |= of_node.others || weight == 0;
                }
            }
            let is_constant =
                matches!(node.operation, Operation::Constant(_) | Operation::Error(_));
            let is_marked = of_node.kernels && !of_node.others && (weight > 0 || is_constant);
            if let Some(node) = self.nodes.get_mut(index) {
                node.is_side_by_side = is_marked;
            }
            kernels += if is_marked { weight } else { 0 };
        }
        self.kernel_units = kernels.div_ceil(KERNELS);
    }

    /// Charges for all kernels, before the root is evaluated.
    pub(crate) fn charge_kernels(&self, budget: &mut Budget) -> Result<(), EvaluationError> {
        budget.charge(self.kernel_units).map_err(|fault| fault.at(self.root()))
    }

    /// How many kernels a node takes for whatever its operands hold; 0 where it may need the scalar
    /// evaluator.
    fn kernels_of(&self, node: &Node) -> u64 {
        let Operation::Call { overload, .. } = &node.operation else {
            let is_logic =
                matches!(node.operation, Operation::And | Operation::Or | Operation::Conditional);
            return u64::from(is_logic);
        };
        let operands: Vec<&Node> = node.args.iter().filter_map(|arg| self.node(*arg)).collect();
        let is_number = |node: &&Node| matches!(node.kind, Type::Int | Type::Double | Type::Bool);
        match (overload.family.kernel, operands.as_slice()) {
            (Kernel::In, [text, list]) if self.is_text_column(text) => {
                self.items(list).map_or(0, |items| 1 + u64::from(items.max(1).ilog2()))
            }
            (Kernel::None | Kernel::In, _) => 0,
            (Kernel::Equal | Kernel::NotEqual, [a, b])
                if self.is_text_column(a) && self.is_text(b)
                    || self.is_text(a) && self.is_text_column(b) =>
            {
                1
            }
            _ => u64::from(operands.iter().all(is_number)),
        }
    }

    /// A column of texts, or of texts and one constant where the column has none: `label(node, key)`.
    fn is_text_column(&self, node: &Node) -> bool {
        let is_column = |node: &Node| {
            node.kind == Type::String
                && matches!(&node.operation, Operation::Fact { fact, read: Some(_) } if fact.has_column)
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

/// What uses a node.
#[derive(Debug, Clone, Copy, Default)]
struct Users {
    kernels: bool,
    others: bool,
}
