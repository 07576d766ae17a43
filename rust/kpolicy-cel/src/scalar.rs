//! The scalar evaluator: one world, one value.
//!
//! Evaluates in order, absorbs errors in `&&`, `||` and `?:`, and remembers the values of shared
//! nodes. Recursion is bounded by the depth of a verified expression, time by the budget.

use crate::budget::{Budget, halvings};
use crate::error::{ErrorKind, EvaluationError, Fault};
use crate::facts::{Answer, Facts, Read, unknown, value_of_answer};
use crate::functions::{self, Call};
use crate::ir::{Expression, Node, Operation};
use crate::names::Name;
use crate::observation::{Observer, Seen};
use crate::prices::{LITERAL, LOOKUP, MEMBER, NODE};
use crate::room::Room;
use crate::value::{Evaluated, Key, Map, Value};

impl Expression {
    /// The value in one world, or the error that was not absorbed.
    pub fn evaluate(&self, facts: &dyn Facts, budget: &mut Budget) -> Evaluated {
        self.evaluate_node(self.root, facts, budget, &mut Room::default())
    }

    /// As [`Expression::evaluate`], and adds to `seen` what each node that was reached gave.
    pub fn witness(
        &self,
        facts: &dyn Facts,
        budget: &mut Budget,
        seen: &mut Vec<Seen>,
    ) -> Result<Value, EvaluationError> {
        seen.resize(self.nodes.len(), Seen::default());
        self.charge_kernels(budget)?;
        self.machine(facts, budget, Some(seen), &mut Room::default()).value(self.root)
    }

    /// As [`Expression::evaluate`], and shows the observer what each node gave.
    pub(crate) fn evaluate_observed(
        &self,
        facts: &dyn Facts,
        budget: &mut Budget,
        observer: &mut dyn Observer,
    ) -> Evaluated {
        self.charge_kernels(budget)?;
        self.machine(facts, budget, Some(observer), &mut Room::default()).value(self.root)
    }

    /// The value of one node that reads no slot.
    pub(crate) fn evaluate_node(
        &self,
        node: u32,
        facts: &dyn Facts,
        budget: &mut Budget,
        room: &mut Room,
    ) -> Evaluated {
        if node == self.root {
            self.charge_kernels(budget)?;
        }
        self.machine(facts, budget, None, room).value(node)
    }

    fn machine<'a>(
        &'a self,
        facts: &'a dyn Facts,
        budget: &'a mut Budget,
        observer: Option<&'a mut dyn Observer>,
        room: &'a mut Room,
    ) -> Machine<'a> {
        room.forget();
        Machine { expression: self, facts, budget, room, observer }
    }
}

type Found = Result<(Option<Value>, bool), EvaluationError>;

pub(crate) struct Machine<'a> {
    expression: &'a Expression,
    facts: &'a dyn Facts,
    pub budget: &'a mut Budget,
    room: &'a mut Room,
    observer: Option<&'a mut dyn Observer>,
}

impl<'a> Machine<'a> {
    pub(crate) fn value(&mut self, index: u32) -> Evaluated {
        let expression = self.expression;
        let Some(node) = expression.node(index) else {
            return Err(Fault::invalid("no such node").at(index));
        };
        if let Some(kept) = node.memo.and_then(|memo| self.room.memo(memo)) {
            let kept = kept.clone();
            self.charge(node, NODE)?;
            return kept;
        }
        let before = self.budget.needed();
        let outcome = self.operate(node);
        if let Some(observer) = self.observer.as_deref_mut() {
            observer.note(node, &outcome, before..self.budget.needed());
        }
        if let Some(memo) = node.memo {
            self.room.keep(memo, outcome.clone());
        }
        outcome
    }

    fn operate(&mut self, node: &'a Node) -> Evaluated {
        let place = |fault: Fault| fault.at(node.origin);
        let units = match &node.operation {
            Operation::Fact { fact, .. } | Operation::Present { fact, .. } => fact.units,
            _ => NODE,
        };
        self.charge(node, units)?;
        match &node.operation {
            Operation::Constant(index) => {
                let value = self.expression.constants.get(*index as usize);
                value.cloned().ok_or_else(|| place(Fault::invalid("no such constant")))
            }
            Operation::Error(error) => Err((**error).clone()),
            Operation::Slot(slot) => {
                let value = self.room.slot(usize::from(*slot)).cloned();
                value.unwrap_or_else(|| Err(place(Fault::invalid("no such slot"))))
            }
            Operation::Fact { fact, read } => self.ask(node, fact, *read, false),
            Operation::Present { fact, read } => self.ask(node, fact, *read, true),
            Operation::Member(name) | Operation::PresentMember(name) => self.member(node, name),
            Operation::Call { overload, pattern } => {
                let values = self.operands(&node.args)?;
                let args = values.as_slice();
                let mut free = Budget::new(u64::MAX);
                let is_paid = self.expression.is_side_by_side();
                let budget = if is_paid { &mut free } else { &mut *self.budget };
                budget.charge(overload.family.base(args)).map_err(place)?;
                let mut call = Call { args, pattern: pattern.as_deref(), budget };
                (overload.family.apply)(&mut call).map_err(place)
            }
            Operation::And => self.absorbing(node, false),
            Operation::Or => self.absorbing(node, true),
            Operation::Conditional => self.conditional(node),
            Operation::OrOptional | Operation::OrValue => self.or_else(node),
            Operation::List(optional) => self.list(node, optional),
            Operation::Map(optional) => self.map(node, optional),
            Operation::Field(name) => self.field(node, name),
            Operation::Has(name) => self.has(node, name),
            Operation::OptionalField(name) => self.optional_field(node, name),
            Operation::Loop { kind, first, second } => self.looped(node, *kind, *first, *second),
            Operation::Bind(slot) => {
                let value = self.operand(node, 0);
                if let Err(error) = &value
                    && error.kind == ErrorKind::CostExceeded
                {
                    return value;
                }
                self.set(*slot, value);
                self.operand(node, 1)
            }
        }
    }

    /// Charges for a node, unless that was done for the whole.
    fn charge(&mut self, node: &Node, units: u64) -> Result<(), EvaluationError> {
        let units = if self.expression.is_side_by_side() { 0 } else { units };
        self.budget.charge(units).map_err(|fault| fault.at(node.origin))
    }

    pub(crate) fn operand(&mut self, node: &Node, position: usize) -> Evaluated {
        match node.args.get(position) {
            Some(index) => self.value(*index),
            None => Err(Fault::no_such_overload().at(node.origin)),
        }
    }

    fn operands(&mut self, args: &[u32]) -> Result<Operands, EvaluationError> {
        Ok(match args {
            [a] => Operands::One([self.value(*a)?]),
            [a, b] => Operands::Two([self.value(*a)?, self.value(*b)?]),
            _ => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.value(*arg)?);
                }
                Operands::Many(values)
            }
        })
    }

    pub(crate) fn set(&mut self, slot: u8, value: Evaluated) {
        self.room.set(usize::from(slot), value);
    }

    fn ask(&mut self, node: &Node, fact: &Name, read: Option<u32>, present: bool) -> Evaluated {
        let place = |fault: Fault| fault.at(node.origin);
        if let Some(read) = read.and_then(|read| self.expression.reads.get(read as usize)) {
            let answer = self.facts.read_charged(read, self.budget).map_err(place)?;
            if self.facts.is_made(read) {
                self.budget.charge_made(&answer).map_err(place)?;
            }
            return value_of_answer(&read.fact.text, &read.args, answer, present).map_err(place);
        }
        let args = node.args.iter().map(|arg| self.value(*arg)).collect::<Result<_, _>>()?;
        let read = Read { fact: fact.clone(), args, index: Read::DYNAMIC };
        let answer = self.facts.read_charged(&read, self.budget).map_err(place)?;
        if self.facts.is_made(&read) {
            self.budget.charge_made(&answer).map_err(place)?;
        }
        value_of_answer(&fact.text, &read.args, answer, present).map_err(place)
    }

    fn member(&mut self, node: &Node, name: &Name) -> Evaluated {
        let place = |fault: Fault| fault.at(node.origin);
        let mut values = node
            .args
            .iter()
            .map(|arg| self.value(*arg))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter();
        let object = values.next();
        let args: Vec<Value> = values.collect();
        let Some(Value::Object(object)) = object else {
            return Err(place(Fault::no_such_overload()));
        };
        let present = matches!(node.operation, Operation::PresentMember(_));
        let answer = object.member(name, &args);
        self.budget.charge(MEMBER).map_err(place)?;
        self.budget.charge_made(&answer).map_err(place)?;
        value_of_answer(&name.text, &args, answer, present).map_err(place)
    }

    /// `&&` and `||` of any number of operands: one that decides wins over errors.
    fn absorbing(&mut self, node: &Node, decides: bool) -> Evaluated {
        let mut error = None;
        for arg in &node.args {
            match self.value(*arg) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    error.get_or_insert_with(|| Fault::no_such_overload().at(node.origin));
                }
                Err(cost) if cost.kind == ErrorKind::CostExceeded => return Err(cost),
                Err(other) => {
                    error.get_or_insert(other);
                }
            }
        }
        error.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn conditional(&mut self, node: &Node) -> Evaluated {
        match self.operand(node, 0)? {
            Value::Bool(true) => self.operand(node, 1),
            Value::Bool(false) => self.operand(node, 2),
            _ => Err(Fault::no_such_overload().at(node.origin)),
        }
    }

    fn or_else(&mut self, node: &Node) -> Evaluated {
        match self.operand(node, 0)? {
            Value::Optional(None) => self.operand(node, 1),
            Value::Optional(Some(inner)) => Ok(match node.operation {
                Operation::OrValue => (*inner).clone(),
                _ => Value::Optional(Some(inner)),
            }),
            _ => Err(Fault::no_such_overload().at(node.origin)),
        }
    }

    fn list(&mut self, node: &Node, optional: &[bool]) -> Evaluated {
        self.budget
            .charge(LITERAL + node.args.len() as u64)
            .map_err(|fault| fault.at(node.origin))?;
        let mut items = Vec::with_capacity(node.args.len());
        for (arg, optional) in node.args.iter().zip(optional) {
            let value = self.value(*arg)?;
            if let Some(value) = given(value, *optional).map_err(|fault| fault.at(node.origin))? {
                items.push(value);
            }
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, node: &Node, optional: &[bool]) -> Evaluated {
        let place = |fault: Fault| fault.at(node.origin);
        let sorting = optional.len() as u64 * halvings(optional.len());
        self.budget.charge(LITERAL + sorting).map_err(place)?;
        let mut entries = Vec::with_capacity(optional.len());
        for (pair, optional) in node.args.chunks(2).zip(optional) {
            let [key, value] = pair else {
                return Err(place(Fault::no_such_overload()));
            };
            let key = self.value(*key)?;
            let value = self.value(*value)?;
            let key = match key {
                Value::Double(_) => None,
                other => Key::of(&other),
            };
            let key = key.ok_or_else(|| place(Fault::invalid("unsupported key type")))?;
            if let Some(value) = given(value, *optional).map_err(place)? {
                entries.push((key, value));
            }
        }
        let map = Map::new(entries);
        map.map(Value::map).map_err(|key| place(duplicate(&key)))
    }

    fn field(&mut self, node: &Node, name: &Name) -> Evaluated {
        match self.found(node, name)? {
            (found, true) => Ok(found.map_or(Value::NONE, Value::some)),
            (Some(value), false) => Ok(value),
            (None, false) => Err(Fault::no_such_key(name.text.clone()).at(node.origin)),
        }
    }

    fn has(&mut self, node: &Node, name: &Name) -> Evaluated {
        Ok(Value::Bool(self.found(node, name)?.0.is_some()))
    }

    fn optional_field(&mut self, node: &Node, name: &Name) -> Evaluated {
        Ok(self.found(node, name)?.0.map_or(Value::NONE, Value::some))
    }

    /// The field of the operand, and whether that is an optional.
    fn found(&mut self, node: &Node, name: &Name) -> Found {
        let place = |fault: Fault| fault.at(node.origin);
        if let Some(answer) = self.entry(node, name)? {
            self.budget.charge(LOOKUP).map_err(place)?;
            return match answer {
                Answer::Known(value) => Ok((Some(value), false)),
                Answer::Absent => Ok((None, false)),
                Answer::Unknown => Err(place(unknown(&name.text))),
                Answer::Failed(fault) => Err(place(fault)),
            };
        }
        let operand = self.operand(node, 0)?;
        self.budget.charge(LOOKUP).map_err(place)?;
        let found = chosen(&operand, name).map_err(place)?;
        Ok((found, matches!(operand, Value::Optional(_))))
    }

    /// The field of a map that a fact would make, where the host need not make it. Who observes sees
    /// the map.
    fn entry(&mut self, node: &Node, name: &Name) -> Result<Option<Answer>, EvaluationError> {
        let expression = self.expression;
        let made = node.args.first().and_then(|index| expression.node(*index));
        let Some(made) = made.filter(|made| made.memo.is_none() && self.observer.is_none()) else {
            return Ok(None);
        };
        let Operation::Fact { fact, read: Some(read) } = &made.operation else { return Ok(None) };
        let read = expression.reads.get(*read as usize);
        let answer = read.and_then(|read| self.facts.entry(read, &name.text));
        if answer.is_some() {
            self.charge(made, fact.units)?;
        }
        Ok(answer)
    }
}

pub(crate) fn duplicate(key: &Key) -> Fault {
    Fault::new(ErrorKind::DuplicateKey, format!("duplicate key: {key}"))
}

/// What is inside an optional item of a literal, or the item itself.
fn given(value: Value, optional: bool) -> Result<Option<Value>, Fault> {
    match (value, optional) {
        (value, false) => Ok(Some(value)),
        (Value::Optional(inner), true) => Ok(inner.map(|inner| (*inner).clone())),
        _ => Err(Fault::no_such_overload()),
    }
}

/// The field `name` of a map, an object, or of what is inside an optional.
fn chosen(operand: &Value, name: &Name) -> Result<Option<Value>, Fault> {
    match operand {
        Value::Optional(None) => Ok(None),
        Value::Optional(Some(inner)) => match &**inner {
            Value::Optional(_) => Err(Fault::no_such_overload()),
            inner => chosen(inner, name),
        },
        Value::Object(object) => match object.member(name, &[]) {
            Answer::Known(value) => Ok(Some(value)),
            Answer::Absent => Ok(None),
            Answer::Unknown => Err(unknown(&name.text)),
            Answer::Failed(fault) => Err(fault),
        },
        other => functions::select(other, &name.text),
    }
}

enum Operands {
    One([Value; 1]),
    Two([Value; 2]),
    Many(Vec<Value>),
}

impl Operands {
    fn as_slice(&self) -> &[Value] {
        match self {
            Self::One(values) => values,
            Self::Two(values) => values,
            Self::Many(values) => values,
        }
    }
}
