//! Walks an expression once and evaluates each node for all lanes.

use super::lane_costs::LaneCosts;
use super::vector::Vector;
use super::{blend, kernels};
use crate::bits::Bits;
use crate::budget::Budget;
use crate::error::Fault;
use crate::facts::Columns;
use crate::functions::{Call, Family, Kernel};
use crate::ir::{Expression, Node, Operation};
use crate::prices::{KERNELS, LANE};
use crate::room::Room;
use crate::types::Type;
use crate::value::Value;

/// The part of what lanes may spend that evaluating them side by side may take, before they are left to
/// the scalar evaluator: one in so many.
const COLUMNS_SHARE: u64 = 2;

pub(super) struct Machine<'a> {
    pub expression: &'a Expression,
    pub columns: &'a dyn Columns,
    pub budget: &'a mut Budget,
    pub lanes: usize,
    pub costs: LaneCosts,
    /// The whole was evaluated as one world is: no lane has to be asked again.
    pub is_settled: bool,
    /// What may be left of the budget, at the least: beyond that, columns cost more than lanes by
    /// themselves.
    left_min: u64,
    /// Results of shared nodes with the lanes they are good for.
    memos: Vec<Option<(Bits, Vector<'a>)>>,
    /// Of the scalar evaluator, for parts without a kernel.
    pub room: Room,
    /// The lanes in which a read has no value, once it was asked for.
    absent: Vec<Option<Bits>>,
}

/// Whether a node is done by combining the lanes of its operands.
pub(super) fn has_kernel(expression: &Expression, node: &Node) -> bool {
    match &node.operation {
        Operation::And | Operation::Or | Operation::Conditional => true,
        Operation::Call { overload, .. } => {
            let simple = |arg: &u32| {
                expression.node(*arg).is_some_and(|node| {
                    matches!(node.kind, Type::Int | Type::Double | Type::Bool | Type::String)
                })
            };
            match overload.family.kernel {
                Kernel::None => false,
                Kernel::In => node.args.first().is_some_and(simple),
                _ => node.args.iter().all(simple),
            }
        }
        _ => false,
    }
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        expression: &'a Expression,
        columns: &'a dyn Columns,
        budget: &'a mut Budget,
    ) -> Self {
        let memos = vec![None; expression.memos];
        let absent = vec![None; expression.reads.len()];
        let (lanes, costs) = (columns.lanes(), LaneCosts::default());
        let most = budget.lane_limit().saturating_mul(lanes as u64) / COLUMNS_SHARE;
        let left_min = budget.left().saturating_sub(most);
        let is_settled = false;
        let room = Room::default();
        Self {
            expression,
            columns,
            budget,
            lanes,
            costs,
            is_settled,
            left_min,
            memos,
            room,
            absent,
        }
    }

    /// The root. Where columns turn out to cost too much, it is left to the scalar evaluator: a lane then
    /// costs no more than it may spend by itself, and half of that in vain.
    pub(super) fn whole(&mut self, needed: &Bits) -> Vector<'a> {
        let vector = self.vector(self.expression.root, needed);
        if self.is_settled || !self.is_exhausted() {
            return vector;
        }
        self.fallback(self.expression.root, needed)
    }

    fn is_exhausted(&self) -> bool {
        !self.expression.is_side_by_side() && self.budget.left() < self.left_min
    }

    /// Charges for so many kernels over all lanes.
    pub(super) fn charge_kernels(&mut self, kernels: u64) {
        self.budget.count(kernels.saturating_mul(self.lanes as u64) / KERNELS);
    }

    /// The node in the lanes of `needed`; other lanes hold anything.
    pub(super) fn vector(&mut self, index: u32, needed: &Bits) -> Vector<'a> {
        let expression = self.expression;
        let Some(node) = expression.node(index) else {
            return Vector::Same(Err(Fault::invalid("no such node").at(index)));
        };
        let memo = node.memo.map(|memo| memo as usize);
        let kept = memo.and_then(|memo| self.memos.get(memo)).and_then(Option::as_ref);
        if let Some((lanes, kept)) = kept
            && !needed.minus(lanes).any()
        {
            return kept.clone();
        }
        let (is_again, counted) = (kept.is_some(), self.costs.counted());
        if self.is_exhausted() {
            return Vector::Same(Err(self.budget.exhausted().at(node.origin)));
        }
        self.charge_kernels(expression.kernels(node));
        let vector = self.operate(index, node, needed);
        if is_again {
            self.costs.blur_since(counted);
        }
        if let Some(place) = memo.and_then(|memo| self.memos.get_mut(memo)) {
            *place = Some((needed.clone(), vector.clone()));
        }
        vector
    }

    fn operate(&mut self, index: u32, node: &'a Node, needed: &Bits) -> Vector<'a> {
        let counted = self.costs.counted();
        let direct = match &node.operation {
            Operation::Constant(constant) => {
                let value = self.expression.constants.get(*constant as usize);
                value.map(|value| Vector::Same(Ok(value.clone())))
            }
            Operation::Error(error) => Some(Vector::Same(Err((**error).clone()))),
            Operation::Fact { read: Some(read), .. } => self.read(*read, node.origin, false),
            Operation::Present { read: Some(read), .. } => self.read(*read, node.origin, true),
            Operation::And => Some(self.absorbing(node, needed, false)),
            Operation::Or => Some(self.absorbing(node, needed, true)),
            Operation::Conditional => Some(self.conditional(node, needed)),
            Operation::Call { overload, .. } if has_kernel(self.expression, node) => {
                self.kernel(overload.family, node, needed)
            }
            _ => None,
        };
        direct.unwrap_or_else(|| {
            self.costs.blur_since(counted);
            self.fallback(index, needed)
        })
    }

    /// The column of a read, or whether there is a value in each lane.
    fn read(&mut self, index: u32, origin: u32, present: bool) -> Option<Vector<'a>> {
        let (lanes, columns) = (self.lanes, self.columns);
        let read = self.expression.reads.get(index as usize)?;
        let kept = self.absent.get_mut(index as usize)?;
        let column = columns.column(read);
        let absent =
            |ids: &[u32]| kept.get_or_insert_with(|| Bits::of_slice(ids, |id| id == 0)).clone();
        if present {
            Vector::presence(&column, lanes, absent)
        } else {
            Vector::of_column(column, lanes, read, origin, absent)
        }
    }

    fn kernel(&mut self, family: &Family, node: &'a Node, needed: &Bits) -> Option<Vector<'a>> {
        match *node.args {
            [a] => {
                let a = self.vector(a, needed);
                kernels::unary(family.kernel, &a, self.lanes)
                    .or_else(|| called_once(family, node, &[&a]))
            }
            [a, b] => {
                let a = self.vector(a, needed);
                let counted = self.costs.counted();
                let b = self.vector(b, needed);
                // The scalar evaluator does not come to the second operand where the first one errs.
                if a.may_err() {
                    self.costs.blur_since(counted);
                }
                kernels::binary(family.kernel, &a, &b, self.lanes)
                    .or_else(|| called_once(family, node, &[&a, &b]))
            }
            _ => None,
        }
    }

    /// `&&` decides by false, `||` by true; lanes that are decided are not asked again.
    fn absorbing(&mut self, node: &'a Node, needed: &Bits, decides: bool) -> Vector<'a> {
        let mut open = needed.clone();
        let mut settled = Bits::zeros(self.lanes);
        let mut error = Bits::zeros(self.lanes);
        for arg in &node.args {
            if !open.any() {
                break;
            }
            let (truth, failed) = self.vector(*arg, &open).planes(self.lanes);
            let planes = truth.words().iter().zip(failed.words());
            let sums = open.words_mut().zip(settled.words_mut()).zip(error.words_mut());
            for (((open, settled), error), (truth, failed)) in sums.zip(planes) {
                let deciding = if decides { *truth } else { !(truth | failed) };
                *settled |= deciding & *open;
                *error |= failed & *open;
                *open &= !deciding;
            }
        }
        let error = error.minus(&settled);
        let truth = if decides { settled } else { settled.or(&error).not() };
        Vector::Bool { truth, error }
    }

    fn conditional(&mut self, node: &'a Node, needed: &Bits) -> Vector<'a> {
        let [condition, yes, no] = *node.args else {
            return Vector::Same(Err(Fault::no_such_overload().at(node.origin)));
        };
        let (truth, error) = self.vector(condition, needed).planes(self.lanes);
        let for_yes = needed.and(&truth);
        let for_no = needed.minus(&truth).minus(&error);
        let failed = needed.and(&error).any();
        if !failed && !for_no.any() {
            return self.vector(yes, &for_yes);
        }
        if !failed && !for_yes.any() {
            return self.vector(no, &for_no);
        }
        let yes = self.vector(yes, &for_yes);
        let no = self.vector(no, &for_no);
        let chosen = blend::choose(&truth, &error, &yes, &no, needed, node.origin);
        if matches!(chosen, Vector::Each { .. }) {
            self.charge_kernels(LANE * KERNELS);
        }
        chosen
    }
}

/// What a call gives whose operands have the same value in all lanes: they may turn out to, although
/// they rest on the lane. Making a text costs by its length, so that the scalar evaluator does it.
fn called_once<'a>(family: &Family, node: &Node, operands: &[&Vector<'a>]) -> Option<Vector<'a>> {
    let value = |operand: &&Vector<'a>| match operand {
        Vector::Same(Ok(value)) => Some(value.clone()),
        _ => None,
    };
    let args: Vec<Value> = operands.iter().map(value).collect::<Option<_>>()?;
    if family.kernel == Kernel::Add && args.iter().any(|arg| matches!(arg, Value::String(_))) {
        return None;
    }
    let mut call = Call { args: &args, pattern: None, budget: &mut Budget::new(u64::MAX) };
    let outcome = (family.apply)(&mut call);
    Some(Vector::Same(outcome.map_err(|fault| fault.at(node.origin))))
}
