//! What the holds of a profile and the order say of one pod.

use std::sync::Arc;

use crate::rules::Fault;
use crate::rules::expression::{HoldRule, OrderRule, QueueWorld};

use super::group::Standing;

pub(super) struct Judged {
    pub(super) standing: Standing,
    /// The rule whose expression failed, and why.
    pub(super) fault: Option<(Arc<str>, Fault)>,
    pub(super) units: u64,
}

impl Default for Judged {
    /// Of a pod that is gone: it is to be tried.
    fn default() -> Self {
        Self { standing: Standing::Ready(None), fault: None, units: 0 }
    }
}

impl Judged {
    /// The first hold that holds it counts, and its number only if none does.
    pub(super) fn of(
        world: &QueueWorld<'_>,
        holds: &[HoldRule],
        order: Option<&OrderRule>,
    ) -> Self {
        let (mut units, mut fault) = (0, None);
        for (position, hold) in holds.iter().enumerate() {
            let verdict = hold.holds(world);
            units += verdict.units;
            fault = fault.or(verdict.fault.map(|own| (Arc::clone(hold.name()), own)));
            if let Some(why) = verdict.why {
                return Self { standing: Standing::Held(position, why), fault, units };
            }
        }
        let Some(order) = order else {
            return Self { standing: Standing::Ready(Some(0.0)), fault, units };
        };
        let (number, spent) = order.number(world);
        let units = units + spent;
        match number {
            Ok(number) => Self { standing: Standing::Ready(Some(number)), fault, units },
            Err(failed) => {
                let fault = Some((Arc::clone(order.name()), failed));
                Self { standing: Standing::Ready(None), fault, units }
            }
        }
    }
}
