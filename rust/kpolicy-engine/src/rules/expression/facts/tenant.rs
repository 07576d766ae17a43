//! Facts of the tenant that the pending pod belongs to: what it has and asks for. Only what concerns
//! the queue reads them.

use kpolicy_cel::{Answer, Value};

use crate::part::{Part, Parts};
use crate::resources::names;
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

pub(super) static ROWS: [Row; 6] = [
    row("name", &[], "string", |tenant, _| tenant.name.clone().into()),
    row("used", &["string"], "int", |tenant, args| {
        keyed(args, |name| match name {
            names::PODS => tenant.sums().map_or(0, |sums| sums.pods),
            name => tenant.sums().map_or(0, |sums| sums.used.get(name)),
        })
    }),
    row("asked", &["string"], "int", |tenant, args| {
        keyed(args, |name| match name {
            names::PODS => tenant.sums().map_or(0, |sums| sums.waiting),
            name => tenant.sums().map_or(0, |sums| sums.asked.get(name)),
        })
    }),
    row("share", &[], "double", |tenant, _| Answer::Known(Value::Double(tenant.share()))),
    row("pods", &[], "int", |tenant, _| tenant.sums().map_or(0, |sums| sums.pods).into()),
    row("waiting", &[], "int", |tenant, _| tenant.sums().map_or(0, |sums| sums.waiting).into()),
];
