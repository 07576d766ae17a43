//! Facts that a node answers by itself.

use std::borrow::Cow;

use kpolicy_cel::{Answer, Budget, Fault, Value};
use rustc_hash::FxHashMap;

use crate::resources::{Allocatable, names};
use crate::rules::devices::{Counted, Meant, counted};
use crate::rules::shared_gpus;
use crate::snapshot::{Cluster, NodeView, Pod};

use super::pod_facts::no_such_overload;
use super::pod_set::requested;

fn offered(offered: &Allocatable, name: &str) -> i64 {
    if name == names::PODS { offered.pods } else { offered.amounts.get(name) }
}

pub(super) fn allocatable(view: NodeView<'_>, name: &str) -> i64 {
    offered(&view.node.allocatable, name)
}

pub(super) fn capacity(view: NodeView<'_>, name: &str) -> i64 {
    offered(&view.node.capacity, name)
}

pub(super) fn free(view: NodeView<'_>, name: &str) -> i64 {
    allocatable(view, name).saturating_sub(requested(view.load, name))
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn utilization(view: NodeView<'_>, name: &str) -> f64 {
    share(requested(view.load, name) as f64, allocatable(view, name) as f64)
}

/// Which part of what there is is held; 0 of nothing.
pub(super) fn share(held: f64, has: f64) -> f64 {
    if has == 0.0 { 0.0 } else { held / has }
}

pub(super) fn condition<'a>(view: NodeView<'a>, kind: &str) -> Option<&'a str> {
    let mut conditions = view.node.object.conditions.iter();
    conditions.find(|(have, _)| have.as_ref() == kind).map(|(_, status)| status.as_ref())
}

pub(super) fn is_ready(view: NodeView<'_>) -> bool {
    condition(view, "Ready") == Some("True")
}

/// The devices of a driver in slices that name the node, and those of them that no claim has anything of.
/// Of each pool its newest slices count.
pub(super) fn devices(cluster: &Cluster, view: NodeView<'_>, driver: &str) -> (i64, i64) {
    let objects = cluster.objects();
    let own = objects.device_slices.of_node(&view.node.name).unwrap_or_default();
    let own = || own.iter().map(|one| &one.slice).filter(|slice| *slice.driver == *driver);
    let newest =
        |pool: &str| own().filter(|slice| *slice.pool == *pool).map(|slice| slice.generation).max();
    let (mut count, mut in_use) = (0, 0);
    for (place, slice) in own().enumerate() {
        if newest(&slice.pool) == Some(slice.generation) {
            count += slice.devices.len();
        }
        if own().take(place).all(|before| before.pool != slice.pool) {
            let pool = objects.devices_in_use.pool(driver, &slice.pool);
            in_use += pool.map_or(0, FxHashMap::len);
        }
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    (number(count), number(count.saturating_sub(in_use)))
}

/// How many GPUs the node has that pods can share.
pub(super) fn gpus(view: NodeView<'_>) -> i64 {
    i64::try_from(shared_gpus::free::count(view.node)).unwrap_or(i64::MAX)
}

/// The devices that the arguments mean: those of a class, or of a driver with the value of an attribute.
fn meant(args: &[Value]) -> Option<Meant<'_>> {
    match args {
        [Value::String(class)] => Some(Meant::OfClass(class)),
        [Value::String(driver), Value::String(attribute), Value::String(value)] => {
            Some(Meant::With { driver, attribute, value })
        }
        _ => None,
    }
}

pub(super) fn meant_devices(
    cluster: &Cluster,
    view: NodeView<'_>,
    args: &[Value],
    budget: &mut Budget,
    of: fn(Counted) -> i64,
) -> Result<Answer, Fault> {
    let Some(meant) = meant(args) else { return Ok(no_such_overload()) };
    Ok(of(counted(cluster, &view.node.name, meant, budget)?).into())
}

/// The names that an image may be listed by: one without a tag means the latest.
pub(super) fn image_names(image: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let has_tag = image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
    let latest = (!has_tag).then(|| Cow::Owned(format!("{image}:latest")));
    latest.into_iter().chain([Cow::Borrowed(image)])
}

pub(super) fn has_image(view: NodeView<'_>, image: &str) -> bool {
    let images = view.node.object.images.iter();
    let mut listed = images.flat_map(|image| image.names.iter());
    let names: Vec<Cow<'_, str>> = image_names(image).collect();
    listed.any(|listed| names.iter().any(|name| **name == **listed))
}

/// Whether the node has room for the pod: the pod count and every resource that it asks for.
pub(super) fn fits(pod: &Pod, view: NodeView<'_>) -> bool {
    let asked = &pod.requests().fit;
    let has_room = |amount: i64, name: &str| amount <= 0 || amount <= free(view, name);
    free(view, names::PODS) >= 1
        && has_room(asked.cpu_milli, names::CPU)
        && has_room(asked.memory, names::MEMORY)
        && has_room(asked.ephemeral_storage, names::EPHEMERAL_STORAGE)
        && asked.scalars.iter().all(|(name, amount)| has_room(*amount, name))
}
