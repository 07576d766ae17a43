//! Exact sums of resources, and how those of containers make up that of their pod.

use std::sync::Arc;

use crate::intern::Interner;
use crate::model::{Container, Pod, Quantity, ResourceList};

use super::Amounts;
use super::pod::is_supported_at_pod_level;

/// Exact sums by name, in order of name.
#[derive(Clone, Default)]
pub(super) struct Sums<'a>(Vec<(&'a str, Quantity)>);

impl<'a> Sums<'a> {
    pub(super) fn change(&mut self, name: &'a str, change: impl FnOnce(Quantity) -> Quantity) {
        match self.0.binary_search_by(|(have, _)| (*have).cmp(name)) {
            Ok(position) => {
                if let Some((_, quantity)) = self.0.get_mut(position) {
                    *quantity = change(*quantity);
                }
            }
            Err(position) => self.0.insert(position, (name, change(Quantity::ZERO))),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Quantity> {
        self.0.iter().find(|(have, _)| *have == name).map(|(_, quantity)| *quantity)
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            self.change(name, |sum| sum.plus(*quantity));
        }
    }

    pub(super) fn raise(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            self.change(name, |have| have.max(*quantity));
        }
    }

    pub(super) fn raise_to(&mut self, list: &'a ResourceList) {
        for (name, quantity) in list.iter() {
            self.change(name, |have| have.max(*quantity));
        }
    }

    pub(super) fn of(list: &'a ResourceList) -> Self {
        Self(list.iter().map(|(name, quantity)| (name, *quantity)).collect())
    }

    /// Takes the amounts of resources that a pod can request as a whole.
    pub(super) fn replace_by(&mut self, level: &Self) {
        for (name, quantity) in level.iter().filter(|(name, _)| is_supported_at_pod_level(name)) {
            self.change(name, |_| quantity);
        }
    }

    pub(super) fn rounded(&self, names_held: &mut Interner<Arc<str>>) -> Amounts {
        Amounts::rounded(self.0.iter().copied(), names_held)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, Quantity)> {
        self.0.iter().copied()
    }
}

/// The most that containers have together at any time; `asked` also gets whether a container can
/// be resized.
pub(super) fn over_containers<'a>(
    pod: &'a Pod,
    asked: impl Fn(&'a Container, bool) -> Sums<'a>,
) -> Sums<'a> {
    let mut running = Sums::default();
    for container in &pod.containers {
        running.add(&asked(container, true));
    }
    let mut sidecars = Sums::default();
    let mut starting = Sums::default();
    for container in &pod.init_containers {
        let own = asked(container, container.restarts_always);
        if container.restarts_always {
            running.add(&own);
            sidecars.add(&own);
            starting.raise(&sidecars);
        } else {
            let mut together = own;
            together.add(&sidecars);
            starting.raise(&together);
        }
    }
    running.raise(&starting);
    running
}
