//! `!`, equality and order. `&&`, `||` and `?:` are operations, as they do not evaluate all
//! their operands.

use std::cmp::Ordering;

use super::{Call, Family, Kernel, family};
use crate::error::Fault;
use crate::prices::COMPARED_BYTES;
use crate::value::{Value, equal, order};

macro_rules! ordered {
    ($name:literal, $apply:expr, $kernel:expr) => {
        family(
            $name,
            $apply,
            &[
                ("int64", "int int", "bool"),
                ("uint64", "uint uint", "bool"),
                ("double", "double double", "bool"),
                ("number", "dyn dyn", "bool"),
                ("string", "string string", "bool"),
                ("bytes", "bytes bytes", "bool"),
                ("bool", "bool bool", "bool"),
                ("timestamp", "timestamp timestamp", "bool"),
                ("duration", "duration duration", "bool"),
            ],
        )
        .with_kernel($kernel)
    };
}

pub(super) const FAMILIES: &[Family] = &[
    family("not", not, &[("bool", "bool", "bool")]).with_kernel(Kernel::Not),
    family("equals", equals, &[("any", "dyn dyn", "bool")]).with_kernel(Kernel::Equal),
    family("not_equals", not_equals, &[("any", "dyn dyn", "bool")]).with_kernel(Kernel::NotEqual),
    ordered!("less", |call| compare(call, Ordering::is_lt), Kernel::Less),
    ordered!("less_equals", |call| compare(call, Ordering::is_le), Kernel::LessEqual),
    ordered!("greater", |call| compare(call, Ordering::is_gt), Kernel::Greater),
    ordered!("greater_equals", |call| compare(call, Ordering::is_ge), Kernel::GreaterEqual),
];

fn not(call: &mut Call<'_>) -> Result<Value, Fault> {
    match call.args {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Fault::no_such_overload()),
    }
}

fn same(call: &mut Call<'_>) -> Result<bool, Fault> {
    match call.args {
        [a, b] => {
            call.budget.charge_text(a.weight().min(b.weight()))?;
            if matches!((a, b), (Value::List(_) | Value::Map(_) | Value::Optional(_), _)) {
                call.budget.charge_equal(a, b)?;
            }
            Ok(equal(a, b))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

fn equals(call: &mut Call<'_>) -> Result<Value, Fault> {
    same(call).map(Value::Bool)
}

fn not_equals(call: &mut Call<'_>) -> Result<Value, Fault> {
    same(call).map(|same| Value::Bool(!same))
}

/// NaN has no order: every comparison with it is false.
fn compare(call: &mut Call<'_>, holds: fn(Ordering) -> bool) -> Result<Value, Fault> {
    match call.args {
        [a, b] => {
            call.budget.charge(a.weight().min(b.weight()) as u64 / COMPARED_BYTES)?;
            let ordering = order(a, b).ok_or_else(Fault::no_such_overload)?;
            Ok(Value::Bool(ordering.is_some_and(holds)))
        }
        _ => Err(Fault::no_such_overload()),
    }
}
