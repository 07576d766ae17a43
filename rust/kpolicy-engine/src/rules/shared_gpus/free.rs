//! What is left of each GPU of a node, and which devices a pod gets of them.
//!
//! Worked out from the pods on the node whenever a rule asks, so that nothing is kept where no rule
//! does. A pod that does not say which devices it has counts as if it had those that fit best.

use std::collections::BTreeSet;

use crate::snapshot::{Load, Node, NodeView};

use super::asked::{Asked, DEVICES_MAX, WHOLE, indices};

/// Of nodes: in `status.allocatable`, how many devices.
const COUNT: &str = "alibabacloud.com/gpu-count";
/// Of nodes: a label.
const MODEL: &str = "alibabacloud.com/gpu-card-model";

/// How many devices the node has.
pub(crate) fn count(node: &Node) -> usize {
    let allocatable = node.allocatable.amounts.get(COUNT);
    usize::try_from(allocatable).unwrap_or(0).min(DEVICES_MAX)
}

pub(super) fn model(node: &Node) -> Option<&str> {
    node.object.meta.labels.get(MODEL)
}

/// Thousandths that are left, by the number of the device.
pub(crate) fn free(view: NodeView<'_>) -> Vec<i64> {
    let mut free = vec![WHOLE; count(view.node)];
    if free.is_empty() {
        return free;
    }
    let mut unnumbered = Vec::new();
    for pod in &view.load.pods {
        let asked = Asked::of(pod);
        if asked.is_nothing() {
            continue;
        }
        let devices = indices(pod);
        if devices.is_empty() {
            unnumbered.push((&pod.uid, asked));
        }
        take(&mut free, &devices, asked.milli);
    }
    // The order of pods on a node follows from what came and went before.
    unnumbered.sort_unstable_by_key(|(uid, _)| *uid);
    for (_, asked) in unnumbered {
        if let Some(devices) = best_fit(&free, asked) {
            take(&mut free, &devices, asked.milli);
        }
    }
    free
}

/// The total of [`free`].
pub(crate) fn free_total(view: NodeView<'_>) -> i64 {
    free(view).iter().sum()
}

/// How many devices the pods on the node ask for, each number once: 0 is a part of one.
pub(crate) fn kinds(load: &Load) -> BTreeSet<i64> {
    let asked = load.pods.iter().map(|pod| Asked::of(pod)).filter(|asked| !asked.is_nothing());
    asked.map(|asked| if asked.is_share() { 0 } else { asked.count }).collect()
}

/// Takes so much of each of these devices.
pub(super) fn take(free: &mut [i64], devices: &[usize], milli: i64) {
    for device in devices {
        if let Some(left) = free.get_mut(*device) {
            *left = left.saturating_sub(milli).max(0);
        }
    }
}

/// Whether so many devices have enough left.
pub(super) fn fits(free: &[i64], asked: Asked) -> bool {
    let fitting = free.iter().filter(|left| **left >= asked.milli).count();
    i64::try_from(fitting).is_ok_and(|fitting| fitting >= asked.count)
}

/// The devices that have enough left, by number; `None` if there are not as many as are asked for.
pub(super) fn fitting(free: &[i64], asked: Asked) -> Option<Vec<usize>> {
    let enough = free.iter().enumerate().filter(|(_, left)| **left >= asked.milli);
    let fitting: Vec<usize> = enough.map(|(device, _)| device).collect();
    let is_enough = i64::try_from(fitting.len()).is_ok_and(|count| count >= asked.count);
    is_enough.then_some(fitting)
}

/// The devices with the least left that is enough; of equal ones those with the lowest numbers.
pub(super) fn best_fit(free: &[i64], asked: Asked) -> Option<Vec<usize>> {
    let mut devices = fitting(free, asked)?;
    devices.sort_by_key(|device| free.get(*device));
    devices.truncate(usize::try_from(asked.count).unwrap_or(0));
    devices.sort_unstable();
    Some(devices)
}

#[cfg(test)]
mod tests {
    use super::{best_fit, fits, take};
    use crate::rules::shared_gpus::asked::Asked;

    #[test]
    fn the_least_that_is_enough_fits_best() {
        let free = [1000, 300, 500, 1000];
        let devices = |count, milli| best_fit(&free, Asked { count, milli });
        assert_eq!(devices(1, 300), Some(vec![1]));
        assert_eq!(devices(1, 400), Some(vec![2]));
        assert_eq!(devices(1, 600), Some(vec![0]), "of equal ones the first");
        assert_eq!(devices(2, 1000), Some(vec![0, 3]));
        assert_eq!(devices(3, 400), Some(vec![0, 2, 3]));
        assert_eq!(devices(3, 1000), None);
        assert!(fits(&free, Asked { count: 2, milli: 1000 }));
        assert!(!fits(&free, Asked { count: 3, milli: 1000 }));
    }

    #[test]
    fn nothing_is_taken_of_what_is_not_there() {
        let mut free = [1000, 300];
        take(&mut free, &[1, 7], 400);
        assert_eq!(free, [1000, 0]);
    }
}
