//! How many devices of a class a node has, and how many of them claims hold, as scores of resources
//! count them: in every slice, whatever its pool is like and whatever taints there are.

use kpolicy_cel::Budget;

use crate::model::DeviceClass;
use crate::snapshot::device_rows::Row;
use crate::snapshot::device_selectors::Compiled;
use crate::snapshot::{Cluster, NodeView};

use super::device_facts::DeviceFacts;
use super::pools::reaches;
use super::remembered::Remembered;
use super::selecting::{UNITS_MAX, evaluated};
use super::work::{self, ASKING, COUNTING, DEVICE, REQUEST, SELECTOR, SELECTOR_BYTES, SLICE, Work};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) all: i64,
    pub(crate) held: i64,
}

/// `None`: a selector fails, or there are not enough units.
pub(crate) fn of_class(
    class: &str,
    cluster: &Cluster,
    node: NodeView<'_>,
    work: &mut Work,
) -> Option<Totals> {
    let class = cluster.objects().device_classes.get("", class)?;
    work.charge(if class.selectors.is_empty() { REQUEST } else { COUNTING }).ok()?;
    let mut asked = ClassSelectors::of(class, cluster, work)?;
    let published = &cluster.objects().device_slices;
    let mut totals = Totals::default();
    for (one, is_own) in published.for_node(&node.node.name, false) {
        let slice = &one.slice;
        if !is_own && !slice.is_per_device {
            work.charge(work::of_place(&slice.place)).ok()?;
            if !reaches(&slice.place, node).ok()? {
                continue;
            }
        }
        work.charge(SLICE).ok()?;
        let used = cluster.objects().devices_in_use.pool(&slice.driver, &slice.pool);
        for row in published.columned(one).rows() {
            work.charge(DEVICE).ok()?;
            if slice.is_per_device {
                work.charge(work::of_place(row.place())).ok()?;
                if !reaches(row.place(), node).ok()? {
                    continue;
                }
            }
            if asked.accepts(row, work)? {
                totals.all += 1;
                totals.held += i64::from(used.is_some_and(|pool| row.is_held(pool)));
            }
        }
    }
    Some(totals)
}

/// The selectors of a class, and what they said of devices before.
struct ClassSelectors<'c> {
    remembered: Remembered<'c>,
    places: Vec<usize>,
}

impl<'c> ClassSelectors<'c> {
    /// Selectors of other types than CEL accept every device here.
    fn of(class: &DeviceClass, cluster: &'c Cluster, work: &mut Work) -> Option<Self> {
        let mut remembered = Remembered::default();
        let mut places = Vec::with_capacity(class.selectors.len());
        for text in class.selectors.iter().filter_map(Option::as_deref) {
            work.charge(SELECTOR + (text.len() / SELECTOR_BYTES) as u64).ok()?;
            places.push(remembered.place_of(text, cluster));
        }
        Some(Self { remembered, places })
    }

    fn accepts(&mut self, row: Row<'c>, work: &mut Work) -> Option<bool> {
        let facts = DeviceFacts { driver: &row.of().slice.driver, row };
        for place in &self.places {
            let selector = self.remembered.get_mut(*place)?;
            let Some(Compiled::Ready(expression, _)) = selector.compiled else { return None };
            let (known, units) = selector.known(&facts);
            work.charge(units).ok()?;
            let accepts = match known {
                Some(known) => known,
                None => {
                    work.charge(ASKING).ok()?;
                    let mut budget = Budget::new(work::spendable(work.left()).min(UNITS_MAX));
                    let accepts = evaluated(expression, &facts, &mut budget, false);
                    work.charge(work::of_evaluating(budget.spent())).ok()?;
                    let accepts = accepts.ok()?;
                    selector.keep(accepts);
                    accepts
                }
            };
            if !accepts {
                return Some(false);
            }
        }
        Some(true)
    }
}
