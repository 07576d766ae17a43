//! Lists and maps: `in`, indexing, selecting, `size`.

use super::numeric::count;
use super::{Call, Family, Kernel, family};
use crate::budget::made;
use crate::error::Fault;
use crate::prices::{LOOKUP, TEXT_BYTES};
use crate::value::{Key, Value, equal, to_json};

pub(super) const FAMILIES: &[Family] = &[
    family("in", contains, &[("list", "dyn list", "bool"), ("map", "dyn map", "bool")])
        .with_kernel(Kernel::In),
    family("index", indexed, &[("list", "list dyn", "dyn"), ("map", "map dyn", "dyn")]),
    family(
        "optional_index",
        optional_index,
        &[
            ("list", "list dyn", "optional"),
            ("map", "map dyn", "optional"),
            ("optional", "optional dyn", "optional"),
        ],
    ),
    family(
        "size",
        size,
        &[
            ("string", "string", "int"),
            ("bytes", "bytes", "int"),
            ("list", "list", "int"),
            ("map", "map", "int"),
        ],
    ),
];

fn contains(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [item, Value::List(items)] => {
            call.budget.charge(items.len() as u64)?;
            find(call, items, item).map(|found| Value::Bool(found.is_some()))
        }
        [key, Value::Map(map)] => {
            call.budget.charge(LOOKUP)?;
            Ok(Value::Bool(Key::of(key).is_some_and(|key| map.get(&key).is_some())))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

/// The place of the first item that is equal to a value. The caller charges for the items.
pub(super) fn find(
    call: &mut Call<'_>,
    items: &[Value],
    wanted: &Value,
) -> Result<Option<usize>, Fault> {
    for (index, item) in items.iter().enumerate() {
        call.budget.charge_equal(item, wanted)?;
        if equal(item, wanted) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn indexed(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [operand, at] => {
            call.budget.charge(charge_of_key(at))?;
            index(operand, at)
        }
        _ => Err(Fault::no_such_overload()),
    }
}

/// What finding an entry takes, or saying that there is none.
fn charge_of_key(at: &Value) -> u64 {
    LOOKUP + 4 * made(at) + at.weight() as u64 / TEXT_BYTES
}

/// `operand[at]`.
pub(crate) fn index(operand: &Value, at: &Value) -> Result<Value, Fault> {
    match operand {
        Value::List(items) => {
            let position = list_position(at)?;
            let item = position.and_then(|position| items.get(position));
            item.cloned().ok_or_else(|| Fault::out_of_range(format!("index out of range: {at:?}")))
        }
        Value::Map(map) => {
            let found = Key::of(at).and_then(|key| map.get(&key).cloned());
            found.ok_or_else(|| match Key::of(at) {
                Some(key) => Fault::no_such_key(key.text()),
                None => Fault::no_such_key(to_json(at).to_string().into()),
            })
        }
        _ => Err(Fault::no_such_overload()),
    }
}

/// An index may be any number of integral value.
fn list_position(at: &Value) -> Result<Option<usize>, Fault> {
    match at {
        Value::Int(_) | Value::Uint(_) | Value::Double(_) => match Key::of(at) {
            Some(Key::Int(value)) => Ok(usize::try_from(value).ok()),
            Some(Key::Uint(value)) => Ok(usize::try_from(value).ok()),
            _ => Err(Fault::invalid(format!("invalid index: {at:?}"))),
        },
        _ => Err(Fault::no_such_overload()),
    }
}

/// The field or entry `name`, if the operand has it.
pub(crate) fn select(operand: &Value, name: &str) -> Result<Option<Value>, Fault> {
    match operand {
        Value::Map(map) => Ok(map.get_text(name).cloned()),
        _ => Err(Fault::no_such_overload()),
    }
}

fn optional_index(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [operand, at] = call.args else {
        return Err(Fault::no_such_overload());
    };
    call.budget.charge(charge_of_key(at))?;
    let operand = match operand {
        Value::Optional(None) => return Ok(Value::NONE),
        Value::Optional(Some(inner)) => inner,
        other => other,
    };
    Ok(match operand {
        Value::List(items) => {
            let item = list_position(at)?.and_then(|position| items.get(position));
            item.cloned().map_or(Value::NONE, Value::some)
        }
        Value::Map(map) => {
            Key::of(at).and_then(|key| map.get(&key).cloned()).map_or(Value::NONE, Value::some)
        }
        _ => return Err(Fault::no_such_overload()),
    })
}

fn size(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::String(text)] => {
            call.budget.charge_text(text.len())?;
            Ok(count(text.chars().count()))
        }
        [Value::Bytes(bytes)] => Ok(count(bytes.len())),
        [Value::List(items)] => Ok(count(items.len())),
        [Value::Map(map)] => Ok(count(map.len())),
        _ => Err(Fault::no_such_overload()),
    }
}
