//! Verifies JSON and makes an expression of it, or refuses it with a code.
//!
//! Nothing is assumed about the input: arbitrary JSON is refused or accepted, in time linear in its
//! size.

use std::sync::Arc;

use serde_json::{Map as Object, Value as Json};

use crate::builder::{Broken, Builder};
use crate::error::{ErrorKind, Fault, InvalidExpression};
use crate::functions;
use crate::ir::{Expression, LoopKind, NODES_MAX, Operation, SLOTS_MAX};
use crate::names::Name;
use crate::types::Type;
use crate::value::{Value, from_json};

/// The version of the IR this crate reads.
pub const FORMAT: u64 = 1;

const TOP: &[&str] =
    &["format", "constants", "nodes", "root", "spans", "sources", "reads", "cost", "time", "type"];
const FIELDS: &[&str] = &[
    "op", "type", "args", "constant", "fact", "member", "overload", "name", "optional", "slot",
    "slots", "kind", "message",
];

fn refuse(code: &'static str, node: Option<u32>, message: impl Into<String>) -> InvalidExpression {
    InvalidExpression { code, message: message.into(), node }
}

impl Expression {
    /// Checks the form, types, arities, slots, depth and size of an expression.
    pub fn verify(json: &Json) -> Result<Self, InvalidExpression> {
        let top = json.as_object().ok_or_else(|| refuse("IR001", None, "not an object"))?;
        known(top, TOP, None)?;
        if top.get("format").and_then(Json::as_u64) != Some(FORMAT) {
            return Err(refuse("IR002", None, format!("format {FORMAT} is needed")));
        }
        let list = |key: &str| {
            let list = top.get(key).and_then(Json::as_array).map(Vec::as_slice);
            list.ok_or_else(|| refuse("IR001", None, format!("`{key}` is not a list")))
        };
        let (constants, nodes) = (list("constants")?, list("nodes")?);
        if constants.len() > NODES_MAX || nodes.len() > NODES_MAX {
            return Err(refuse("IR003", None, format!("more than {NODES_MAX} nodes")));
        }
        let constants = constants.iter().map(from_json).collect::<Result<Vec<_>, _>>();
        let constants = constants.map_err(|why| refuse("IR004", None, why))?;
        let mut verifier = Verifier { builder: Builder::default(), constants };
        for node in nodes {
            verifier.node(node)?;
        }
        verifier.finish(top.get("root"))
    }
}

fn known(
    object: &Object<String, Json>,
    names: &[&str],
    node: Option<u32>,
) -> Result<(), InvalidExpression> {
    match object.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => Err(refuse("IR001", node, format!("unknown field `{key}`"))),
        None => Ok(()),
    }
}

struct Verifier {
    builder: Builder,
    constants: Vec<Value>,
}

/// One node as it stands in the JSON.
struct Raw<'a> {
    object: &'a Object<String, Json>,
    index: u32,
    args: Box<[u32]>,
}

impl Raw<'_> {
    fn refuse(&self, code: &'static str, message: impl Into<String>) -> InvalidExpression {
        refuse(code, Some(self.index), message)
    }

    fn text(&self, field: &str) -> Result<&str, InvalidExpression> {
        let text = self.object.get(field).and_then(Json::as_str);
        text.ok_or_else(|| self.refuse("IR001", format!("`{field}` is not a text")))
    }

    fn shared(&self, field: &str) -> Result<Arc<str>, InvalidExpression> {
        self.text(field).map(Arc::from)
    }

    fn name(&self, field: &str) -> Result<Name, InvalidExpression> {
        self.text(field).map(Name::unresolved)
    }

    fn arity(&self, range: impl std::ops::RangeBounds<usize>) -> Result<(), InvalidExpression> {
        if range.contains(&self.args.len()) {
            Ok(())
        } else {
            Err(self.refuse("IR005", "wrong number of operands"))
        }
    }

    fn slot(&self, json: Option<&Json>) -> Result<u8, InvalidExpression> {
        let slot = json.and_then(Json::as_u64).filter(|slot| *slot < SLOTS_MAX as u64);
        slot.and_then(|slot| u8::try_from(slot).ok())
            .ok_or_else(|| self.refuse("IR007", format!("a slot is below {SLOTS_MAX}")))
    }

    /// One flag for each of `count` items, set where `optional` lists it.
    fn flags(&self, count: usize) -> Result<Box<[bool]>, InvalidExpression> {
        let mut flags = vec![false; count];
        let listed = self.object.get("optional").map(|json| json.as_array().map(Vec::as_slice));
        let listed = listed.unwrap_or(Some(&[]));
        for item in listed.ok_or_else(|| self.refuse("IR001", "`optional` is not a list"))? {
            let index = item.as_u64().and_then(|index| usize::try_from(index).ok());
            match index.and_then(|index| flags.get_mut(index)) {
                Some(flag) => *flag = true,
                None => return Err(self.refuse("IR001", "`optional` lists no such item")),
            }
        }
        Ok(flags.into())
    }
}

impl Verifier {
    fn node(&mut self, json: &Json) -> Result<(), InvalidExpression> {
        let index = self.builder.len();
        let object =
            json.as_object().ok_or_else(|| refuse("IR001", Some(index), "not an object"))?;
        known(object, FIELDS, Some(index))?;
        let kind = object.get("type").and_then(Type::from_json);
        let kind = kind.ok_or_else(|| refuse("IR006", Some(index), "`type` is not a type"))?;
        let raw = Raw { object, index, args: operands(object.get("args"), index)? };
        let operation = match raw.text("op")? {
            "constant" => return self.constant(&raw, kind),
            "call" => self.call(&raw, &kind)?,
            op => self.operation(op, &raw, &kind)?,
        };
        let args = raw.args.clone();
        match self.builder.add(operation, args, kind, index) {
            Ok(_) => Ok(()),
            Err(Broken::Depth) => Err(raw.refuse("IR008", "nested too deeply")),
            Err(Broken::Slot) => Err(raw.refuse("IR007", "a slot is bound twice")),
            Err(Broken::Reads) => Err(raw.refuse("IR003", "too many reads")),
        }
    }

    fn constant(&mut self, raw: &Raw<'_>, kind: Type) -> Result<(), InvalidExpression> {
        raw.arity(0..=0)?;
        let constant = raw.object.get("constant").and_then(Json::as_u64);
        let value = constant
            .and_then(|constant| usize::try_from(constant).ok())
            .and_then(|constant| self.constants.get(constant))
            .ok_or_else(|| raw.refuse("IR004", "no such constant"))?;
        let fits = match value {
            Value::Null => kind.fits("null"),
            Value::Timestamp(_) => kind.fits("timestamp"),
            Value::Duration(_) => kind.fits("duration"),
            Value::Optional(_) => kind.fits("optional"),
            Value::Quantity(_) => kind.fits("quantity"),
            Value::Selector(_) => kind.fits("selector"),
            other => kind.fits(other.type_name()),
        };
        if !fits {
            return Err(raw.refuse("IR006", "the constant is of another type"));
        }
        self.builder.add_constant(value.clone(), kind, raw.index);
        Ok(())
    }

    fn call(&mut self, raw: &Raw<'_>, kind: &Type) -> Result<Operation, InvalidExpression> {
        let id = raw.text("overload")?;
        let overload = functions::find(id)
            .ok_or_else(|| raw.refuse("IR009", format!("there is no function `{id}`")))?;
        if !overload.takes(raw.args.len()) {
            return Err(raw.refuse("IR005", "wrong number of operands"));
        }
        for (param, arg) in overload.params.iter().flatten().zip(&raw.args) {
            self.expect(raw, *arg, param)?;
        }
        if overload.result != "dyn" && !kind.fits(overload.result) {
            return Err(raw.refuse("IR006", format!("`{id}` gives {}", overload.result)));
        }
        self.builder
            .call(overload, &raw.args)
            .map_err(|fault| raw.refuse("IR004", fault.message.to_string()))
    }

    fn expect(&self, raw: &Raw<'_>, arg: u32, head: &str) -> Result<(), InvalidExpression> {
        match self.builder.node(arg) {
            Some(node) if node.kind.fits(head) => Ok(()),
            _ => Err(raw.refuse("IR006", format!("an operand should be {head}"))),
        }
    }

    fn operation(
        &self,
        op: &str,
        raw: &Raw<'_>,
        kind: &Type,
    ) -> Result<Operation, InvalidExpression> {
        let operation = match op {
            "fact" => Operation::Fact { fact: raw.name("fact")?, read: None },
            "present" => Operation::Present { fact: raw.name("fact")?, read: None },
            "member" => {
                raw.arity(1..)?;
                Operation::Member(raw.name("member")?)
            }
            "present_member" => {
                raw.arity(1..)?;
                Operation::PresentMember(raw.name("member")?)
            }
            "and" | "or" => {
                raw.arity(2..)?;
                for arg in &raw.args {
                    self.expect(raw, *arg, "bool")?;
                }
                if op == "and" { Operation::And } else { Operation::Or }
            }
            "conditional" => {
                raw.arity(3..=3)?;
                self.expect(raw, raw.args.first().copied().unwrap_or(u32::MAX), "bool")?;
                Operation::Conditional
            }
            "or_optional" | "or_value" => {
                raw.arity(2..=2)?;
                self.expect(raw, raw.args.first().copied().unwrap_or(u32::MAX), "optional")?;
                if op == "or_value" { Operation::OrValue } else { Operation::OrOptional }
            }
            "list" => Operation::List(raw.flags(raw.args.len())?),
            "map" => {
                if !raw.args.len().is_multiple_of(2) {
                    return Err(raw.refuse("IR005", "a key without a value"));
                }
                Operation::Map(raw.flags(raw.args.len() / 2)?)
            }
            "field" | "has" | "optional_field" => {
                raw.arity(1..=1)?;
                let name = raw.name("name")?;
                match op {
                    "field" => Operation::Field(name),
                    "has" => Operation::Has(name),
                    _ => Operation::OptionalField(name),
                }
            }
            "error" => {
                raw.arity(0..=0)?;
                let fault = Fault::new(ErrorKind::NoSuchOverload, raw.shared("message")?);
                Operation::Error(Arc::new(fault.at(raw.index)))
            }
            "slot" => {
                raw.arity(0..=0)?;
                Operation::Slot(raw.slot(raw.object.get("slot"))?)
            }
            "bind" => {
                raw.arity(2..=2)?;
                Operation::Bind(raw.slot(raw.object.get("slot"))?)
            }
            "loop" => looped(raw)?,
            other => return Err(raw.refuse("IR001", format!("there is no operation `{other}`"))),
        };
        let boolean = matches!(op, "present" | "present_member" | "and" | "or" | "has");
        if boolean && !kind.fits("bool") {
            return Err(raw.refuse("IR006", format!("`{op}` gives bool")));
        }
        Ok(operation)
    }

    fn finish(self, root: Option<&Json>) -> Result<Expression, InvalidExpression> {
        let root = root.and_then(Json::as_u64).and_then(|root| u32::try_from(root).ok());
        let found = root.and_then(|root| self.builder.node(root).map(|node| (root, node.free)));
        match found {
            Some((root, 0)) => Ok(self.builder.finish(root)),
            Some(_) => Err(refuse("IR007", root, "a slot is read outside its loop")),
            None => Err(refuse("IR005", None, "`root` is not a node")),
        }
    }
}

fn operands(json: Option<&Json>, index: u32) -> Result<Box<[u32]>, InvalidExpression> {
    let list = match json {
        None => return Ok([].into()),
        Some(json) => json.as_array(),
    };
    let list = list.ok_or_else(|| refuse("IR001", Some(index), "`args` is not a list"))?;
    let operand = |json: &Json| {
        let earlier = json.as_u64().filter(|arg| *arg < u64::from(index));
        earlier
            .and_then(|arg| u32::try_from(arg).ok())
            .ok_or_else(|| refuse("IR005", Some(index), "an operand is not an earlier node"))
    };
    list.iter().map(operand).collect()
}

fn looped(raw: &Raw<'_>) -> Result<Operation, InvalidExpression> {
    let (kind, filtered, doubles) = match raw.text("kind")? {
        "all" => (LoopKind::All, false, true),
        "exists" => (LoopKind::Exists, false, true),
        "exists_one" => (LoopKind::ExistsOne, false, true),
        "filter" => (LoopKind::Filter, false, false),
        "map" => (LoopKind::Map, true, true),
        "transform_map" => (LoopKind::TransformMap, true, true),
        "transform_map_entry" => (LoopKind::TransformMapEntry, true, true),
        "sort_by" => (LoopKind::SortBy, false, false),
        "optional_map" => (LoopKind::OptionalMap, false, false),
        "optional_flat_map" => (LoopKind::OptionalFlatMap, false, false),
        other => return Err(raw.refuse("IR001", format!("there is no loop `{other}`"))),
    };
    raw.arity(2..=if filtered { 3 } else { 2 })?;
    let slots = raw.object.get("slots").and_then(Json::as_array).map(Vec::as_slice);
    match slots {
        Some([first]) => Ok(Operation::Loop { kind, first: raw.slot(Some(first))?, second: None }),
        Some([first, second]) if doubles => {
            let (first, second) = (raw.slot(Some(first))?, raw.slot(Some(second))?);
            if first == second {
                return Err(raw.refuse("IR007", "a slot is bound twice"));
            }
            Ok(Operation::Loop { kind, first, second: Some(second) })
        }
        _ => Err(raw.refuse("IR007", "a loop binds one slot or two")),
    }
}
