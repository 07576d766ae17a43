//! The cost limits that the policies of a program set.

use crate::rules::expression::{COST_PER_CYCLE_MAX, Limits};

use crate::fields::{CONFLICT, Fields, Refusals};

/// One of each policy, in their order; where the program has none, no policy says anything.
pub(super) fn read(
    fields: &mut Fields<'_>,
    policies: usize,
    refusals: &mut Refusals,
) -> Option<Vec<Limits>> {
    let place = fields.place_of("limits");
    let items = fields.list("limits", refusals)?;
    if items.is_empty() {
        return Some(vec![Limits::default(); policies]);
    }
    if items.len() != policies {
        let message = format!("limits of {} policies, and there are {policies}", items.len());
        refusals.add(CONFLICT, &place, message, "one entry for each policy");
        return None;
    }
    let mut read = Vec::with_capacity(policies);
    for (place, item) in items {
        let mut fields = Fields::of(item, &place, refusals)?;
        let per_node = units(&mut fields, "costPerNode", refusals)?;
        let per_cycle = units(&mut fields, "costPerCycle", refusals)?;
        fields.finish(refusals);
        read.push(Limits { per_node, per_cycle });
    }
    Some(read)
}

/// The inner `None`: the program does not state a limit.
fn units(
    fields: &mut Fields<'_>,
    name: &'static str,
    refusals: &mut Refusals,
) -> Option<Option<u64>> {
    if fields.optional(name).is_none() {
        return Some(None);
    }
    let most = i64::try_from(COST_PER_CYCLE_MAX).unwrap_or(i64::MAX);
    let units = fields.integer(name, 1..=most, refusals)?;
    Some(u64::try_from(units).ok())
}
