//! Plans which parts of an expression can run over columns, before any world exists.
//!
//! The plan is what the machine will do after everything that all lanes share has been folded. The
//! host says which facts have columns, and of what kind.

use super::machine::has_kernel;
use crate::ir::{Expression, Operation};
use crate::names::Name;

/// How much of an expression runs over columns.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ColumnarPlan {
    /// Facts that are read as columns, in order: without one they are read lane by lane.
    pub columns: Vec<Name>,
    /// Nodes (of the verified expression) that the scalar evaluator does once for each class of
    /// lanes, with the facts that make the classes: they need a text or class column each.
    pub classed: Vec<(u32, Vec<Name>)>,
    /// Nodes below which a fact of a lane is read with an argument that depends on the lane too:
    /// always lane by lane.
    pub by_lane: Vec<u32>,
}

impl Expression {
    /// What will run over columns; `is_shared` as [`crate::Columns::is_shared`] says.
    pub fn columnar_plan(&self, is_shared: impl Fn(&Name) -> bool) -> ColumnarPlan {
        let mut planner = Planner {
            expression: self,
            is_of_lane: Vec::with_capacity(self.nodes.len()),
            differs: Vec::with_capacity(self.nodes.len()),
            seen: vec![false; self.nodes.len()],
            plan: ColumnarPlan::default(),
        };
        for node in &self.nodes {
            let is_of_lane = match &node.operation {
                Operation::Fact { fact, .. } | Operation::Present { fact, .. } => !is_shared(fact),
                _ => false,
            };
            let differs = is_of_lane || node.args.iter().any(|arg| planner.differs(*arg));
            planner.is_of_lane.push(is_of_lane);
            planner.differs.push(differs);
        }
        planner.plan(self.root);
        planner.plan
    }
}

struct Planner<'a> {
    expression: &'a Expression,
    /// Whether a node is a fact of a lane.
    is_of_lane: Vec<bool>,
    /// Whether a node reads a fact of a lane, at it or below.
    differs: Vec<bool>,
    seen: Vec<bool>,
    plan: ColumnarPlan,
}

impl Planner<'_> {
    fn differs(&self, index: u32) -> bool {
        self.differs.get(index as usize).copied().unwrap_or(false)
    }

    fn plan(&mut self, index: u32) {
        let (Some(node), Some(seen)) =
            (self.expression.node(index), self.seen.get_mut(index as usize))
        else {
            return;
        };
        if std::mem::replace(seen, true) || !self.differs(index) {
            return;
        }
        if has_kernel(self.expression, node) {
            node.args.iter().for_each(|arg| self.plan(*arg));
            return;
        }
        match self.facts_below(index) {
            None => self.plan.by_lane.push(node.origin),
            Some(facts) => match &node.operation {
                Operation::Fact { fact, .. } | Operation::Present { fact, .. } => {
                    self.plan.columns.push(fact.clone());
                }
                _ => self.plan.classed.push((node.origin, facts)),
            },
        }
    }

    /// The facts of a lane at and below a node, sorted; `None` when an argument of one depends on
    /// the lane.
    fn facts_below(&self, index: u32) -> Option<Vec<Name>> {
        let mut wanted = vec![false; index as usize + 1];
        if let Some(last) = wanted.last_mut() {
            *last = true;
        }
        let mut facts = Vec::new();
        for at in (0..wanted.len()).rev() {
            let (Some(true), Some(node)) = (wanted.get(at), self.expression.nodes.get(at)) else {
                continue;
            };
            if let (Some(true), Operation::Fact { fact, .. } | Operation::Present { fact, .. }) =
                (self.is_of_lane.get(at), &node.operation)
            {
                if node.free != 0 || node.args.iter().any(|arg| self.differs(*arg)) {
                    return None;
                }
                facts.push(fact.clone());
            }
            for arg in &node.args {
                if let Some(flag) = wanted.get_mut(*arg as usize) {
                    *flag = true;
                }
            }
        }
        facts.sort_unstable();
        facts.dedup();
        Some(facts)
    }
}
