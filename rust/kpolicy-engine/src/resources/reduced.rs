//! What a pod would request if one of its resources were lowered.
//!
//! Only where the request is the plain sum over containers and sidecars can it be said which container
//! asks for less.

use crate::model::{Container, Quantity, ResourceList};

use super::names;
use super::{Amounts, Requests};

const NANOS_PER_MILLI: i128 = 1_000_000;
const NANOS_PER_UNIT: i128 = 1_000_000_000;

impl Amounts {
    fn lower(&mut self, resource: &str, by: i64) {
        let amount = match resource {
            names::CPU => &mut self.cpu_milli,
            names::MEMORY => &mut self.memory,
            names::EPHEMERAL_STORAGE => &mut self.ephemeral_storage,
            other => {
                let found = self.scalars.iter_mut().find(|(name, _)| name.as_ref() == other);
                let Some((_, amount)) = found else { return };
                amount
            }
        };
        *amount = amount.saturating_sub(by).max(0);
    }
}

impl Requests {
    /// With less of one resource, in every use that is made of it, by the rule of resizes in force.
    pub(crate) fn lowered(&self, resource: &str, by: i64) -> Self {
        let mut lowered = Self { by_rule: None, ..self.clone() };
        lowered.fit.lower(resource, by);
        lowered.held.lower(resource, by);
        lowered.scored.lower(resource, by);
        let nonzero = &mut lowered.held_nonzero;
        match resource {
            names::CPU => nonzero.cpu_milli = nonzero.cpu_milli.saturating_sub(by).max(0),
            names::MEMORY => nonzero.memory = nonzero.memory.saturating_sub(by).max(0),
            _ => {}
        }
        lowered
    }
}

/// How much of a resource containers request together, as it is compared with what nodes have;
/// `None` where another container than a sidecar runs before them.
pub(crate) fn summed(init: &[Container], regular: &[Container], resource: &str) -> Option<i64> {
    if init.iter().any(|container| !container.restarts_always) {
        return None;
    }
    let own = init.iter().chain(regular).filter_map(|container| container.requests.get(resource));
    let sum = own.fold(Quantity::ZERO, |sum, own| sum.plus(*own));
    Some(if resource == names::CPU { sum.millis_rounded_up() } else { sum.units_rounded_up() })
}

/// Takes an amount of a resource off containers, the first ones first. Gives what is left to take.
pub(crate) fn take_off(containers: &mut [Container], resource: &str, by: i64) -> i64 {
    let per = if resource == names::CPU { NANOS_PER_MILLI } else { NANOS_PER_UNIT };
    let mut left = i128::from(by) * per;
    for container in containers {
        let Some(own) = container.requests.get(resource).copied() else { continue };
        let taken = left.min(own.nanos()).max(0);
        left -= taken;
        let others = container.requests.iter().filter(|(name, _)| *name != resource);
        let lowered = (resource, Quantity::from_nanos(own.nanos() - taken));
        let requests: ResourceList =
            others.map(|(name, quantity)| (name, *quantity)).chain([lowered]).collect();
        container.requests = requests;
    }
    i64::try_from(left / per).unwrap_or(i64::MAX)
}
