//! Facts of the tenant that the pending pod belongs to: what it has and asks for. Only what concerns
//! the queue reads them.

use kpolicy_cel::{Answer, Value};

use crate::part::{Part, Parts};
use crate::rules::expression::lanes::Lanes;
use crate::rules::expression::pod_facts::keyed;
use crate::rules::expression::queue_world::TenantView;

use super::{Row, Source};

const fn row(
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    answer: fn(&TenantView<'_>, &[Value]) -> Answer,
) -> Row {
    let parts = Parts::of(&[Part::PodIdentity, Part::Usage]);
    Row { name, arguments, result, parts, source: Source::Tenant(answer), lanes: Lanes::None }
}

/// How the names of facts begin that are about all other tenants.
pub(crate) const OF_OTHERS: &str = "tenant.others";

pub(super) static ROWS: [Row; 8] = [
    row("name", &[], "string", |tenant, _| tenant.name.clone().into()),
    row("used", &["string"], "int", |tenant, args| {
        keyed(args, |name| tenant.sums().map_or(0, |sums| sums.held(name)))
    }),
    row("asked", &["string"], "int", |tenant, args| {
        keyed(args, |name| tenant.sums().map_or(0, |sums| sums.wanted(name)))
    }),
    row("othersUsed", &["string"], "int", |tenant, args| {
        keyed(args, |name| tenant.of_others(|sums| sums.held(name)))
    }),
    row("othersAsked", &["string"], "int", |tenant, args| {
        keyed(args, |name| tenant.of_others(|sums| sums.wanted(name)))
    }),
    Row {
        // Also what nodes offer.
        parts: Parts::of(&[Part::PodIdentity, Part::Usage, Part::OtherNodes]),
        ..row("share", &[], "double", |tenant, _| Answer::Known(Value::Double(tenant.share())))
    },
    row("pods", &[], "int", |tenant, _| tenant.sums().map_or(0, |sums| sums.pods).into()),
    row("waiting", &[], "int", |tenant, _| tenant.sums().map_or(0, |sums| sums.waiting).into()),
];
