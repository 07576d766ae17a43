//! The verified expression: nodes in single-assignment order, with interned constants and reads.
//!
//! Only `verify` and `fold` make expressions. So every [`Expression`] in the process is well
//! formed: operands come before the nodes that use them, depth and slots are within bounds, and no
//! slot is read outside the loop that binds it.

use std::sync::Arc;

use regex::Regex;

use crate::error::EvaluationError;
use crate::facts::Read;
use crate::functions::Overload;
use crate::names::{Catalogue, Name};
use crate::types::Type;
use crate::value::Value;

/// The most nodes of an expression.
pub const NODES_MAX: usize = 8192;
/// The deepest path from the root to a leaf; bounds the recursion of the evaluators.
pub const DEPTH_MAX: usize = 200;
/// The most variables bound at once.
pub const SLOTS_MAX: usize = 64;
/// The most reads of an expression.
pub const READS_MAX: usize = 1024;

/// What a loop makes of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    /// A list of results; with three operands the middle one selects.
    Map,
    /// A map with the same keys and new values; with three operands the middle one selects.
    TransformMap,
    /// A map of the entries that the body gives; with three operands the middle one selects.
    TransformMapEntry,
    /// The range ordered by the body.
    SortBy,
    /// An optional of the body over the value inside, if any.
    OptionalMap,
    /// As `OptionalMap`, the body being an optional itself.
    OptionalFlatMap,
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Constant(u32),
    /// What folding found to be an error wherever it is reached.
    Error(Arc<EvaluationError>),
    /// A fact; `read` when its arguments are constant.
    Fact {
        fact: Name,
        read: Option<u32>,
    },
    /// Whether a fact is there.
    Present {
        fact: Name,
        read: Option<u32>,
    },
    /// A member of an object: operand 0 is the object, the others are arguments.
    Member(Name),
    PresentMember(Name),
    Call {
        overload: &'static Overload,
        pattern: Option<Arc<Regex>>,
    },
    And,
    Or,
    Conditional,
    /// `a.or(b)` and `a.orValue(b)` of optionals: the second only when the first is empty.
    OrOptional,
    OrValue,
    /// One flag an item: an optional that is left out when empty.
    List(Box<[bool]>),
    /// Keys and values in turn, one flag an entry.
    Map(Box<[bool]>),
    Field(Name),
    Has(Name),
    OptionalField(Name),
    Slot(u8),
    Loop {
        kind: LoopKind,
        first: u8,
        second: Option<u8>,
    },
    Bind(u8),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub operation: Operation,
    pub args: Box<[u32]>,
    pub kind: Type,
    /// The node of the expression as verified, for error places.
    pub origin: u32,
    /// Slots read but not bound below.
    pub free: u64,
    /// Where the result is kept when several nodes use it.
    pub memo: Option<u32>,
}

/// An expression that is safe to evaluate.
#[derive(Clone, Debug, Default)]
pub struct Expression {
    pub(crate) nodes: Vec<Node>,
    pub(crate) constants: Vec<Value>,
    pub(crate) root: u32,
    pub(crate) reads: Vec<Read>,
    pub(crate) memos: usize,
    /// What it costs a lane, if kernels do all of it.
    pub(crate) kernel_units: Option<u64>,
    /// What the scalar evaluator takes then, at the most.
    pub(crate) units_by_itself: u64,
}

impl Expression {
    /// The facts read with constant arguments, in order of their index.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Gives each name the id that the host knows it by.
    #[must_use]
    pub fn resolved(mut self, catalogue: &dyn Catalogue) -> Self {
        let fact = |name: &mut Name| {
            name.id = catalogue.fact(&name.text).unwrap_or(Name::UNRESOLVED);
            name.units = catalogue.units(&name.text);
            name.column_kernels = catalogue.column_kernels(&name.text);
        };
        self.reads.iter_mut().for_each(|read| fact(&mut read.fact));
        for node in &mut self.nodes {
            match &mut node.operation {
                Operation::Fact { fact: name, .. } | Operation::Present { fact: name, .. } => {
                    fact(name);
                }
                Operation::Member(name)
                | Operation::PresentMember(name)
                | Operation::Field(name)
                | Operation::Has(name)
                | Operation::OptionalField(name) => {
                    name.id = catalogue.member(&name.text).unwrap_or(Name::UNRESOLVED);
                }
                _ => {}
            }
        }
        self.price_kernels();
        self
    }

    /// How many nodes it has.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The node of the verified expression that gives the result.
    pub fn root(&self) -> u32 {
        self.node(self.root).map_or(0, |node| node.origin)
    }

    /// Facts whose arguments are only known while evaluating, sorted.
    pub fn dynamic_facts(&self) -> Vec<&Name> {
        let mut names: Vec<&Name> =
            self.nodes
                .iter()
                .filter_map(|node| match &node.operation {
                    Operation::Fact { fact, read: None }
                    | Operation::Present { fact, read: None } => Some(fact),
                    _ => None,
                })
                .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The static type of the result.
    pub fn result_type(&self) -> &Type {
        self.node(self.root).map_or(&Type::Dyn, |node| &node.kind)
    }

    /// The result, when it does not depend on anything that is still unknown.
    pub fn constant(&self) -> Option<Result<&Value, &EvaluationError>> {
        match &self.node(self.root)?.operation {
            Operation::Constant(index) => self.constants.get(*index as usize).map(Ok),
            Operation::Error(error) => Some(Err(error)),
            _ => None,
        }
    }

    pub(crate) fn node(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index as usize)
    }
}
