//! The world as it is, and as it would be after some changes: in each the cycle decides the pod anew,
//! with nothing kept from other decisions.

use std::sync::Arc;

use crate::cycle::{Cycle, CycleOutcome, UNWATCHED, nobody};
use crate::judging::Question;
use crate::model::ApiPaths;
use crate::program::{Profile, Program};
use crate::rules::FilterRule;
use crate::rules::decision_work::{DecisionWork, work_per_call};
use crate::snapshot::supposed::PodParts;
use crate::snapshot::{Cluster, Node, NodeSlot, Pod, PodEntry};

use super::Advising;
use super::change::{Change, NodeName};
use super::parts;

/// How many decisions the search for advice on one pod may take, and no more work than a call of the
/// engine that decides.
const DECISIONS_MAX: u32 = 150;
/// What cordoning a node puts on it, besides the field.
pub(super) const CORDON_KEY: &str = "node.kubernetes.io/unschedulable";

/// The decisions are used up: nothing is known of what was asked.
#[derive(Debug)]
pub(super) struct Spent;

pub(super) struct World<'a> {
    pub(super) work: Advising<'a>,
    pub(super) pod: Arc<Pod>,
    pub(super) profile: usize,
    decisions: u32,
    /// What the specs of supposed pods asked for, in units.
    spec_units: u64,
    /// What had been spent before.
    spent_before: u64,
    /// What expressions read by API path; it is not known what a change makes of it.
    paths: ApiPaths,
}

/// How to put something back.
enum Undo {
    Node(NodeSlot, Arc<Node>),
    Pod(PodEntry),
    Rule(usize, FilterRule),
    Changed(usize, FilterRule),
}

impl<'a> World<'a> {
    pub(super) fn of(pod: &Arc<Pod>, profile: usize, work: Advising<'a>) -> Self {
        let (paths, spent_before) = (work.program.paths(), spent(&work));
        let (pod, decisions, spec_units) = (Arc::clone(pod), 0, 0);
        Self { work, pod, profile, decisions, spec_units, spent_before, paths }
    }

    pub(super) fn cluster(&self) -> &Cluster {
        self.work.cluster
    }

    pub(super) fn profile(&self) -> Option<&Profile> {
        self.work.program.profiles.get(self.profile)
    }

    pub(super) fn rule(&self, filter: usize) -> Option<&FilterRule> {
        self.profile()?.filters.get(filter)
    }

    pub(super) fn decisions(&self) -> u32 {
        self.decisions
    }

    pub(super) fn is_spent(&self) -> bool {
        let spent = spent(&self.work).saturating_sub(self.spent_before);
        let units = spent.saturating_add(self.spec_units);
        self.decisions >= DECISIONS_MAX || units >= work_per_call(self.cluster().nodes().len())
    }

    /// Where the pod would be placed with nothing changed.
    pub(super) fn placed_as_it_is(&mut self) -> Option<NodeSlot> {
        let pod = Arc::clone(&self.pod);
        self.decide(&pod)
    }

    /// Where the pod would be placed with these changes and no others.
    pub(super) fn placed(&mut self, changes: &[Change]) -> Result<Option<NodeSlot>, Spent> {
        if changes.iter().any(|change| self.is_read_by_path(change)) {
            return Ok(None);
        }
        if self.is_spent() {
            return Err(Spent);
        }
        let Some(supposed) = self.supposed(changes) else { return Ok(None) };
        let mut undo = Vec::new();
        for change in changes {
            self.make(change, &mut undo);
        }
        let chosen = self.decide(&supposed);
        while let Some(undo) = undo.pop() {
            self.put_back(undo);
        }
        self.work.cluster.drop_supposed(&supposed, &self.pod);
        Ok(chosen)
    }

    fn decide(&mut self, pod: &Arc<Pod>) -> Option<NodeSlot> {
        self.decisions += 1;
        let Advising { program, cluster, tie, threads } = &mut self.work;
        cluster.progress().beat();
        cluster.settle_order();
        let own = DecisionWork::of(pod, cluster);
        self.spec_units = self.spec_units.saturating_add(own.units());
        if own.is_excessive() {
            return None;
        }
        let question = Question {
            pod,
            program,
            profile: self.profile,
            tie: *tie,
            entries: own.entries(),
            threads,
        };
        let mut cycle = Cycle::default();
        // Where no node passes, nobody is to look for victims.
        if cycle.filter(question, cluster, UNWATCHED).outcome.is_empty() {
            return None;
        }
        match cycle.decide(question, cluster, UNWATCHED, nobody).outcome {
            CycleOutcome::Chosen { slot, .. } => Some(slot),
            CycleOutcome::Rejected(_) | CycleOutcome::Failed(_) => None,
        }
    }

    /// The pod with its own changes; `None` where one cannot be made.
    fn supposed(&mut self, changes: &[Change]) -> Option<Arc<Pod>> {
        let parts: PodParts = parts::with(&self.pod, changes)?;
        Some(Arc::new(self.work.cluster.supposed_pod(&self.pod, parts)))
    }

    /// Makes a change of a node or of the policy.
    fn make(&mut self, change: &Change, undo: &mut Vec<Undo>) {
        let cluster = &mut *self.work.cluster;
        match change {
            Change::Untaint { node, taint } => {
                let old = cluster.suppose_node(node.slot, |node| {
                    node.taints = node.taints.iter().filter(|own| *own != taint).cloned().collect();
                });
                undo.extend(old.map(|old| Undo::Node(node.slot, old)));
            }
            Change::Uncordon { node } => {
                let old = cluster.suppose_node(node.slot, |node| {
                    let stays = |key: &str| key != CORDON_KEY;
                    let left = node.taints.iter().filter(|own| stays(&own.key));
                    node.taints = left.cloned().collect();
                    node.unschedulable = false;
                });
                undo.extend(old.map(|old| Undo::Node(node.slot, old)));
            }
            Change::NodeLabel { node: NodeName { slot, .. }, key, value } => {
                let old = cluster.suppose_node(*slot, |node| {
                    node.meta.labels = parts::labelled(&node.meta.labels, key, value.as_deref());
                });
                undo.extend(old.map(|old| Undo::Node(*slot, old)));
            }
            Change::Removal { pod, .. } => undo.extend(cluster.lift(&pod.uid).map(Undo::Pod)),
            Change::Rule { filter, .. } => {
                let position = position_now(*filter, undo);
                let filters = filters(self.work.program, self.profile);
                if let Some(filters) = filters.filter(|filters| position < filters.len()) {
                    undo.push(Undo::Rule(position, filters.remove(position)));
                }
            }
            Change::Constant(own) => {
                let position = position_now(own.filter, undo);
                let rule = filters(self.work.program, self.profile)
                    .and_then(|filters| filters.get_mut(position));
                let Some(rule) = rule else { return };
                if let Some(changed) = rule.comparing(&own.compared, own.number(own.to)) {
                    undo.push(Undo::Changed(position, std::mem::replace(rule, changed)));
                }
            }
            _ => {}
        }
    }

    fn put_back(&mut self, undo: Undo) {
        match undo {
            Undo::Node(slot, node) => self.work.cluster.put_back_node(slot, node),
            Undo::Pod(entry) => self.work.cluster.put_back(entry),
            Undo::Rule(position, rule) => {
                if let Some(filters) = filters(self.work.program, self.profile) {
                    filters.insert(position, rule);
                }
            }
            Undo::Changed(position, rule) => {
                let filters = filters(self.work.program, self.profile);
                if let Some(own) = filters.and_then(|filters| filters.get_mut(position)) {
                    *own = rule;
                }
            }
        }
    }

    /// Whether an expression reads by its API path what would change.
    fn is_read_by_path(&self, change: &Change) -> bool {
        let (kind, fields) = parts::fields_of(change);
        fields.iter().any(|field| self.paths.of(kind).any(|path| meets(path, field)))
    }

    pub(super) fn node_name(&self, slot: NodeSlot) -> Option<NodeName> {
        let view = self.cluster().nodes().view(slot)?;
        Some(NodeName { slot, name: Arc::clone(&view.node.name) })
    }
}

/// What was charged so far while it was done: expressions and devices.
fn spent(work: &Advising<'_>) -> u64 {
    work.program.units_spent().saturating_add(work.cluster.units_of_devices())
}

fn filters(program: &mut Program, profile: usize) -> Option<&mut Vec<FilterRule>> {
    program.profiles.get_mut(profile).map(|own| &mut own.filters)
}

/// Where a filter is after others are gone. Positions are those before any change.
fn position_now(filter: usize, undo: &[Undo]) -> usize {
    let before = |undo: &&Undo| matches!(undo, Undo::Rule(own, _) if *own < filter);
    filter - undo.iter().filter(before).count()
}

/// Whether one of two paths is the other or leads to it.
fn meets(path: &str, field: &str) -> bool {
    let leads = |from: &str, to: &str| {
        to.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leads(path, field) || leads(field, path)
}
