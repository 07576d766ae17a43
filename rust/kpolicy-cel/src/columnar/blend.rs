//! Combines the two branches of a condition, lane by lane.

use std::borrow::Cow;

use super::vector::{NO_CLASS, Vector, integers};
use crate::bits::Bits;
use crate::error::Fault;
use crate::value::{Evaluated, Value};

/// `yes` where `truth`, an error where `error`, `no` elsewhere.
pub(super) fn choose<'a>(
    truth: &Bits,
    error: &Bits,
    yes: &Vector<'a>,
    no: &Vector<'a>,
    needed: &Bits,
    origin: u32,
) -> Vector<'a> {
    let lanes = truth.lanes();
    let failed = |yes: &Bits, no: &Bits| error.or(&truth.and(yes)).or(&no.minus(truth));
    if let (Some((a, ea)), Some((b, eb))) = (ints(yes, lanes), ints(no, lanes)) {
        return Vector::Int { values: picked(truth, &a, &b), error: Some(failed(&ea, &eb)) };
    }
    if let (Some((a, ea)), Some((b, eb))) = (doubles(yes, lanes), doubles(no, lanes)) {
        return Vector::Double { values: picked(truth, &a, &b), error: Some(failed(&ea, &eb)) };
    }
    if let (Some((a, ea)), Some((b, eb))) = (bools(yes, lanes), bools(no, lanes)) {
        let error = failed(&ea, &eb);
        let truth = truth.and(&a).or(&b.minus(truth)).minus(&error);
        return Vector::Bool { truth, error };
    }
    if let Some(texts) = texts(truth, error, yes, no) {
        return texts;
    }
    each(truth, error, yes, no, needed, origin)
}

/// A column of texts, and one text for the lanes of the other branch.
fn texts<'a>(truth: &Bits, error: &Bits, yes: &Vector<'a>, no: &Vector<'a>) -> Option<Vector<'a>> {
    let (column, text, lanes) = match (yes, no) {
        (column @ Vector::Text { .. }, Vector::Same(Ok(text @ Value::String(_)))) => {
            (column, text, truth.or(error).not())
        }
        (Vector::Same(Ok(text @ Value::String(_))), column @ Vector::Text { .. }) => {
            (column, text, truth.minus(error))
        }
        _ => return None,
    };
    let Vector::Text { ids, dictionary, error: failed, otherwise: None } = column else {
        return None;
    };
    let error = error.or(&failed.minus(&lanes));
    Some(Vector::Text {
        ids,
        dictionary: *dictionary,
        error,
        otherwise: Some((text.clone(), lanes)),
    })
}

enum Operand<'v, T: Clone> {
    One(T),
    Slice(Cow<'v, [T]>),
}

fn ints<'v>(vector: &'v Vector<'_>, lanes: usize) -> Option<(Operand<'v, i64>, Bits)> {
    match vector {
        Vector::Int { values, error } => {
            Some((Operand::Slice(Cow::Borrowed(values)), plane(error.as_ref(), lanes)))
        }
        Vector::Whole(values) => {
            Some((Operand::Slice(Cow::Owned(integers(values))), Bits::zeros(lanes)))
        }
        Vector::Same(Ok(Value::Int(value))) => Some((Operand::One(*value), Bits::zeros(lanes))),
        Vector::Same(Err(_)) => Some((Operand::One(0), Bits::ones(lanes))),
        _ => None,
    }
}

fn doubles<'v>(vector: &'v Vector<'_>, lanes: usize) -> Option<(Operand<'v, f64>, Bits)> {
    match vector {
        Vector::Double { values, error } => {
            Some((Operand::Slice(Cow::Borrowed(values)), plane(error.as_ref(), lanes)))
        }
        Vector::Same(Ok(Value::Double(value))) => Some((Operand::One(*value), Bits::zeros(lanes))),
        Vector::Same(Err(_)) => Some((Operand::One(0.0), Bits::ones(lanes))),
        _ => None,
    }
}

fn bools(vector: &Vector<'_>, lanes: usize) -> Option<(Bits, Bits)> {
    match vector {
        Vector::Bool { truth, error } => Some((truth.clone(), error.clone())),
        Vector::Same(Ok(Value::Bool(value))) => {
            Some((Bits::filled(*value, lanes), Bits::zeros(lanes)))
        }
        Vector::Same(Err(_)) => Some((Bits::zeros(lanes), Bits::ones(lanes))),
        _ => None,
    }
}

fn plane(error: Option<&Bits>, lanes: usize) -> Bits {
    error.cloned().unwrap_or_else(|| Bits::zeros(lanes))
}

fn picked<T: Copy + Default>(
    truth: &Bits,
    yes: &Operand<'_, T>,
    no: &Operand<'_, T>,
) -> Cow<'static, [T]>
where
    [T]: ToOwned<Owned = Vec<T>>,
{
    let at = |operand: &Operand<'_, T>, lane: usize| match operand {
        Operand::One(value) => *value,
        Operand::Slice(values) => values.get(lane).copied().unwrap_or_default(),
    };
    let lane = |lane| if truth.get(lane) { at(yes, lane) } else { at(no, lane) };
    Cow::Owned((0..truth.lanes()).map(lane).collect())
}

fn each<'a>(
    truth: &Bits,
    error: &Bits,
    yes: &Vector<'a>,
    no: &Vector<'a>,
    needed: &Bits,
    origin: u32,
) -> Vector<'a> {
    let mut classes = vec![NO_CLASS; truth.lanes()];
    let mut outcomes: Vec<Evaluated> = Vec::new();
    for lane in needed.iter() {
        let outcome = if error.get(lane) {
            Some(Err(Fault::invalid("the condition of this lane failed").at(origin)))
        } else if truth.get(lane) {
            yes.outcome(lane, origin)
        } else {
            no.outcome(lane, origin)
        };
        if let (Some(outcome), Some(class)) = (outcome, classes.get_mut(lane)) {
            *class = u32::try_from(outcomes.len()).unwrap_or(NO_CLASS);
            outcomes.push(outcome);
        }
    }
    Vector::packed(classes, outcomes)
}
