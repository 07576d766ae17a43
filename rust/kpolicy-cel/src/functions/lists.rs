//! Kubernetes' list library, and the list extension of CEL.

use std::cmp::Ordering;

use super::arithmetic::add;
use super::numeric::{count, position};
use super::{Call, Family, family, text};
use crate::budget::halvings;
use crate::error::Fault;
use crate::prices::RANGE_MAX;
use crate::value::{Duration, Value, equal, order};

/// The deepest `flatten` goes.
const FLATTEN_MAX: usize = 64;

pub(super) const FAMILIES: &[Family] = &[
    family("is_sorted", is_sorted, &[("list", "list", "bool")]),
    family("sum_uint", |call| sum(call, Value::Uint(0)), &[("list", "list", "uint")]),
    family("sum_double", |call| sum(call, Value::Double(0.0)), &[("list", "list", "double")]),
    family(
        "sum_duration",
        |call| sum(call, Value::Duration(Duration::ZERO)),
        &[("list", "list", "duration")],
    ),
    family("sum", |call| sum(call, Value::Int(0)), &[("list", "list", "dyn")]),
    family("list_min", |call| extreme(call, Ordering::Less), &[("list", "list", "dyn")]),
    family("list_max", |call| extreme(call, Ordering::Greater), &[("list", "list", "dyn")]),
    family("list_index_of", index_of, &[("list", "list dyn", "int")]),
    family("list_last_index_of", last_index_of, &[("list", "list dyn", "int")]),
    family("includes", includes, &[("list", "list dyn", "bool")]),
    family("distinct", distinct, &[("list", "list", "list")]),
    family("flatten", flatten, &[("list", "list", "list"), ("list_depth", "list int", "list")]),
    family("lists_range", range, &[("int64", "int", "list")]),
    family("list_reverse", reverse, &[("list", "list", "list")]),
    family("slice", slice, &[("list", "list int int", "list")]),
    family("sort", sort, &[("list", "list", "list")]),
    family("list_first", |call| end(call, <[Value]>::first), &[("list", "list", "optional")]),
    family("list_last", |call| end(call, <[Value]>::last), &[("list", "list", "optional")]),
];

fn items<'a>(call: &mut Call<'a>) -> Result<&'a [Value], Fault> {
    match call.args {
        [Value::List(items), ..] => {
            call.budget.charge(1 + items.len() as u64)?;
            Ok(items)
        }
        _ => Err(Fault::no_such_overload()),
    }
}

/// The order of two items; those that have no order count as equal. Each must be of a type that has
/// an order at all.
fn loose_ordering(a: &Value, b: &Value) -> Result<Ordering, Fault> {
    if order(a, a).is_none() || order(b, b).is_none() {
        return Err(Fault::no_such_overload());
    }
    Ok(order(a, b).flatten().unwrap_or(Ordering::Equal))
}

/// The order of two items, which must be of one comparable type.
fn ordering(a: &Value, b: &Value) -> Result<Ordering, Fault> {
    if std::mem::discriminant(a) != std::mem::discriminant(b) {
        return Err(Fault::no_such_overload());
    }
    order(a, b).map(|order| order.unwrap_or(Ordering::Equal)).ok_or_else(Fault::no_such_overload)
}

fn is_sorted(call: &mut Call<'_>) -> Result<Value, Fault> {
    let all = items(call)?;
    all.iter().try_for_each(|item| loose_ordering(item, item).map(drop))?;
    for pair in all.windows(2) {
        if let [a, b] = pair
            && loose_ordering(a, b)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

/// The sum of the items; `nothing` is that of an empty list, which does not show its type.
fn sum(call: &mut Call<'_>, nothing: Value) -> Result<Value, Fault> {
    let all = items(call)?;
    let Some((first, rest)) = all.split_first() else {
        return Ok(nothing);
    };
    if !matches!(first, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)) {
        return Err(Fault::no_such_overload());
    }
    rest.iter().try_fold(first.clone(), |total, item| {
        let args = [total, item.clone()];
        add(&mut Call { args: &args, pattern: None, budget: call.budget })
    })
}

fn extreme(call: &mut Call<'_>, wanted: Ordering) -> Result<Value, Fault> {
    let all = items(call)?;
    let Some((mut best, rest)) = all.split_first() else {
        return Err(Fault::invalid("the list is empty"));
    };
    loose_ordering(best, best)?;
    for item in rest {
        if loose_ordering(item, best)? == wanted {
            best = item;
        }
    }
    Ok(best.clone())
}

fn index_of(call: &mut Call<'_>) -> Result<Value, Fault> {
    if is_text(call) { text::index_of(call) } else { find(call, false) }
}

fn last_index_of(call: &mut Call<'_>) -> Result<Value, Fault> {
    if is_text(call) { text::last_index_of(call) } else { find(call, true) }
}

/// Where the types are not known before, a text may come where a list could.
fn is_text(call: &Call<'_>) -> bool {
    matches!(call.args, [Value::String(_), ..])
}

fn find(call: &mut Call<'_>, last: bool) -> Result<Value, Fault> {
    let all = items(call)?;
    let [_, wanted] = call.args else {
        return Err(Fault::no_such_overload());
    };
    let found = if last {
        all.iter().try_for_each(|item| call.budget.charge_equal(item, wanted))?;
        all.iter().rposition(|item| equal(item, wanted))
    } else {
        super::collections::find(call, all, wanted)?
    };
    Ok(found.map_or(Value::Int(-1), count))
}

fn includes(call: &mut Call<'_>) -> Result<Value, Fault> {
    let all = items(call)?;
    match call.args {
        [_, wanted] => {
            let found = super::collections::find(call, all, wanted)?;
            Ok(Value::Bool(found.is_some()))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn distinct(call: &mut Call<'_>) -> Result<Value, Fault> {
    let all = items(call)?;
    let mut kept: Vec<Value> = Vec::new();
    for item in all {
        call.budget.charge(1 + kept.len() as u64)?;
        if super::collections::find(call, &kept, item)?.is_none() {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn flatten(call: &mut Call<'_>) -> Result<Value, Fault> {
    let depth = match call.args {
        [_] => 1,
        [_, depth] => {
            position(depth)?.ok_or_else(|| Fault::invalid("level must be non-negative"))?
        }
        _ => return Err(Fault::no_such_overload()),
    };
    let mut flat = items(call)?.to_vec();
    for _ in 0..depth.min(FLATTEN_MAX) {
        if !flat.iter().any(|item| matches!(item, Value::List(_))) {
            break;
        }
        call.budget.charge(flat.len() as u64)?;
        let mut next = Vec::new();
        for item in flat {
            match item {
                Value::List(inner) => {
                    call.budget.charge(1 + inner.len() as u64)?;
                    next.extend(inner.iter().cloned());
                }
                other => next.push(other),
            }
        }
        flat = next;
    }
    Ok(Value::list(flat))
}

fn range(call: &mut Call<'_>) -> Result<Value, Fault> {
    let [count] = call.args else {
        return Err(Fault::no_such_overload());
    };
    let length = position(count)?.unwrap_or(0);
    if length as u64 > RANGE_MAX {
        return Err(Fault::invalid(format!("lists.range: more than {RANGE_MAX} items")));
    }
    call.budget.charge(length as u64)?;
    Ok(Value::list((0_i64..).take(length).map(Value::Int).collect()))
}

fn reverse(call: &mut Call<'_>) -> Result<Value, Fault> {
    if is_text(call) {
        return text::reverse(call);
    }
    Ok(Value::list(items(call)?.iter().rev().cloned().collect()))
}

fn slice(call: &mut Call<'_>) -> Result<Value, Fault> {
    let all = items(call)?;
    let [_, from, to] = call.args else {
        return Err(Fault::no_such_overload());
    };
    let outside = || Fault::out_of_range("slice: the bounds are outside the list");
    let (from, to) = (position(from)?.ok_or_else(outside)?, position(to)?.ok_or_else(outside)?);
    all.get(from..to).map(|part| Value::list(part.to_vec())).ok_or_else(outside)
}

fn sort(call: &mut Call<'_>) -> Result<Value, Fault> {
    let all = items(call)?;
    call.budget.charge(all.len() as u64 * (1 + halvings(all.len())))?;
    if let Some(first) = all.first() {
        loose_ordering(first, first)?;
    }
    for pair in all.windows(2) {
        if let [a, b] = pair {
            ordering(a, b)?;
            // Sorting asks for a total order, and panics where it meets none.
            order(a, b).flatten().ok_or_else(Fault::not_a_number)?;
        }
    }
    let mut sorted = all.to_vec();
    sorted.sort_by(|a, b| order(a, b).flatten().unwrap_or(Ordering::Equal));
    Ok(Value::list(sorted))
}

fn end(call: &mut Call<'_>, of: fn(&[Value]) -> Option<&Value>) -> Result<Value, Fault> {
    Ok(of(items(call)?).cloned().map_or(Value::NONE, Value::some))
}
