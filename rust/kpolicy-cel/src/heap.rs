//! How many bytes expressions and values hold on the heap.
//!
//! A value behind a counted reference belongs to whoever holds it alone: a clone of what others hold
//! too costs nothing.

use std::sync::Arc;

use crate::error::Message;
use crate::facts::Read;
use crate::ir::{Expression, Node, Operation};
use crate::types::Type;
use crate::value::{Answer, Key, Selector, Value};

/// What the two counters in front of an `Arc`'s value take.
const COUNTERS: usize = 2 * size_of::<usize>();

/// The bytes of a counted reference that nobody else holds; `inside` is what its value holds.
fn alone<T: ?Sized>(shared: &Arc<T>, inside: impl FnOnce(&T) -> usize) -> usize {
    match Arc::strong_count(shared) {
        1 => COUNTERS + size_of_val(&**shared) + inside(shared),
        _ => 0,
    }
}

fn nothing<T: ?Sized>(_: &T) -> usize {
    0
}

impl Expression {
    /// What it holds besides itself.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.nodes.iter().map(of_node).sum::<usize>()
            + self.constants.capacity() * size_of::<Value>()
            + self.constants.iter().map(Value::heap_bytes).sum::<usize>()
            + self.reads.capacity() * size_of::<Read>()
            + self.reads.iter().map(Read::heap_bytes).sum::<usize>()
    }
}

impl Read {
    /// What it holds besides itself.
    pub fn heap_bytes(&self) -> usize {
        alone(&self.fact.text, nothing)
            + self.args.capacity() * size_of::<Value>()
            + self.args.iter().map(Value::heap_bytes).sum::<usize>()
    }
}

impl Answer {
    /// What it holds besides itself.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Known(value) => value.heap_bytes(),
            Self::Absent | Self::Unknown | Self::Failed(_) => 0,
        }
    }
}

impl Value {
    /// What it holds besides itself. Objects of the host belong to the host.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::String(text) | Self::Type(text) => alone(text, nothing),
            Self::Bytes(bytes) => alone(bytes, nothing),
            Self::List(items) => alone(items, |items| {
                items.capacity() * size_of::<Self>()
                    + items.iter().map(Self::heap_bytes).sum::<usize>()
            }),
            Self::Map(map) => alone(map, |map| {
                let entry = |(key, value): (&Key, &Self)| of_key(key) + value.heap_bytes();
                map.len() * size_of::<(Key, Self)>() + map.iter().map(entry).sum::<usize>()
            }),
            Self::Optional(Some(value)) => alone(value, Self::heap_bytes),
            Self::Quantity(quantity) => alone(quantity, nothing),
            Self::Selector(selector) => alone(selector, of_selector),
            Self::Semver(version) => alone(version, nothing),
            Self::Url(url) => alone(url, nothing),
            Self::Ip(address) => alone(address, nothing),
            Self::Cidr(range) => alone(range, nothing),
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Uint(_)
            | Self::Double(_)
            | Self::Timestamp(_)
            | Self::Duration(_)
            | Self::Optional(None)
            | Self::Format(_)
            | Self::Object(_) => 0,
        }
    }
}

fn of_key(key: &Key) -> usize {
    match key {
        Key::String(text) => alone(text, nothing),
        Key::Bool(_) | Key::Int(_) | Key::Uint(_) => 0,
    }
}

fn of_selector(selector: &Selector) -> usize {
    let requirements = selector.requirements();
    let values = |values: &[Arc<str>]| {
        size_of_val(values) + values.iter().map(|value| alone(value, nothing)).sum::<usize>()
    };
    size_of_val(requirements)
        + requirements
            .iter()
            .map(|each| alone(&each.key, nothing) + values(&each.values))
            .sum::<usize>()
}

fn of_node(node: &Node) -> usize {
    let operation = match &node.operation {
        Operation::List(flags) | Operation::Map(flags) => flags.len(),
        Operation::Error(error) => alone(error, |error| match &error.message {
            Message::Written(text) | Message::NoSuchKey(text) => alone(text, nothing),
            Message::Fixed(_) | Message::Overflow(_) => 0,
        }),
        _ => 0,
    };
    size_of_val(&*node.args) + of_type(&node.kind) + operation
}

fn of_type(kind: &Type) -> usize {
    match kind {
        Type::List(inner) | Type::Optional(inner) => size_of::<Type>() + of_type(inner),
        Type::Map(keys, values) => 2 * size_of::<Type>() + of_type(keys) + of_type(values),
        Type::Named(name) => alone(name, nothing),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::value::Value;

    #[test]
    fn a_value_that_others_hold_too_weighs_nothing() {
        let list = Value::list(vec![Value::string("abc"), Value::Int(1)]);
        let alone = 16 + 24 + 2 * size_of::<Value>() + 16 + 3;
        assert_eq!(list.heap_bytes(), alone);
        let other = list.clone();
        assert_eq!((list.heap_bytes(), other.heap_bytes()), (0, 0));
    }
}
