//! A filter written as an expression.

use std::sync::Arc;

use kpolicy_cel::{Budget, Compared, Expression, Moments, Number, Value};

use crate::event::{Event, Events, Occurrence};
use crate::heap::arc_bytes;
use crate::model::Kind;
use crate::part::Parts;
use crate::rules::prices::{REASON, REASON_FACTOR};
use crate::rules::{
    Code, Fault, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Rejection, Status,
};
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::columns::{NodeColumns, live};
use super::domain_sums::DomainSums;
use super::hypothetical_totals::{HypotheticalTotals, HypotheticalWorld};
use super::needs::Needs;
use super::pod_objects::concerns;
use super::single_nodes::SingleNodes;
use super::world::{ClusterWorld, NodeWorld, PodWorld};
use super::{Written, explained, fault_of, wrong_type};

/// Lanes of a bit plane that one word holds.
const LANES_A_WORD: usize = 64;

const REJECTED: Code = Code::reject(1);
const ERRED: Code = Code::reject(2);

#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(crate) written: Written,
    pub(crate) message: Arc<str>,
    pub(crate) message_expression: Option<Expression>,
    /// What the message reads of the pod, which keys must tell apart too.
    pub(crate) message_needs: Needs,
    /// Whether evicting pods may help.
    pub(crate) rejection: Rejection,
    /// A node that the expression cannot judge passes.
    pub(crate) accepts_errors: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ExpressionFilter(pub(super) Arc<Spec>);

#[derive(Debug, Clone)]
struct PreparedCondition {
    spec: Arc<Spec>,
    pod: Arc<Pod>,
    residual: Arc<Expression>,
    /// What it may spend on each node; `None` where there are more nodes than it may be evaluated on.
    limit: Option<u64>,
    /// Shared by its copies for hypothetical worlds: these differ in the pods of single nodes, which
    /// sums do not see.
    sums: Arc<DomainSums>,
    /// Of the node whose pods are put and taken for the sake of argument.
    hypothetical: HypotheticalTotals,
    /// `None` where nodes are always evaluated by themselves. Shared by copies for hypothetical worlds if
    /// these leave the answers as they are.
    single: Option<Arc<SingleNodes<Code>>>,
    /// What it holds besides the sums and the answers.
    own_bytes: usize,
}

impl Filter for ExpressionFilter {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self.0.written.needs.with(self.0.message_needs).key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        Some(Box::new(PreparedCondition::of(&self.0, pod, cluster)))
    }

    fn events(&self) -> Events {
        self.0.written.events()
    }

    fn parts(&self) -> Parts {
        self.0.written.needs.parts()
    }

    /// Where only one node's answer can have changed, that node is asked.
    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        let needs = self.0.written.needs;
        let nodes = match occurrence {
            Occurrence::Node { new: Some(new), parts, .. } => {
                if !needs.is_of_cluster() && !needs.is_changed_by(*parts) {
                    return false;
                }
                [Some(&new.name), None]
            }
            Occurrence::Pod { old, new, is_assigned: true } => {
                if !needs.is_of_cluster() && !needs.load() {
                    return false;
                }
                // A pod that was assumed or nominated names no node: any may be meant.
                let sides = [old.as_ref(), new.as_ref()].map(|pod| Some(&pod?.node_name));
                if sides.into_iter().flatten().any(|node| node.is_empty()) {
                    return true;
                }
                sides
            }
            Occurrence::Pod { old: Some(old), new: Some(new), is_assigned: false } => {
                return needs.tells_apart(old, new);
            }
            Occurrence::Pod { is_assigned: false, .. } => return needs.reads_pod(),
            Occurrence::Object(replaced) => return concerns(pod, replaced),
            Occurrence::Node { new: None, .. } => return true,
            Occurrence::Time { from, to } => {
                return self.0.written.moments.differ(*from, *to)
                    && self.passes_somewhere(pod, cluster);
            }
        };
        if needs.is_of_cluster() {
            return true;
        }
        let prepared = PreparedCondition::of(&self.0, pod, cluster);
        let find = |node: &Arc<str>| cluster.nodes().view(cluster.nodes().find(node)?);
        let mut views = nodes.into_iter().flatten().filter_map(find);
        views.any(|view| prepared.check(cluster, view).passes())
    }

    fn moments(&self) -> &Moments {
        &self.0.written.moments
    }

    fn kinds(&self) -> &[Kind] {
        &self.0.written.kinds
    }

    fn words(&self) -> Vec<Arc<str>> {
        self.0.written.expression.words()
    }

    fn compared(&self) -> Vec<(Compared, String)> {
        let Written { expression, source, .. } = &self.0.written;
        let with_text =
            |compared: Compared| (compared, source.part(compared.origin).unwrap_or_default());
        expression.compared().into_iter().map(with_text).collect()
    }

    fn comparing(&self, compared: &Compared, number: Number) -> Option<Box<dyn Filter>> {
        let mut spec = Spec::clone(&self.0);
        spec.written.expression = spec.written.expression.comparing(compared, number)?;
        Some(Box::new(Self(Arc::new(spec))))
    }
}

impl PreparedCondition {
    fn of(spec: &Arc<Spec>, pod: &Pod, cluster: &Cluster) -> Self {
        let residual = Arc::new(spec.written.folded(pod, cluster));
        let limit = spec.written.limit(cluster);
        let sums = Arc::new(DomainSums::default());
        let (spec, pod) = (Arc::clone(spec), Arc::new(pod.clone()));
        let shared = arc_bytes(&pod) + arc_bytes(&residual) + arc_bytes(&sums);
        let hypothetical = HypotheticalTotals::of(&residual, &pod);
        let own_bytes = size_of::<Self>() + shared + hypothetical.heap_bytes();
        let single = residual.is_side_by_side().then(Arc::default);
        Self { spec, pod, residual, limit, sums, hypothetical, single, own_bytes }
    }

    fn world<'a>(&'a self, cluster: &'a Cluster) -> ClusterWorld<'a> {
        ClusterWorld { pod: PodWorld { pod: &self.pod, cluster }, sums: &self.sums }
    }

    fn on_node<'a>(&'a self, cluster: &'a Cluster, node: NodeView<'a>) -> HypotheticalWorld<'a> {
        HypotheticalWorld {
            world: NodeWorld { world: self.world(cluster), node },
            totals: &self.hypothetical,
        }
    }

    fn judge(&self, cluster: &Cluster, node: NodeView<'_>) -> Result<bool, Fault> {
        let Some(limit) = self.limit else { return Err(self.not_covered(cluster)) };
        let world = self.on_node(cluster, node);
        match self.residual.evaluate(&world, &mut Budget::new(limit)) {
            Ok(Value::Bool(passes)) => Ok(passes),
            Ok(other) => Err(wrong_type(&other)),
            Err(error) => Err(fault_of(error)),
        }
    }

    /// Why the node cannot be judged, for people.
    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        let Some(limit) = self.limit else { return Some(self.not_covered(cluster)) };
        let world = self.on_node(cluster, node);
        match explained(&self.residual, &self.spec.written.source, &world, limit) {
            Ok(Value::Bool(_)) => None,
            Ok(other) => Some(wrong_type(&other)),
            Err(fault) => Some(fault),
        }
    }

    fn not_covered(&self, cluster: &Cluster) -> Fault {
        self.spec.written.allowance.fault(cluster.nodes().len())
    }

    fn check_by_itself(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let verdict = self.judge(cluster, node);
        if let Err(fault) = &verdict {
            self.spec.written.counts.count_fault(fault);
        }
        self.code(verdict.ok())
    }

    fn code(&self, verdict: Option<bool>) -> Code {
        match verdict {
            Some(true) => Code::PASS,
            Some(false) => REJECTED,
            None if self.spec.accepts_errors => Code::PASS,
            None => ERRED,
        }
    }

    fn message(&self, cluster: &Cluster, node: NodeView<'_>) -> Arc<str> {
        let Some(expression) = &self.spec.message_expression else {
            return Arc::clone(&self.spec.message);
        };
        let world = self.on_node(cluster, node);
        let limit = self.limit.unwrap_or_default();
        match expression.evaluate(&world, &mut Budget::new(limit)) {
            Ok(Value::String(text)) if !text.trim().is_empty() => text,
            _ => Arc::clone(&self.spec.message),
        }
    }
}

impl PreparedFilter for PreparedCondition {
    fn reads(&self) -> Reads {
        self.spec.written.reads()
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        if self.limit != self.spec.written.limit(cluster) {
            return Refresh::Again;
        }
        self.single = self.single.take().map(|_| Arc::default());
        self.spec.written.refresh(changes)
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        match &self.single {
            None => self.check_by_itself(cluster, node),
            // Which nodes are the first to be asked may rest on the threads: their errors are not counted.
            Some(single) => single.answer(
                node.slot,
                cluster,
                || self.code(self.judge(cluster, node).ok()),
                |codes| self.check_all(cluster, codes),
            ),
        }
    }

    /// Where the expression reads no fact of nodes, or none of them matters.
    fn rejects_any_node(&self, cluster: &Cluster) -> bool {
        let Some(limit) = self.limit else { return false };
        let verdict = self.residual.evaluate(&self.world(cluster), &mut Budget::new(limit));
        matches!(verdict, Ok(Value::Bool(false)))
    }

    /// A node whose pods are put and taken is evaluated by itself each time.
    fn units_a_check(&self) -> u64 {
        let Some(limit) = self.limit else { return 0 };
        let units = limit.min(self.spec.written.allowance.demand());
        match self.residual.units_by_itself(limit) {
            Some(by_itself) if self.spec.written.needs.load() => units.max(by_itself),
            _ => units,
        }
    }

    /// Sums over other nodes do not see such pods.
    fn rests_on_pods(&self) -> bool {
        self.spec.written.needs.load()
    }

    fn units_a_pod(&self) -> u64 {
        self.hypothetical.units_a_pod()
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.hypothetical.follow(cluster, node.slot, pod, 1);
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.hypothetical.follow(cluster, node.slot, pod, -1);
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        let Some(limit) = self.limit else {
            let nodes = cluster.nodes().len();
            self.spec.written.counts.count_errors(nodes, nodes);
            codes.fill(self.code(None));
            return;
        };
        let columns = NodeColumns::of(&self.residual, self.world(cluster));
        let selected = live(cluster);
        let mut budget = Budget::of_each_lane(limit);
        let mask = self.residual.filter(&columns, &selected, &mut budget);
        self.spec.written.counts.count_units(&budget);
        self.spec.written.counts.count_errors(mask.error.count(), budget.lanes_exceeded());
        let message = [Some(false), Some(true), None].map(|verdict| self.code(verdict));
        let words = mask.truth.words().iter().zip(mask.error.words());
        for (codes, (truth, error)) in codes.chunks_mut(LANES_A_WORD).zip(words) {
            write(codes, *truth, *error, message);
        }
    }

    fn worth_asking_all(&self, nodes: usize) -> usize {
        Written::worth_asking_all(nodes)
    }

    fn describe(&self, cluster: &Cluster, node: NodeView<'_>, code: Code) -> Status {
        let rejection = self.spec.rejection;
        let (reason, fault) = if code == ERRED {
            let fault = self.fault(cluster, node);
            let why = fault.as_ref().map_or("it depends on other pods".to_owned(), Fault::rendered);
            (format!("rule {} could not be evaluated: {why}", self.spec.written.name), fault)
        } else {
            (one_line(&self.message(cluster, node)), None)
        };
        Status { rejection, reasons: vec![reason.into()], fault }
    }

    fn describe_briefly(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        let reason = if code == ERRED {
            format!("rule {} could not be evaluated", self.spec.written.name)
        } else {
            one_line(&self.spec.message)
        };
        Status { rejection: self.spec.rejection, reasons: vec![reason.into()], fault: None }
    }

    fn units_a_description(&self, code: Code) -> u64 {
        match (code, &self.spec.message_expression) {
            (ERRED, _) => {
                let Some(limit) = self.limit else { return 0 };
                let demand = self.spec.written.allowance.demand();
                // Where it may spend too much, it is evaluated once more for the part that needs most.
                let times = if demand > limit { 2 } else { 1 };
                let by_itself = self.residual.units_by_itself(limit);
                let units = by_itself.unwrap_or_else(|| limit.min(demand).saturating_mul(times));
                units.saturating_mul(REASON_FACTOR).saturating_add(REASON)
            }
            (_, Some(_)) => self.limit.unwrap_or_default(),
            (_, None) => 0,
        }
    }

    /// Whatever the reasons are.
    fn rejects_by_code(&self) -> bool {
        true
    }

    fn describes_by_code(&self) -> bool {
        self.spec.message_expression.is_none()
    }

    fn describes_code(&self, code: Code) -> bool {
        code != ERRED && self.describes_by_code()
    }

    fn is_local(&self) -> bool {
        self.spec.written.is_local()
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        let mut copy = self.clone();
        if self.spec.written.needs.load() {
            copy.single = None;
        }
        Box::new(copy)
    }

    fn held_bytes(&self) -> HeldBytes {
        let answers = self.single.as_ref().map_or(0, |single| single.heap_bytes());
        HeldBytes::Changing(self.own_bytes + self.sums.bytes() + answers)
    }
}

/// Writes the codes of one word of lanes; `message` has those of false, true and error.
fn write(codes: &mut [Code], truth: u64, error: u64, message: [Code; 3]) {
    let [fails, passes, errs] = message;
    match (truth, error) {
        (u64::MAX, 0) => codes.fill(passes),
        (0, 0) => codes.fill(fails),
        _ => {
            for (lane, code) in codes.iter_mut().enumerate() {
                let (holds, is_error) = (truth >> lane & 1 == 1, error >> lane & 1 == 1);
                let verdict = if holds { passes } else { fails };
                *code = if is_error { errs } else { verdict };
            }
        }
    }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
