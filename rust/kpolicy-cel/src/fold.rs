//! Partial evaluation: parts that are known already become constants, the others stay.
//!
//! A fact that is known now must not change while the result is in use. A folded error stays in its
//! place, so that it is absorbed, or not, as before.

use crate::budget::Budget;
use crate::builder::Builder;
use crate::error::{ErrorKind, EvaluationError};
use crate::facts::{Answer, Facts, NoFacts, Read, value_of_answer};
use crate::ir::{Expression, Node, Operation};
use crate::room::Room;
use crate::types::Type;
use crate::value::{Evaluated, Value};

/// What an expression is when some facts are known: again an expression.
pub type Residual = Expression;

impl Expression {
    /// Puts the facts that `facts` knows into the expression. Reads that stay are numbered anew.
    ///
    /// When the budget is spent, what could not be folded stays as it is.
    #[must_use]
    pub fn fold(&self, facts: &dyn Facts, budget: &mut Budget) -> Residual {
        let mut folder = Folder {
            expression: self,
            facts,
            budget,
            builder: Builder::for_nodes(self.nodes.len() + 8),
            made: vec![None; self.nodes.len()],
        };
        match folder.fold(self.root) {
            Some(root) => folder.builder.finish(root),
            None => self.clone(),
        }
    }
}

struct Folder<'a> {
    expression: &'a Expression,
    facts: &'a dyn Facts,
    budget: &'a mut Budget,
    builder: Builder,
    made: Vec<Option<u32>>,
}

impl Folder<'_> {
    /// The node of the residual; `None` only if the expression broke its own invariants.
    fn fold(&mut self, index: u32) -> Option<u32> {
        if let Some(Some(made)) = self.made.get(index as usize) {
            return Some(*made);
        }
        let expression = self.expression;
        let node = expression.node(index)?;
        let made = self.folded(node)?;
        *self.made.get_mut(index as usize)? = Some(made);
        Some(made)
    }

    fn folded(&mut self, node: &Node) -> Option<u32> {
        match &node.operation {
            Operation::Constant(constant) => {
                let value = self.expression.constants.get(*constant as usize)?.clone();
                Some(self.builder.add_constant(value, node.kind.clone(), node.origin))
            }
            Operation::Error(error) => Some(self.error((**error).clone(), node)),
            Operation::And => self.absorbing(node, false),
            Operation::Or => self.absorbing(node, true),
            Operation::Conditional => self.conditional(node),
            _ => {
                let args = node.args.iter().map(|arg| self.fold(*arg)).collect::<Option<_>>()?;
                self.rebuilt(node, args)
            }
        }
    }

    fn error(&mut self, error: EvaluationError, node: &Node) -> u32 {
        self.builder.add_error(error, node.kind.clone())
    }

    fn is_error(&self, index: u32) -> Option<EvaluationError> {
        match &self.builder.node(index)?.operation {
            Operation::Error(error) => Some((**error).clone()),
            _ => None,
        }
    }

    /// Leaves out operands that cannot matter; errors stay, as a later operand may absorb them.
    fn absorbing(&mut self, node: &Node, decides: bool) -> Option<u32> {
        let mut args = Vec::with_capacity(node.args.len());
        for arg in &node.args {
            let made = self.fold(*arg)?;
            match self.builder.constant(made) {
                Some(Value::Bool(value)) if *value == decides => return Some(made),
                Some(Value::Bool(_)) => {}
                _ => args.push(made),
            }
        }
        match args.as_slice() {
            [] => Some(self.builder.add_constant(Value::Bool(!decides), Type::Bool, node.origin)),
            [only] if self.decides_type(*only) => Some(*only),
            [only] => {
                let only = *only;
                let neutral =
                    self.builder.add_constant(Value::Bool(!decides), Type::Bool, node.origin);
                self.rebuilt(node, [only, neutral].into())
            }
            _ => self.rebuilt(node, args.into()),
        }
    }

    /// Whether a node can stand for `x && true`: it gives a bool or an error, nothing else.
    fn decides_type(&self, index: u32) -> bool {
        self.is_error(index).is_some()
            || self.builder.node(index).is_some_and(|node| node.kind == Type::Bool)
    }

    fn conditional(&mut self, node: &Node) -> Option<u32> {
        let [condition, yes, no] = *node.args else {
            return None;
        };
        let condition = self.fold(condition)?;
        match self.builder.constant(condition) {
            Some(Value::Bool(true)) => return self.fold(yes),
            Some(Value::Bool(false)) => return self.fold(no),
            _ => {}
        }
        if self.is_error(condition).is_some() {
            return Some(condition);
        }
        let args = [condition, self.fold(yes)?, self.fold(no)?].into();
        self.rebuilt(node, args)
    }

    /// The same operation on folded operands, evaluated at once if they are all known.
    fn rebuilt(&mut self, node: &Node, args: Box<[u32]>) -> Option<u32> {
        if let Some(outcome) = self.answered(node, &args).or_else(|| self.evaluated(node, &args)) {
            return Some(match outcome {
                Ok(value) => self.builder.add_constant(value, node.kind.clone(), node.origin),
                Err(error) => self.error(error, node),
            });
        }
        let operation = self.operation(node, &args);
        self.builder.add(operation, args, node.kind.clone(), node.origin).ok()
    }

    /// What a fact with known arguments is, if it is known.
    fn answered(&mut self, node: &Node, args: &[u32]) -> Option<Evaluated> {
        let (fact, read, present) = match &node.operation {
            Operation::Fact { fact, read } => (fact, read, false),
            Operation::Present { fact, read } => (fact, read, true),
            _ => return None,
        };
        let args = self.constants(args)?;
        // The index from before folding, so that a host finds what it resolved.
        let read = Read { fact: fact.clone(), args, index: read.unwrap_or(Read::DYNAMIC) };
        match self.facts.read(&read) {
            Answer::Unknown => None,
            answer => Some(
                value_of_answer(&fact.text, &read.args, answer, present)
                    .map_err(|fault| fault.at(node.origin)),
            ),
        }
    }

    fn constants(&self, args: &[u32]) -> Option<Vec<Value>> {
        args.iter().map(|arg| self.builder.constant(*arg).cloned()).collect()
    }

    /// The outcome of an operation, when its operands tell it.
    fn evaluated(&mut self, node: &Node, args: &[u32]) -> Option<Evaluated> {
        let decided = match node.operation {
            Operation::Fact { .. } | Operation::Present { .. } | Operation::Slot(_) => return None,
            Operation::And | Operation::Or | Operation::Conditional => {
                args.iter().all(|arg| self.is_known(*arg))
            }
            Operation::OrValue | Operation::OrOptional => self.or_else_is_known(args),
            Operation::Loop { .. } | Operation::Bind(_) => {
                node.free == 0
                    && self.is_known(*args.first()?)
                    && self.builder.expression().is_closed(args)
            }
            // Operands are evaluated in order and the first error ends it.
            _ => {
                let first = args.iter().position(|arg| self.is_error(*arg).is_some());
                let before = args.get(..first.unwrap_or(args.len()))?;
                before.iter().all(|arg| self.builder.constant(*arg).is_some())
            }
        };
        if !decided {
            return None;
        }
        let operation = self.operation(node, args);
        let made = self.builder.add(operation, args.into(), node.kind.clone(), node.origin).ok()?;
        let outcome = self.builder.expression().evaluate_node(
            made,
            &NoFacts,
            self.budget,
            &mut Room::default(),
        );
        match outcome {
            Err(error) if error.kind == ErrorKind::CostExceeded => None,
            outcome => Some(outcome),
        }
    }

    fn is_known(&self, index: u32) -> bool {
        self.builder.constant(index).is_some() || self.is_error(index).is_some()
    }

    /// `a.orValue(b)` needs `b` only when `a` is empty.
    fn or_else_is_known(&self, args: &[u32]) -> bool {
        match args {
            [first, second] => match self.builder.constant(*first) {
                Some(Value::Optional(None)) => self.is_known(*second),
                Some(_) => true,
                None => self.is_error(*first).is_some(),
            },
            _ => false,
        }
    }

    /// The operation on new operands: a pattern that became constant is compiled.
    fn operation(&mut self, node: &Node, args: &[u32]) -> Operation {
        match &node.operation {
            Operation::Call { overload, .. } => self
                .builder
                .call(overload, args)
                .unwrap_or(Operation::Call { overload, pattern: None }),
            other => other.clone(),
        }
    }
}

impl Expression {
    /// Whether nothing at or below these nodes reads a fact.
    fn is_closed(&self, roots: &[u32]) -> bool {
        let mut wanted = vec![false; self.nodes.len()];
        for root in roots {
            if let Some(flag) = wanted.get_mut(*root as usize) {
                *flag = true;
            }
        }
        for index in (0..self.nodes.len()).rev() {
            if !wanted.get(index).copied().unwrap_or(false) {
                continue;
            }
            let Some(node) = self.nodes.get(index) else { return false };
            if matches!(node.operation, Operation::Fact { .. } | Operation::Present { .. }) {
                return false;
            }
            for arg in &node.args {
                if let Some(flag) = wanted.get_mut(*arg as usize) {
                    *flag = true;
                }
            }
        }
        true
    }
}
