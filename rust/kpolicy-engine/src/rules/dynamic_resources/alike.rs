//! One answer about the claims of a pod for all nodes that are alike.
//!
//! Only the answer is shared. Which devices they are is found out on the node that gets the pod, and why
//! the cycle fails on the node that is described.

use std::sync::{Arc, OnceLock};

use crate::heap::HeapBytes;
use crate::rules::decision_work::work_per_call;
use crate::rules::devices::{Detail, Work};
use crate::rules::{Code, Status};
use crate::snapshot::device_groups::Groups;
use crate::snapshot::{Cluster, NodeView};

use super::judging::{Given, Lack, NO_DEVICES, UNAVAILABLE};
use super::score::points;
use super::state::State;

/// Nodes differ in which of so many extended resources they list themselves.
const RESOURCES_MAX: usize = 4;

/// What a node says that fails after much work: on every node it would take too long to say more.
const UNSAID: &str = "the devices of the node cannot be judged, and saying why takes too much work";

/// What came of claims on a node, wherever those of them are that are allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    code: Code,
    /// Some claim gets devices.
    gives: bool,
    points: usize,
}

impl Answer {
    pub(super) fn of(found: &Result<Vec<Given>, Lack>) -> Self {
        match found {
            Ok(given) => {
                let each = given.iter().map(|given| points(&given.claim, &given.allocation));
                Self { code: Code::PASS, gives: !given.is_empty(), points: each.sum() }
            }
            Err(judged) => Self { code: judged.code(), gives: false, points: 0 },
        }
    }

    /// The node has what the claims need.
    pub(super) fn fits(self) -> bool {
        self.code == Code::PASS
    }

    pub(super) fn lacks_devices(self) -> bool {
        self.code == Code::reject(NO_DEVICES)
    }

    pub(super) fn gives(self) -> bool {
        self.gives
    }

    /// Of the alternatives that were chosen.
    pub(super) fn points(self) -> usize {
        self.points
    }
}

/// What came of it on the node of a group that was asked.
#[derive(Debug)]
struct Known {
    answer: Answer,
    /// What asking took.
    units: u64,
    /// Where it takes too much: how far it got.
    part: Option<Box<str>>,
}

/// The answers of nodes that are alike, as far as they are known.
#[derive(Debug)]
pub(super) struct Answers {
    /// `None`: each node is asked.
    groups: Option<Arc<Groups>>,
    resources: usize,
    /// By group, and which of the extended resources devices stand for.
    known: Box<[OnceLock<Known>]>,
    /// What the best allocation is worth, likewise.
    worths: Box<[OnceLock<f64>]>,
    /// A node says itself why the cycle fails, unless that takes more units.
    words_max: u64,
}

impl Answers {
    pub(super) fn of(groups: Option<Arc<Groups>>, resources: usize, cluster: &Cluster) -> Self {
        let nodes = cluster.nodes().len();
        let groups = groups.filter(|groups| {
            resources == 0
                || (resources <= RESOURCES_MAX && groups.groups << resources <= nodes.max(64))
        });
        let count = groups.as_ref().map_or(0, |groups| groups.numbers << resources);
        let known = (0..count).map(|_| OnceLock::new()).collect();
        let worths = (0..count).map(|_| OnceLock::new()).collect();
        let words_max = work_per_call(nodes) / nodes.max(1) as u64;
        Self { groups, resources, known, worths, words_max }
    }

    /// How often devices are looked for at most; `None`: on each node.
    pub(super) fn searches(&self) -> Option<usize> {
        let groups = self.groups.as_ref()?;
        Some((groups.groups + groups.alone) << self.resources)
    }

    /// Whether the pod asks for extended resources.
    pub(super) fn has_resources(&self) -> bool {
        self.resources > 0
    }

    /// `backed`: places of the extended resources that devices stand for.
    fn known(&self, cluster: &Cluster, node: &str, backed: &[usize]) -> Option<&OnceLock<Known>> {
        self.known.get(self.place(cluster, node, backed)?)
    }

    /// What the best allocation of the nodes is worth that are like this one.
    pub(super) fn worth(
        &self,
        cluster: &Cluster,
        node: NodeView<'_>,
        backed: &[usize],
    ) -> Option<&OnceLock<f64>> {
        self.worths.get(self.place(cluster, &node.node.name, backed)?)
    }

    fn place(&self, cluster: &Cluster, node: &str, backed: &[usize]) -> Option<usize> {
        let groups = self.groups.as_ref()?;
        let group = cluster.objects().device_group(groups, node)?;
        let backed = backed.iter().fold(0, |all, place| all | 1_usize << place);
        Some((group << self.resources) + backed)
    }
}

impl HeapBytes for Answers {
    fn heap_bytes(&self) -> usize {
        let parts = self.known.iter().filter_map(|known| known.get()?.part.as_deref());
        size_of_val(self)
            + size_of_val(&*self.known)
            + size_of_val(&*self.worths)
            + parts.map(str::len).sum::<usize>()
    }
}

impl State {
    /// Whether a node has devices for the claims, and whether those reach it that are allocated.
    pub(super) fn code(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let answer = self.answer(cluster, node);
        match answer.fits() && self.is_any_unavailable(cluster, node) {
            true => Code::reject(UNAVAILABLE),
            false => answer.code,
        }
    }

    /// What comes of the claims that are not allocated.
    pub(super) fn answer(&self, cluster: &Cluster, node: NodeView<'_>) -> Answer {
        let backed = match self.backed(node) {
            Ok(backed) => backed,
            Err(judged) => return Answer::of(&Err(judged)),
        };
        if !self.supposed.is_nothing() {
            return self.answer_supposing(cluster, node);
        }
        let Some(known) = self.answers.known(cluster, &node.node.name, &backed) else {
            return Answer::of(&self.found(cluster, node, Detail::Alternatives));
        };
        let answer = known.get_or_init(|| self.found_out(cluster, node)).answer;
        debug_assert!(self.is_own_answer(answer, cluster, node), "nodes that are alike differ");
        answer
    }

    fn found_out(&self, cluster: &Cluster, node: NodeView<'_>) -> Known {
        let mut work = Work::of(self.units_a_node);
        let found = self.found_within(&mut work, cluster, node, Detail::Alternatives);
        let units = self.units_a_node - work.left();
        cluster.objects().add_units_of_devices(units);
        let answer = Answer::of(&found);
        let part = match found {
            Err(Lack::TooMuch(part)) => Some(part.into()),
            _ => None,
        };
        Known { answer, units, part }
    }

    /// Why the cycle fails on a node, in its own words: they may name its devices.
    pub(super) fn failure(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Status> {
        let backed = self.backed(node).ok()?;
        let known = match self.supposed.is_nothing() {
            true => self.answers.known(cluster, &node.node.name, &backed).and_then(OnceLock::get),
            false => None,
        };
        let lack = match known {
            Some(Known { part: Some(part), .. }) => Lack::TooMuch(part.to_string()),
            Some(known) if known.units > self.answers.words_max => Lack::Failed(UNSAID.to_owned()),
            _ => self.found(cluster, node, Detail::Alternatives).err()?,
        };
        lack.failure(self.units_a_node)
    }

    /// Whether the node itself answers the same.
    fn is_own_answer(&self, answer: Answer, cluster: &Cluster, node: NodeView<'_>) -> bool {
        const NODES_MAX: usize = 64;
        let ask = || {
            let mut work = Work::of(self.units_a_node);
            Answer::of(&self.found_within(&mut work, cluster, node, Detail::Alternatives))
        };
        cluster.nodes().len() > NODES_MAX || answer == ask()
    }
}
