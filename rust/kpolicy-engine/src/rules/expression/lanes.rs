//! The columns of facts about nodes: values of all nodes side by side.

use std::borrow::Cow;
use std::sync::Arc;

use kpolicy_cel::{Bits, Column, Columns as _, Value};

use crate::resources::names;
use crate::rules::shared_gpus::free::free_total;
use crate::snapshot::{NodeView, Pod, columns};

use super::columns::NodeColumns;
use super::facts::Addend;
use super::node_facts::{
    allocatable, capacity, devices, fits, free, gpus, image_names, is_ready, share, utilization,
};
use super::pod_set::{PodTotal, requested};

/// How a fact of nodes is answered for all nodes at once.
#[derive(Clone, Copy)]
pub(super) enum Lanes {
    /// It is not: each node is asked by itself.
    None,
    /// The values of the label that the argument names.
    Labels,
    /// The names of the nodes.
    Names,
    Texts(fn(NodeView<'_>, &[Value]) -> Option<Arc<str>>),
    /// Nodes of equal ids answer the same.
    Classes(fn(NodeView<'_>) -> u64),
    /// The values at the API path that is the fact's name.
    AtPath,
    Numbers(for<'a> fn(&'a NodeColumns<'_>, &[Value]) -> Column<'a>),
    /// Sums over the domain of each node.
    Sums(Addend),
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LanesKind {
    Texts,
    Classes,
    Numbers,
}

impl Lanes {
    pub(super) fn kind(self) -> Option<LanesKind> {
        match self {
            Self::None => None,
            Self::Labels | Self::Names | Self::Texts(_) => Some(LanesKind::Texts),
            Self::Classes(_) | Self::AtPath => Some(LanesKind::Classes),
            Self::Numbers(_) | Self::Sums(_) => Some(LanesKind::Numbers),
        }
    }
}

/// What nodes have of a resource, what pods hold of it, and what is left.
struct Amounts<'a> {
    has: &'a [f64],
    held: &'a [f64],
    free: &'a [f64],
}

/// Where the snapshot has a resource side by side, in exact numbers.
fn amounts<'a>(columns: &'a NodeColumns<'_>, name: &str) -> Option<Amounts<'a>> {
    let at = match name {
        names::CPU => columns::CPU,
        names::MEMORY => columns::MEMORY,
        names::EPHEMERAL_STORAGE => columns::EPHEMERAL_STORAGE,
        _ => return None,
    };
    let columns = columns.exact()?;
    Some(Amounts {
        has: columns.allocatable.get(at)?,
        held: columns.requested.get(at)?,
        free: columns.free.get(at)?,
    })
}

/// Exact numbers as integers.
fn whole(values: &[f64]) -> Column<'_> {
    Column::Whole(Cow::Borrowed(values))
}

/// A column by the one argument that a fact has.
fn keyed<'a>(args: &[Value], of: impl FnOnce(&str) -> Column<'a>) -> Column<'a> {
    match args {
        [Value::String(key)] => of(key),
        _ => Column::Unavailable,
    }
}

pub(super) fn unschedulables<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    columns.bools(|view| view.node.object.unschedulable)
}

pub(super) fn readiness<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    columns.bools(is_ready)
}

pub(super) fn fitting<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    let pod = columns.pod();
    match roomy(pod, columns.of_snapshot()) {
        Some(fits) => Column::Bool(Cow::Owned(fits.words().to_vec())),
        None => columns.bools(|view| fits(pod, view)),
    }
}

pub(super) fn having_image<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |image| {
        let mut having = Bits::zeros(columns.lanes());
        for name in image_names(image) {
            let on = columns.of_images(&name);
            on.iter().for_each(|(slot, _)| having.set(slot.index()));
        }
        Column::Bool(Cow::Owned(having.words().to_vec()))
    })
}

pub(super) fn pod_limits<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    match columns.exact() {
        Some(columns) => whole(&columns.pods_allowed),
        None => columns.ints(|view| view.node.allocatable.pods),
    }
}

pub(super) fn pod_counts<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    match columns.exact() {
        Some(columns) => whole(&columns.pods),
        None => columns.ints(|view| requested(view.load, names::PODS)),
    }
}

pub(super) fn allocatables<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |name| match amounts(columns, name) {
        Some(amounts) => whole(amounts.has),
        None => columns.ints(|view| allocatable(view, name)),
    })
}

pub(super) fn capacities<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |name| columns.ints(|view| capacity(view, name)))
}

pub(super) fn requests<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |name| match amounts(columns, name) {
        Some(amounts) => whole(amounts.held),
        None => columns.ints(|view| requested(view.load, name)),
    })
}

pub(super) fn free_amounts<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |name| match amounts(columns, name) {
        Some(amounts) => whole(amounts.free),
        None => columns.ints(|view| free(view, name)),
    })
}

pub(super) fn utilizations<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |name| {
        Column::Double(match amounts(columns, name) {
            Some(Amounts { has, held, .. }) => {
                held.iter().zip(has).map(|(held, has)| share(*held, *has)).collect()
            }
            None => Cow::Owned(columns.doubles(|view| utilization(view, name))),
        })
    })
}

/// The devices of a driver that the slices of each node publish.
pub(super) fn devices_counted<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |driver| columns.ints(|view| devices(columns.cluster(), view, driver).0))
}

/// Those of them of which no claim has anything.
pub(super) fn devices_free<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    keyed(args, |driver| columns.ints(|view| devices(columns.cluster(), view, driver).1))
}

pub(super) fn gpus_counted<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    columns.ints(gpus)
}

/// What is left of all shared GPUs of each node.
pub(super) fn gpus_free<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    columns.ints(free_total)
}

pub(super) fn pods_counted<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    PodTotal::count(args).map_or(Column::Unavailable, |total| columns.totals(&total))
}

pub(super) fn pods_summed<'a>(columns: &'a NodeColumns<'_>, args: &[Value]) -> Column<'a> {
    PodTotal::sum(args).map_or(Column::Unavailable, |total| columns.totals(&total))
}

pub(super) fn pods_of_controller<'a>(columns: &'a NodeColumns<'_>, _: &[Value]) -> Column<'a> {
    columns.totals(&PodTotal::of_controller(columns.pod()))
}

/// The nodes with room for the pod, as [`fits`] says of one; `None` where numbers are not exact or
/// the pod asks for more than columns tell.
fn roomy(pod: &Pod, columns: &columns::Columns) -> Option<Bits> {
    let asked = &pod.requests().fit;
    if !columns.is_exact() || asked.scalars.iter().any(|(_, amount)| *amount > 0) {
        return None;
    }
    let mut roomy = Bits::of_slices(&columns.pods, &columns.pods_allowed, |held, most| held < most);
    let amounts = [asked.cpu_milli, asked.memory, asked.ephemeral_storage];
    for (amount, free) in amounts.into_iter().zip(&columns.free).filter(|(amount, _)| *amount > 0) {
        let amount = columns::approximate(amount);
        roomy = roomy.and(&Bits::of_slice(free, |free| amount <= free));
    }
    Some(roomy)
}
