//! Builds an expression node by node and keeps its invariants: depth, free slots, interned reads,
//! compiled patterns, and which nodes are shared.
//!
//! Operands must be added before the nodes that use them. Both callers check this.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::{EvaluationError, Fault};
use crate::facts::Read;
use crate::functions::{Overload, compile_pattern};
use crate::ir::{DEPTH_MAX, Expression, Node, Operation, READS_MAX};
use crate::names::Name;
use crate::types::Type;
use crate::value::Value;

/// What a node that cannot be added breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The expression is deeper than [`DEPTH_MAX`].
    Depth,
    /// A slot is bound again inside the loop that binds it.
    Slot,
    /// More than [`READS_MAX`] reads.
    Reads,
}

#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    depth: usize,
    /// Slots bound anywhere below.
    bound: u64,
}

#[derive(Default)]
pub(crate) struct Builder {
    /// What is built so far; every node of it can be evaluated.
    expression: Expression,
    shapes: Vec<Shape>,
    patterns: FxHashMap<Arc<str>, Arc<regex::Regex>>,
}

impl Shape {
    const LEAF: Self = Self { depth: 1, bound: 0 };
}

impl Builder {
    /// With room for so many nodes.
    pub(crate) fn for_nodes(count: usize) -> Self {
        let mut builder = Self::default();
        builder.expression.nodes.reserve(count);
        builder.shapes.reserve(count);
        builder.expression.constants.reserve(count);
        builder
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.expression.nodes.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn node(&self, index: u32) -> Option<&Node> {
        self.expression.nodes.get(index as usize)
    }

    /// The value of a node that is a constant.
    pub(crate) fn constant(&self, index: u32) -> Option<&Value> {
        match self.node(index)?.operation {
            Operation::Constant(constant) => self.expression.constants.get(constant as usize),
            _ => None,
        }
    }

    pub(crate) fn add_constant(&mut self, value: Value, kind: Type, origin: u32) -> u32 {
        let constant = u32::try_from(self.expression.constants.len()).unwrap_or(u32::MAX);
        self.expression.constants.push(value);
        self.push(Operation::Constant(constant), [].into(), kind, origin, 0, Shape::LEAF)
    }

    pub(crate) fn add_error(&mut self, error: EvaluationError, kind: Type) -> u32 {
        let origin = error.node;
        let operation = Operation::Error(Arc::new(error));
        self.push(operation, [].into(), kind, origin, 0, Shape::LEAF)
    }

    pub(crate) fn add(
        &mut self,
        operation: Operation,
        args: Box<[u32]>,
        kind: Type,
        origin: u32,
    ) -> Result<u32, Broken> {
        let mut shape = Shape::default();
        let mut free = 0;
        let (range, binds) = match &operation {
            Operation::Slot(slot) => {
                free = 1 << slot;
                (0, 0)
            }
            Operation::Loop { first, second, .. } => {
                (1, (1 << first) | second.map_or(0, |slot| 1_u64 << slot))
            }
            Operation::Bind(slot) => (1, 1_u64 << slot),
            _ => (0, 0),
        };
        for (position, arg) in args.iter().enumerate() {
            let below = self.shapes.get(*arg as usize).copied().unwrap_or_default();
            let used = self.node(*arg).map_or(0, |node| node.free);
            shape.depth = shape.depth.max(below.depth);
            shape.bound |= below.bound;
            if position < range {
                free |= used;
            } else {
                free |= used & !binds;
                if below.bound & binds != 0 {
                    return Err(Broken::Slot);
                }
            }
        }
        shape.bound |= binds;
        shape.depth += 1;
        if shape.depth > DEPTH_MAX {
            return Err(Broken::Depth);
        }
        let operation = self.interned(operation, &args)?;
        Ok(self.push(operation, args, kind, origin, free, shape))
    }

    /// Gives facts with constant arguments their read.
    fn interned(&mut self, operation: Operation, args: &[u32]) -> Result<Operation, Broken> {
        Ok(match operation {
            Operation::Fact { fact, .. } => {
                let read = self.read(&fact, args)?;
                Operation::Fact { fact, read }
            }
            Operation::Present { fact, .. } => {
                let read = self.read(&fact, args)?;
                Operation::Present { fact, read }
            }
            other => other,
        })
    }

    fn read(&mut self, fact: &Name, args: &[u32]) -> Result<Option<u32>, Broken> {
        let values: Option<Vec<Value>> =
            args.iter().map(|arg| self.constant(*arg).cloned()).collect();
        let Some(args) = values else {
            return Ok(None);
        };
        if let Some(found) =
            self.expression.reads.iter().find(|read| read.fact == *fact && read.args == args)
        {
            return Ok(Some(found.index));
        }
        if self.expression.reads.len() >= READS_MAX {
            return Err(Broken::Reads);
        }
        let index = u32::try_from(self.expression.reads.len()).unwrap_or(Read::DYNAMIC);
        self.expression.reads.push(Read { fact: fact.clone(), args, index });
        Ok(Some(index))
    }

    /// The call of an overload; a constant pattern is compiled now, once.
    pub(crate) fn call(
        &mut self,
        overload: &'static Overload,
        args: &[u32],
    ) -> Result<Operation, Fault> {
        let operand = overload.family.pattern.and_then(|operand| args.get(operand));
        let pattern = match operand.and_then(|operand| self.constant(*operand)) {
            Some(Value::String(text)) => {
                let text = text.clone();
                let compiled = match self.patterns.get(&text) {
                    Some(compiled) => compiled.clone(),
                    None => Arc::new(compile_pattern(&text)?),
                };
                self.patterns.insert(text, compiled.clone());
                Some(compiled)
            }
            _ => None,
        };
        Ok(Operation::Call { overload, pattern })
    }

    fn push(
        &mut self,
        operation: Operation,
        args: Box<[u32]>,
        kind: Type,
        origin: u32,
        free: u64,
        shape: Shape,
    ) -> u32 {
        let index = self.len();
        self.expression.nodes.push(Node { operation, args, kind, origin, free, memo: None });
        self.shapes.push(shape);
        index
    }

    pub(crate) fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The expression of `root`, without what it does not reach.
    pub(crate) fn finish(mut self, root: u32) -> Expression {
        self.expression.root = self.compact(root);
        self.expression.memos = self.mark_shared();
        self.expression.price_kernels();
        self.expression
    }

    fn compact(&mut self, root: u32) -> u32 {
        let nodes = std::mem::take(&mut self.expression.nodes);
        let mut reached = vec![false; nodes.len()];
        mark(&mut reached, root);
        for (index, node) in nodes.iter().enumerate().rev() {
            if reached.get(index).copied().unwrap_or(false) {
                node.args.iter().for_each(|arg| mark(&mut reached, *arg));
            }
        }
        let reads = std::mem::take(&mut self.expression.reads);
        let mut renumbered: Vec<Option<u32>> = vec![None; reads.len()];
        let mut moved: Vec<u32> = Vec::with_capacity(nodes.len());
        for (mut node, reached) in nodes.into_iter().zip(reached) {
            moved.push(u32::try_from(self.expression.nodes.len()).unwrap_or(u32::MAX));
            if !reached {
                continue;
            }
            for arg in &mut node.args {
                *arg = moved.get(*arg as usize).copied().unwrap_or(u32::MAX);
            }
            if let Operation::Fact { read: Some(read), .. }
            | Operation::Present { read: Some(read), .. } = &mut node.operation
            {
                *read = self.renumber(&reads, &mut renumbered, *read);
            }
            self.expression.nodes.push(node);
        }
        moved.get(root as usize).copied().unwrap_or(u32::MAX)
    }

    fn renumber(&mut self, reads: &[Read], renumbered: &mut [Option<u32>], old: u32) -> u32 {
        let next = u32::try_from(self.expression.reads.len()).unwrap_or(Read::DYNAMIC);
        let (Some(read), Some(place)) = (reads.get(old as usize), renumbered.get_mut(old as usize))
        else {
            return Read::DYNAMIC;
        };
        if place.is_none() {
            self.expression.reads.push(Read { index: next, ..read.clone() });
        }
        *place.get_or_insert(next)
    }

    /// Gives nodes that several others use, and that no slot changes, a place to be kept.
    fn mark_shared(&mut self) -> usize {
        let mut users = vec![0_u32; self.expression.nodes.len()];
        for arg in self.expression.nodes.iter().flat_map(|node| node.args.iter()) {
            if let Some(count) = users.get_mut(*arg as usize) {
                *count += 1;
            }
        }
        let mut memos: u32 = 0;
        for (node, users) in self.expression.nodes.iter_mut().zip(users) {
            let leaf = matches!(
                node.operation,
                Operation::Constant(_) | Operation::Error(_) | Operation::Slot(_)
            );
            if users > 1 && !leaf && node.free == 0 {
                node.memo = Some(memos);
                memos += 1;
            }
        }
        memos as usize
    }
}

fn mark(reached: &mut [bool], index: u32) {
    if let Some(flag) = reached.get_mut(index as usize) {
        *flag = true;
    }
}
