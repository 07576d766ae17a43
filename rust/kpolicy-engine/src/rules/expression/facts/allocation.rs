//! Facts of an allocation of devices: one that a node can give to the claims of the pod.

use kpolicy_cel::{Answer, Value};

use crate::part::{Part, Parts};
use crate::rules::devices::{Allocated, Count};
use crate::rules::expression::lanes::Lanes;
use crate::rules::expression::pod_facts::no_such_overload;

use super::{Row, Source};

type Answers = fn(&Allocated<'_, '_>, &[Value]) -> Answer;

const fn fact(
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    answer: Answers,
) -> Row {
    let parts = Parts::of(&[Part::Claims]);
    Row { name, arguments, result, parts, source: Source::Allocation(answer), lanes: Lanes::None }
}

const fn count(name: &'static str, answer: Answers) -> Row {
    fact(name, &[], "int", answer)
}

/// All devices of the allocation, with all that is known of them.
pub(in crate::rules::expression) const DEVICES: &str = "devices";
/// Facts that look at an attribute of the devices, which is their argument.
pub(in crate::rules::expression) const OF_ATTRIBUTES: [&str; 2] = ["values", "distinct"];

fn of_attribute(args: &[Value], of: impl FnOnce(&str) -> Value) -> Answer {
    match args {
        [Value::String(name)] => Answer::Known(of(name)),
        _ => no_such_overload(),
    }
}

fn number(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn counts(allocated: &Allocated<'_, '_>, of: impl FnOnce([Count; 3]) -> i64) -> Answer {
    of(allocated.counts()).into()
}

pub(super) static ROWS: [Row; 10] = [
    fact(DEVICES, &[], "list(AllocatedDevice)", |own, _| own.devices().into()),
    fact("size", &[], "int", |own, _| number(own.size()).into()),
    fact(OF_ATTRIBUTES[0], &["string"], "list(dyn)", |own, args| {
        of_attribute(args, |name| own.values(name))
    }),
    fact(OF_ATTRIBUTES[1], &["string"], "int", |own, args| {
        of_attribute(args, |name| number(own.distinct(name)))
    }),
    count("all.whole", |own, _| counts(own, |[all, ..]| all.whole)),
    count("all.devices", |own, _| counts(own, |[all, ..]| all.devices)),
    count("before.whole", |own, _| counts(own, |[_, before, _]| before.whole)),
    count("before.devices", |own, _| counts(own, |[_, before, _]| before.devices)),
    count("left.whole", |own, _| counts(own, |[.., left]| left.whole)),
    count("left.devices", |own, _| counts(own, |[.., left]| left.devices)),
];
