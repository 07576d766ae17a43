//! kpolicy-cel: the intermediate representation of expressions, its verifier and its evaluators.
//!
//! Evaluates one world at a time ([`Expression::evaluate`]) or all lanes at once
//! ([`Expression::filter`], [`Expression::score`]). The bytes of an expression are not trusted.
//! This crate knows nothing of Kubernetes objects, Python, the clock, or the source text of
//! expressions.

#![warn(missing_docs)]

mod bits;
mod budget;
mod builder;
mod columnar;
mod constants;
mod error;
mod facts;
mod fields_read;
mod fold;
mod functions;
mod heap;
mod interface;
mod ir;
mod loops;
mod names;
mod observation;
pub mod prices;
mod profile;
mod room;
mod scalar;
mod trace;
mod types;
mod value;
mod verify;
mod windows;

pub use bits::Bits;
pub use budget::Budget;
pub use columnar::{ColumnarPlan, Mask, Score, ScoreValues};
pub use constants::{Compared, Number};
pub use error::{ErrorKind, EvaluationError, Fault, InvalidExpression, Message};
pub use facts::{Column, Columns, Dictionary, Facts, NoFacts, Read};
pub use fields_read::FieldRead;
pub use fold::Residual;
pub use functions::overloads;
pub use interface::{answer_json, evaluate_json};
pub use ir::{DEPTH_MAX, Expression, NODES_MAX, READS_MAX, SLOTS_MAX};
pub use names::{Catalogue, Name};
pub use observation::Seen;
pub use trace::Trace;
pub use types::Type;
pub use value::time_zones;
pub use value::{
    Answer, Cidr, Civil, Duration, Key, Map, NamedFormat, Object, Operator, Quantity, Requirement,
    Selector, Semver, Timestamp, Url, Value, Window, equal, from_json, order, to_json,
};
pub use verify::FORMAT;
pub use windows::Moments;
