//! Arguments that rules about resources share.

use serde_json::Value;

use crate::fields::{Fields, OUT_OF_RANGE, Refusals};
use crate::resources::names;

use super::resource_scoring::WeightedResource;

pub(super) fn default_resources() -> Box<[WeightedResource]> {
    [names::CPU, names::MEMORY].map(|name| WeightedResource { name: name.into(), weight: 1 }).into()
}

/// `resources: [{name, weight}]`; CPU and memory with weight 1 where absent or empty.
pub(super) fn resources(
    fields: &mut Fields<'_>,
    refusals: &mut Refusals,
) -> Option<Box<[WeightedResource]>> {
    let items = fields.list("resources", refusals)?;
    if items.is_empty() {
        return Some(default_resources());
    }
    let mut resources = Vec::with_capacity(items.len());
    for (place, item) in items {
        let mut item = Fields::of(item, place, refusals)?;
        let name = item.text("name", refusals)?.into();
        // kube-scheduler's default of a weight is 1.
        let weight = item.integer_or("weight", 1, 0..=100, refusals)?.max(1);
        item.finish(refusals);
        resources.push(WeightedResource { name, weight });
    }
    Some(resources.into_boxed_slice())
}

/// `shape: [{utilization, score}]`, scores 0–10 becoming 0–100.
pub(super) fn shape(fields: &mut Fields<'_>, refusals: &mut Refusals) -> Option<Box<[(i64, i64)]>> {
    let items: Vec<(String, &Value)> = fields.list("shape", refusals)?;
    let mut points: Vec<(i64, i64)> = Vec::with_capacity(items.len());
    for (place, item) in items {
        let mut item = Fields::of(item, place, refusals)?;
        let utilization = item.integer_or("utilization", 0, 0..=100, refusals)?;
        let score = item.integer_or("score", 0, 0..=10, refusals)?;
        if points.last().is_some_and(|(before, _)| *before >= utilization) {
            let hint = "utilization rises from point to point";
            refusals.add(OUT_OF_RANGE, item.place(), "the shape is not in order", hint);
            return None;
        }
        item.finish(refusals);
        points.push((utilization, score * 10));
    }
    if points.is_empty() {
        refusals.add(OUT_OF_RANGE, &fields.place_of("shape"), "the shape has no points", "");
        return None;
    }
    Some(points.into_boxed_slice())
}
