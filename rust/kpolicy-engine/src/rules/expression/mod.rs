//! Rules written as expressions: turns a verified expression into a filter or a score.
//!
//! The expression is folded by what is known of the pod once for each sub-shape, then evaluated for
//! all nodes over columns, or for one node. What it reads decides its cache key, when it is
//! evaluated again, and what wakes its pods.

mod allowance;
mod api_path;
mod columns;
mod conditions;
mod device_rules;
mod domain_sums;
mod facts;
mod filter;
mod hypothetical_totals;
mod lanes;
mod load;
mod needs;
mod node_facts;
mod normalization;
mod plan;
mod pod_facts;
mod pod_objects;
mod pod_set;
mod queue_rules;
mod queue_world;
mod score;
mod single_nodes;
mod source;
mod victims;
mod witness;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kpolicy_cel::{
    Budget, ErrorKind, EvaluationError, Expression, Facts, Fault as Error, Moments, Value,
};

use crate::api::RuleStatistics;
use crate::event::{Event, Events};
use crate::model::{ApiPaths, Kind};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, Pod};

use super::{Fault, Reads, Refresh};
use allowance::{Allowance, COST_EXCEEDED, COST_PER_NODE_MAX};
use needs::Needs;
use source::Source;

pub use allowance::{COST_PER_CYCLE_MAX, Ledger, Limits};
pub(crate) use api_path::paths_of;
pub(crate) use conditions::{Conditions, Holds};
pub use device_rules::DeviceRules;
pub(crate) use device_rules::{DeviceNotes, LookedAt, PreparedDeviceRules};
pub(crate) use domain_sums::DomainSums;
pub(crate) use facts::{CATALOGUE, rests_on_pod, verified};
pub use facts::{FactRow, facts};
pub(crate) use load::{conditions, device_rule, filter, hold, order, score, victims};
pub(crate) use plan::evaluation_plan;
pub(crate) use queue_rules::{HoldRule, OrderRule, QueueReads};
pub(crate) use queue_world::{ClusterTotals, QueueWorld, TenantView, Waited};
pub(crate) use victims::{PreparedVictims, VictimRule};
pub use witness::Witness;
pub(crate) use world::{ClusterWorld, NodeWorld, PodWorld};

/// What a rule came to, beside its verdicts and scores.
#[derive(Debug, Default)]
pub struct EvaluationCounts {
    errors: AtomicU64,
    cost_exceeded: AtomicU64,
    clamped: AtomicU64,
    audited: AtomicU64,
    /// Units of cost that were really spent.
    units: AtomicU64,
}

impl EvaluationCounts {
    /// What it has cost so far.
    pub fn units(&self) -> u64 {
        self.units.load(Ordering::Relaxed)
    }

    fn count_units(&self, budget: &Budget) {
        self.units.fetch_add(budget.spent(), Ordering::Relaxed);
    }

    pub(crate) fn statistics(&self) -> RuleStatistics {
        let read = |counted: &AtomicU64| counted.load(Ordering::Relaxed);
        RuleStatistics {
            errors: read(&self.errors),
            cost_exceeded: read(&self.cost_exceeded),
            clamped: read(&self.clamped),
            audited: read(&self.audited),
        }
    }

    fn count_fault(&self, fault: &Fault) {
        self.count_errors(1, usize::from(fault.code == COST_EXCEEDED));
    }

    /// Nodes that could not be judged, and how many of them because of what that costs.
    fn count_errors(&self, errors: usize, cost_exceeded: usize) {
        self.errors.fetch_add(errors as u64, Ordering::Relaxed);
        self.cost_exceeded.fetch_add(cost_exceeded as u64, Ordering::Relaxed);
    }

    fn count_clamped(&self, nodes: usize) {
        self.clamped.fetch_add(nodes as u64, Ordering::Relaxed);
    }

    /// An audited rule would have rejected the node that was chosen.
    pub(crate) fn count_audited(&self) {
        self.audited.fetch_add(1, Ordering::Relaxed);
    }
}

/// A verified expression of a rule.
#[derive(Debug, Clone)]
struct Written {
    name: Arc<str>,
    expression: Expression,
    source: Source,
    needs: Needs,
    /// Kinds of objects besides pods and nodes that it reads, or its message does.
    kinds: Vec<Kind>,
    /// What it reads of the moment of the decision, or its message does.
    moments: Moments,
    allowance: Allowance,
    /// Its worst case is within what it may cost on a node; otherwise what it spends is counted as it
    /// is written, so that it stops at the same places however it is asked.
    is_bounded: bool,
    counts: Arc<EvaluationCounts>,
}

impl Written {
    fn paths(&self) -> ApiPaths {
        let mut paths = ApiPaths::default();
        paths_of(&self.expression, &mut paths);
        paths
    }

    fn counts(&self) -> (Arc<str>, Arc<EvaluationCounts>) {
        (Arc::clone(&self.name), Arc::clone(&self.counts))
    }
}

/// The message of an error, for people.
fn fault_of(error: EvaluationError) -> Fault {
    Fault { code: error.kind.code(), message: error.message.shared() }
}

/// Evaluates for people: an error because of the cost names the part that needed most, with its units.
/// The units are rounded down to their first digit, so that many nodes have few different messages.
fn explained(
    expression: &Expression,
    source: &Source,
    facts: &dyn Facts,
    limit: u64,
) -> Result<Value, Fault> {
    // Finding the dearest part takes longer than evaluating, so it is done only where it is shown.
    let outcome = expression.evaluate(facts, &mut Budget::new(limit));
    let is_exceeded = matches!(&outcome, Err(error) if error.kind.code() == COST_EXCEEDED);
    if !is_exceeded || expression.units_by_itself(limit).is_some_and(|units| units > 1) {
        return outcome.map_err(fault_of);
    }
    let (outcome, (node, units)) = expression.evaluate_for_dearest(facts, &mut Budget::new(limit));
    outcome.map_err(|error| {
        let fault = fault_of(error);
        match source.part(node) {
            Some(part) if fault.code == COST_EXCEEDED => {
                let digit = 10_u64.pow(units.max(1).ilog10());
                let units = units / digit * digit;
                let message = format!("{}: {part} needs at least {units}", fault.message);
                Fault { message: message.into(), ..fault }
            }
            _ => fault,
        }
    })
}

fn wrong_type(value: &Value) -> Fault {
    let message = format!("it gave {}", value.type_name());
    fault_of(Error::new(ErrorKind::NoSuchOverload, message).at(0))
}

/// One node by itself takes about as long as so many in columns, and columns take as long as so many
/// nodes by themselves to begin with.
const LANES_A_NODE: usize = 64;
const NODES_TO_BEGIN: usize = 16;

impl Written {
    fn worth_asking_all(nodes: usize) -> usize {
        NODES_TO_BEGIN + nodes / LANES_A_NODE
    }

    fn reads(&self) -> Reads {
        let node = self.needs.node().with(NodeParts::EXISTENCE);
        Reads { node, load: self.needs.load() }
    }

    /// Whether a node's answer rests on no other node; on how many there are neither.
    fn is_local(&self) -> bool {
        !self.needs.other_pods() && !self.needs.other_nodes() && !self.allowance.is_bounded()
    }

    /// What it may spend on each node of a cluster like this; `None` where it may not be evaluated at
    /// all.
    fn limit(&self, cluster: &Cluster) -> Option<u64> {
        let nodes = cluster.nodes().len();
        self.allowance.covers(nodes).then(|| self.allowance.per_node_of(nodes))
    }

    /// What may let a pod that it rejected through.
    fn events(&self) -> Events {
        let fewer = Events::of(&[Event::NodeDelete]);
        let events = self.needs.events();
        if self.allowance.is_bounded() { events.with(fewer) } else { events }
    }

    /// What is left of it once the pod is known.
    fn folded(&self, pod: &Pod, cluster: &Cluster) -> Expression {
        if !self.is_bounded {
            return self.expression.clone();
        }
        self.expression.fold(&PodWorld { pod, cluster }, &mut Budget::new(COST_PER_NODE_MAX))
    }

    fn refresh(&self, changes: Changes<'_>) -> Refresh {
        let needs = self.needs;
        let mut refresh = Refresh::Nodes;
        for change in changes.iter() {
            match change {
                Change::Object(kind) => {
                    if self.kinds.contains(kind) {
                        return Refresh::Again;
                    }
                }
                Change::Time(from, to) => {
                    if self.moments.differ(*from, *to) {
                        return Refresh::Again;
                    }
                }
                Change::Node(_, parts) => {
                    let read =
                        NodeParts::EXISTENCE.with(NodeParts::LABELS).with(NodeParts::ALLOCATABLE);
                    if needs.other_nodes() && parts.meets(read) {
                        refresh = Refresh::All;
                    }
                }
                Change::PodPut(..) | Change::PodTaken(..) => {
                    if needs.other_pods() {
                        refresh = Refresh::All;
                    }
                }
            }
        }
        refresh
    }
}
