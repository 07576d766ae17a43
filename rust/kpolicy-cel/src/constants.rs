//! The constants that an expression is written with: its words, and the numbers that it compares with.

use std::sync::Arc;

use crate::ir::{Expression, Operation};
use crate::value::Value;

/// Families of functions that compare by order.
const COMPARISONS: [&str; 4] = ["less", "less_equals", "greater", "greater_equals"];

/// A number that something else is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// Which operand of which node it is.
    place: (u32, usize),
    /// The node of the expression as verified that compares.
    pub origin: u32,
    /// The number.
    pub number: Number,
}

/// A number of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An `int`.
    Int(i64),
    /// A `double`.
    Double(f64),
}

impl Expression {
    /// The texts that it is written with, sorted: constants, arguments of facts, and names of fields.
    pub fn words(&self) -> Vec<Arc<str>> {
        let mut words = Vec::new();
        let args = self.reads.iter().flat_map(|read| &read.args);
        self.constants.iter().chain(args).for_each(|value| add_words(value, &mut words));
        for node in &self.nodes {
            if let Operation::Field(name) | Operation::Has(name) | Operation::OptionalField(name) =
                &node.operation
            {
                words.push(Arc::from(&*name.text));
            }
        }
        words.sort_unstable();
        words.dedup();
        words
    }

    /// The numbers that it compares with, in the order of nodes.
    pub fn compared(&self) -> Vec<Compared> {
        let mut found = Vec::new();
        for (index, node) in (0_u32..).zip(&self.nodes) {
            let Operation::Call { overload, .. } = &node.operation else { continue };
            if !COMPARISONS.contains(&overload.family.name) {
                continue;
            }
            for (operand, arg) in node.args.iter().enumerate() {
                let number = self.number(*arg);
                let place = (index, operand);
                found.extend(number.map(|number| Compared { place, origin: node.origin, number }));
            }
        }
        found
    }

    /// The same expression that compares with another number there. `None` where it does not compare
    /// with a number of that type.
    pub fn comparing(&self, compared: &Compared, number: Number) -> Option<Self> {
        let (index, operand) = compared.place;
        let old = *self.nodes.get(index as usize)?.args.get(operand)?;
        let value = match (self.number(old)?, number) {
            (Number::Int(_), Number::Int(value)) => Value::Int(value),
            (Number::Double(_), Number::Double(value)) => Value::Double(value),
            _ => return None,
        };
        let mut changed = self.clone();
        let constant = u32::try_from(changed.constants.len()).ok()?;
        changed.constants.push(value);
        let shared = changed.nodes.iter().flat_map(|node| &node.args).filter(|arg| **arg == old);
        // A node of several operands would change all of them.
        if shared.count() > 1 {
            return None;
        }
        changed.nodes.get_mut(old as usize)?.operation = Operation::Constant(constant);
        Some(changed)
    }

    fn number(&self, index: u32) -> Option<Number> {
        let Operation::Constant(constant) = self.nodes.get(index as usize)?.operation else {
            return None;
        };
        match self.constants.get(constant as usize)? {
            Value::Int(value) => Some(Number::Int(*value)),
            Value::Double(value) => Some(Number::Double(*value)),
            _ => None,
        }
    }
}

fn add_words(value: &Value, words: &mut Vec<Arc<str>>) {
    match value {
        Value::String(text) => words.push(Arc::clone(text)),
        Value::List(items) => items.iter().for_each(|item| add_words(item, words)),
        _ => {}
    }
}
