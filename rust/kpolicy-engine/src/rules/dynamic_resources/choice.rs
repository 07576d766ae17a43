//! Which of the allocations that a node can give a pod gets: what a policy's `devices.score` puts first.
//! Nodes that are alike for claims and rules share what the best of their allocations is worth.

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::Value;

use crate::model::ResourceClaim;
use crate::rules::devices::{Allocated, Compared, Judge, Outcome, TooMuch, Work, Worth, choose};
use crate::rules::expression::{DeviceNotes, PreparedDeviceRules};
use crate::rules::{Fault, IGNORED};
use crate::snapshot::device_groups::Looked;
use crate::snapshot::{Cluster, NodeView};

use super::judging::{Given, Lack};
use super::state::State;

/// The rules that hold for a pod, and what they and its claims look at of devices.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) rules: PreparedDeviceRules,
    pub(super) looked: Looked,
}

impl Choice {
    /// Whether what an allocation is worth may be shared by nodes that differ in names only.
    pub(super) fn is_shared(&self) -> bool {
        !self.rules.rules.looked().names
    }
}

#[derive(Debug)]
struct OfRules<'a> {
    choice: &'a Choice,
    cluster: &'a Cluster,
}

impl Judge for OfRules<'_> {
    fn looked(&self) -> Option<&Looked> {
        self.choice.is_shared().then_some(&self.choice.looked)
    }

    fn looks_at_stock(&self) -> bool {
        self.choice.rules.rules.looked().stock
    }

    fn worth(&self, allocated: &Allocated<'_, '_>, work: &mut Work) -> Result<Worth, TooMuch> {
        self.choice.rules.worth(allocated, self.cluster, work)
    }
}

/// The devices that a node gives, and what they are worth.
pub(super) type Chosen = (Vec<Given>, Compared);

/// Notes what the parts of the rules give, too.
#[derive(Debug)]
struct Noting<'a> {
    of_rules: OfRules<'a>,
    notes: RefCell<DeviceNotes>,
}

impl Judge for Noting<'_> {
    fn looked(&self) -> Option<&Looked> {
        self.of_rules.looked()
    }

    fn looks_at_stock(&self) -> bool {
        self.of_rules.looks_at_stock()
    }

    fn worth(&self, allocated: &Allocated<'_, '_>, work: &mut Work) -> Result<Worth, TooMuch> {
        let OfRules { choice, cluster } = &self.of_rules;
        choice.rules.note(allocated, cluster, &mut self.notes.borrow_mut());
        self.of_rules.worth(allocated, work)
    }
}

impl State {
    /// What a node gives to the claims that are not allocated, chosen among all that it can give.
    pub(super) fn chosen_within(
        &self,
        choice: &Choice,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Result<Chosen, Lack> {
        self.chosen_by(&OfRules { choice, cluster }, work, cluster, node)
    }

    fn chosen_by(
        &self,
        judge: &dyn Judge,
        work: &mut Work,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Result<Chosen, Lack> {
        let mut compared = Compared::default();
        let search = |claims: &[&ResourceClaim], work: &mut Work| -> Outcome {
            let on = (node, self.followed);
            let (outcome, found) =
                choose(claims, (cluster, &self.supposed.in_use), on, work, judge);
            compared = found;
            outcome
        };
        let given = self.searched(work, node, search)?;
        Ok((given, compared))
    }

    /// What the best allocation of a node is worth; 0 where there is nothing to choose.
    pub(super) fn worth(&self, choice: &Choice, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        let find = || {
            let compared = self.compared(choice, cluster, node);
            choice.rules.rules.count(&compared.worth);
            let has_failed = compared.worth.values.iter().any(|(_, value)| value.is_err());
            if has_failed && compared.worth.sum == 0.0 { IGNORED } else { compared.worth.sum }
        };
        let Ok(backed) = self.backed(node) else { return 0.0 };
        let shared =
            choice.is_shared().then(|| self.answers.worth(cluster, node, &backed)).flatten();
        match shared {
            Some(known) => *known.get_or_init(find),
            None => find(),
        }
    }

    fn compared(&self, choice: &Choice, cluster: &Cluster, node: NodeView<'_>) -> Compared {
        let mut work = Work::of(self.units_a_node);
        let chosen = self.chosen_within(choice, &mut work, cluster, node);
        cluster.objects().add_units_of_devices(self.units_a_node - work.left());
        chosen.map(|(_, compared)| compared).unwrap_or_default()
    }

    /// What the parts of each rule give for the allocations of these nodes, for coverage of tests.
    pub(super) fn seen<'n>(
        &self,
        choice: &Choice,
        cluster: &Cluster,
        nodes: impl Iterator<Item = NodeView<'n>>,
    ) -> Vec<Value> {
        let of_rules = OfRules { choice, cluster };
        let noting = Noting { of_rules, notes: RefCell::default() };
        for node in nodes {
            let mut work = Work::of(self.units_a_node);
            // Where it fails, the node was not scored either.
            let _ = self.chosen_by(&noting, &mut work, cluster, node);
        }
        choice.rules.seen(noting.notes.into_inner(), cluster)
    }

    /// Why a rule has no value for the best allocation of a node.
    pub(super) fn fault(
        &self,
        choice: &Choice,
        cluster: &Cluster,
        node: NodeView<'_>,
    ) -> Option<Fault> {
        let compared = self.compared(choice, cluster, node);
        compared.worth.values.into_iter().find_map(|(_, value)| value.err())
    }
}

/// The choice of a pod, where its profile has rules for it.
pub(super) fn choice(rules: Option<PreparedDeviceRules>, looked: &Looked) -> Option<Arc<Choice>> {
    rules.map(|rules| Choice { rules, looked: looked.clone() }.into())
}
