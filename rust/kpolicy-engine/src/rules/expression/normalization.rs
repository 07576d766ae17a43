//! How the values of a score become 0 to 100, as the program document has it.

use serde_json::Value;

use crate::fields::{Fields, OUT_OF_RANGE, Refusals, UNKNOWN, WRONG_TYPE};
use crate::rules::Normalization;

/// The most points of a normalising shape.
const POINTS_MAX: usize = 64;

pub(super) fn normalization(
    fields: &mut Fields<'_>,
    refusals: &mut Refusals,
) -> Option<Normalization> {
    let method = fields.text("method", refusals)?;
    Some(match method {
        "none" => Normalization::AsIs,
        "max" => Normalization::Proportion { is_reversed: false },
        "reverse" => Normalization::Proportion { is_reversed: true },
        "minmax" => Normalization::Range,
        "linear" => {
            let from = pair(fields, "from", refusals)?;
            let to = pair(fields, "to", refusals)?;
            if from.0 >= from.1 {
                let place = fields.place_of("from");
                refusals.add(OUT_OF_RANGE, &place, "the range is empty", "from low to high");
                return None;
            }
            Normalization::Linear { from, to }
        }
        "shape" => Normalization::Shape(points(fields, refusals)?),
        other => {
            let message = format!("unknown method {other:?}");
            let hint = "none, max, reverse, minmax, linear or shape";
            refusals.add(UNKNOWN, &fields.place_of("method"), message, hint);
            return None;
        }
    })
}

fn pair(
    fields: &mut Fields<'_>,
    name: &'static str,
    refusals: &mut Refusals,
) -> Option<(f64, f64)> {
    let place = fields.place_of(name);
    let value = fields.required(name, refusals)?;
    two_numbers(value, &place, refusals)
}

fn two_numbers(value: &Value, place: &str, refusals: &mut Refusals) -> Option<(f64, f64)> {
    let numbers: Option<Vec<f64>> =
        value.as_array().and_then(|items| items.iter().map(Value::as_f64).collect());
    match numbers.as_deref() {
        Some([first, second]) => Some((*first, *second)),
        _ => {
            refusals.add(WRONG_TYPE, place, "two numbers are wanted", "");
            None
        }
    }
}

fn points(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Box<[(f64, f64)]>> {
    let place = fields.place_of("points");
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (place, item) in fields.list("points", refusals)? {
        points.push(two_numbers(item, &place, refusals)?);
    }
    let rises = points.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a < b));
    if points.is_empty() || points.len() > POINTS_MAX || !rises {
        let hint = format!("1 to {POINTS_MAX} points with rising x");
        refusals.add(OUT_OF_RANGE, &place, "the shape is not one", hint);
        return None;
    }
    Some(points.into_boxed_slice())
}
