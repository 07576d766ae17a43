//! The static types that an expression carries, and their JSON form.
//!
//! A type is a name (`"int"`, `"Pod"`) or a list of a constructor and its parameters
//! (`["map", "string", "int"]`).

use std::sync::Arc;

use serde_json::Value as Json;

/// How deep types may nest.
const DEPTH_MAX: usize = 16;

/// A static type of CEL, or of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any type; known only when the expression runs.
    Dyn,
    /// `null`.
    Null,
    /// `bool`.
    Bool,
    /// `int`: 64 bits, signed.
    Int,
    /// `uint`: 64 bits, unsigned.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `google.protobuf.Duration`.
    Duration,
    /// The type of a type.
    Type,
    /// `list`, with the type of its items.
    List(Box<Type>),
    /// `map`, with the types of its keys and values.
    Map(Box<Type>, Box<Type>),
    /// `optional_type`, with the type of what is inside.
    Optional(Box<Type>),
    /// A type without structure here: `quantity`, `selector`, an object of the host.
    Named(Arc<str>),
}

impl Type {
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        read(json, DEPTH_MAX)
    }

    /// Whether a value of this type may be met where `head` is expected.
    pub(crate) fn fits(&self, head: &str) -> bool {
        head == "dyn" || matches!(self, Self::Dyn) || self.head() == head
    }

    /// The name of the type without parameters.
    pub fn head(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::Type => "type",
            Self::List(_) => "list",
            Self::Map(_, _) => "map",
            Self::Optional(_) => "optional",
            Self::Named(name) => name,
        }
    }
}

fn read(json: &Json, depth: usize) -> Option<Type> {
    let depth = depth.checked_sub(1)?;
    if let Some(name) = json.as_str() {
        return Some(named(name));
    }
    let inner = |json| read(json, depth).map(Box::new);
    match json.as_array()?.as_slice() {
        [name, item] if name == "list" => Some(Type::List(inner(item)?)),
        [name, item] if name == "optional" => Some(Type::Optional(inner(item)?)),
        [name, key, value] if name == "map" => Some(Type::Map(inner(key)?, inner(value)?)),
        _ => None,
    }
}

fn named(name: &str) -> Type {
    match name {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Type,
        other => Type::Named(other.into()),
    }
}
