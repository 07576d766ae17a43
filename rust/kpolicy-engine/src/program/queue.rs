//! The order of the queue, and what its expressions and the holds of all profiles read.

use std::sync::Arc;

use serde_json::Value;

use crate::event::Events;
use crate::fields::{Fields, Refusals};
use crate::model::Kind;
use crate::rules::expression::{self, HoldRule, OrderRule, QueueReads};

use super::Profile;

/// The most pods that may overtake one.
const OVERTAKES_MAX: i64 = 1_000_000;
const OVERTAKES_DEFAULT: i64 = 1_000;
/// What the order is called where rules are counted.
const ORDER: &str = "queue.order";

/// Who is tried next, where a policy says so.
#[derive(Debug)]
pub(crate) struct QueueRules {
    /// `None`: by priority, then by time.
    pub(crate) order: Option<OrderRule>,
    /// So many pods that came later may be tried before a pod; `None` without an order.
    pub(crate) overtakes_max: Option<usize>,
    /// The label whose values are the tenants; empty: each namespace is one.
    pub(crate) tenant_label: Arc<str>,
    /// Whether any profile holds pods.
    pub(crate) has_holds: bool,
    /// What the order and all holds read.
    pub(crate) reads: QueueReads,
    /// What the holds read.
    pub(crate) hold_reads: QueueReads,
    /// Whatever may begin or end a hold.
    pub(crate) hold_events: Events,
}

impl QueueRules {
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> =
            self.order.iter().flat_map(|order| order.kinds().to_vec()).collect();
        if !self.tenant_label.is_empty() {
            kinds.push(Kind::Namespace);
        }
        kinds
    }
}

/// The inner `None`: nothing is said of the queue.
pub(super) fn read(
    fields: Option<Fields<'_>>,
    profiles: &[Profile],
    refusals: &mut Refusals,
) -> Option<Option<QueueRules>> {
    let has_holds = profiles.iter().any(|profile| !profile.holds.is_empty());
    let mut rules = QueueRules {
        order: None,
        overtakes_max: None,
        tenant_label: "".into(),
        has_holds,
        reads: QueueReads::default(),
        hold_reads: QueueReads::default(),
        hold_events: Events::NONE,
    };
    match fields {
        Some(mut fields) => {
            rules.tenant_label = fields.text_or("tenantLabel", "", refusals)?.into();
            if let Some(mut order) = fields.object("order", refusals) {
                rules.order = Some(expression::order(&mut order, &ORDER.into(), refusals)?);
                let most = order.integer_or(
                    "maxOvertakes",
                    OVERTAKES_DEFAULT,
                    0..=OVERTAKES_MAX,
                    refusals,
                )?;
                rules.overtakes_max = usize::try_from(most).ok();
                order.finish(refusals);
            }
            fields.finish(refusals);
        }
        None if !has_holds => return Some(None),
        None => {}
    }
    let holds = profiles.iter().flat_map(|profile| &profile.holds).map(HoldRule::reads);
    let of_holds = holds.fold(QueueReads::default(), QueueReads::with);
    if has_holds {
        let of_tenants = match rules.tenant_label.is_empty() {
            true => Events::NONE,
            false => Events::of_objects(&[Kind::Namespace]),
        };
        rules.hold_events = of_holds.events().with(of_tenants);
    }
    let of_order = rules.order.as_ref().map(OrderRule::reads).unwrap_or_default();
    rules.reads = of_holds.clone().with(of_order);
    rules.hold_reads = of_holds;
    Some(Some(rules))
}

pub(super) fn read_hold(
    item: &Value,
    place: &str,
    policies: usize,
    refusals: &mut Refusals,
) -> Option<HoldRule> {
    let mut fields = Fields::of(item, place, refusals)?;
    let name: Arc<str> = fields.text("name", refusals)?.into();
    super::profile::read_policy(&mut fields, policies, refusals)?;
    let hold = expression::hold(&mut fields, &name, refusals)?;
    fields.finish(refusals);
    Some(hold)
}
