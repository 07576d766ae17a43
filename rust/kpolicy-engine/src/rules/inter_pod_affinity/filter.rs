//! The filter: required affinity, required anti-affinity, and that of pods on nodes.

use std::sync::Arc;

use crate::event::{Event, Events, Occurrence};
use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::model::{Kind, Labels, PodAffinityTerm};
use crate::part::{Part, Parts};
use crate::release::NamespaceSelectors;
use crate::rules::{Code, Filter, HeldBytes, Key, PreparedFilter, Reads, Refresh, Stage, Status};
use crate::snapshot::census::{Demand, Row};
use crate::snapshot::pod::{Identity, PodAffinity};
use crate::snapshot::{Change, Changes, Cluster, NodeParts, NodeSlot, NodeView, Pod};

use super::counts::TopologySums;
use super::others::{Worth, terms_against};
use super::terms::{Incoming, all_mean, has_labels, means_incoming, means_namespace};
use super::{InterPodAffinity, hints};

const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";
const REASON_ANTI: &str = "node(s) didn't match pod anti-affinity rules";
const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

const AFFINITY: Code = Code::reject(1);
const ANTI: Code = Code::reject(2);
const EXISTING: Code = Code::reject(3);

#[derive(Debug, Clone)]
struct PreparedAffinityFilter {
    identity: Shared<Identity>,
    affinity: Shared<PodAffinity>,
    namespace_labels: Labels,
    /// Pods on nodes whose required anti-affinity means the pod.
    existing: TopologySums,
    /// Pods on nodes that all required affinity terms mean.
    wanted: TopologySums,
    /// Pods on nodes that one of the required anti-affinity terms means.
    unwanted: TopologySums,
    means_itself: bool,
    selectors: NamespaceSelectors,
}

impl Filter for InterPodAffinity {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push_seen(pod);
        key.push(pod.template.pod_affinity.id());
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedFilter>> {
        let (identity, affinity) = (pod.identity.clone(), pod.template.pod_affinity.clone());
        let own = &identity.namespace;
        let means_itself = all_mean(&affinity.required, own, &identity, cluster, self.selectors);
        let namespace_labels =
            cluster.namespace_labels(&identity.namespace).cloned().unwrap_or_default();
        let mut prepared = PreparedAffinityFilter {
            identity,
            affinity,
            namespace_labels,
            existing: TopologySums::default(),
            wanted: TopologySums::default(),
            unwanted: TopologySums::default(),
            means_itself,
            selectors: self.selectors,
        };
        prepared.count_all(cluster);
        Some(Box::new(prepared))
    }

    fn events(&self) -> Events {
        Events::of(&[
            Event::PodAdd,
            Event::PodLabel,
            Event::PodDelete,
            Event::NodeAdd,
            Event::NodeLabel,
        ])
    }

    fn parts(&self) -> Parts {
        Parts::of(&[
            Part::NodeExistence,
            Part::NodeLabels,
            Part::Load,
            Part::OtherPods,
            Part::OtherNodes,
        ])
    }

    /// Terms name labels of pods, nodes and namespaces, and no resources.
    fn unhelpful_events(&self) -> Events {
        Events::of(&[Event::PodScaleDown, Event::NodeAllocatable])
    }

    /// Hints take a pod for unwanted only if all terms mean it, look at new nodes for the pod's own terms
    /// only, and not at what becomes of pods that matched when they or their nodes go.
    fn narrow_events(&self) -> Events {
        self.events()
    }

    fn wakes(&self, pod: &Pod, _: Event, occurrence: &Occurrence, _: &Cluster) -> bool {
        hints::wakes(pod, occurrence)
    }

    fn wakes_more(&self, pod: &Pod, occurrence: &Occurrence, cluster: &Cluster) -> bool {
        match hints::wakes_more(pod, occurrence, cluster) {
            hints::More::Yes => true,
            hints::More::No => false,
            hints::More::AskOf(node) => {
                let view =
                    cluster.nodes().find(&node.name).and_then(|slot| cluster.nodes().view(slot));
                view.is_some_and(|view| {
                    self.prepare(pod, cluster)
                        .is_none_or(|prepared| prepared.check(cluster, view).passes())
                })
            }
            hints::More::Ask => self.passes_somewhere(pod, cluster),
        }
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::Namespace]
    }
}

impl PreparedAffinityFilter {
    fn count_all(&mut self, cluster: &Cluster) {
        if !self.affinity.required.is_empty() || !self.affinity.anti_required.is_empty() {
            for (namespace, rows) in cluster.census().by_namespace() {
                let meant = Means::of_namespace(self, namespace, cluster);
                if meant.is_nothing() {
                    continue;
                }
                for row in rows {
                    let means = meant.with_labels(self, &row.what);
                    if means.is_nothing() {
                        continue;
                    }
                    self.count_meant(&means, row, cluster);
                }
            }
        }
        let identity = self.identity.clone();
        let incoming = Incoming { identity: &identity, namespace_labels: &self.namespace_labels };
        let worth_of =
            |demand: Demand| Worth { terms: demand.anti_required, weight: demand.anti_required };
        for of_key in terms_against(incoming, cluster, worth_of) {
            let pods = of_key.by_node(cluster, worth_of).map(|(slot, worth)| (slot, worth.terms));
            self.existing.add_all(of_key.key, &of_key.domains, pods);
        }
    }

    /// Counts the pods of a row, of which the pod's terms mean these.
    fn count_meant(&mut self, means: &Means, row: &Row<Shared<Identity>>, cluster: &Cluster) {
        let affinity = self.affinity.clone();
        let wanted = affinity.required.iter().filter(|_| means.wanted);
        let unwanted = affinity.anti_required.iter().zip(&means.unwanted);
        let unwanted = unwanted.filter_map(|(term, is_meant)| is_meant.then_some(term));
        wanted.for_each(|term| count_row(&mut self.wanted, &term.topology_key, row, cluster));
        unwanted.for_each(|term| count_row(&mut self.unwanted, &term.topology_key, row, cluster));
    }

    /// Topology keys of the required anti-affinity terms that mean the pod, with repetitions.
    fn keys_against<'p>(&self, affinity: &'p PodAffinity, namespace: &str) -> Vec<&'p str> {
        let incoming =
            Incoming { identity: &self.identity, namespace_labels: &self.namespace_labels };
        let terms = affinity.anti_required.iter();
        terms
            .filter(|term| means_incoming(term, namespace, incoming))
            .map(|term| term.topology_key.as_ref())
            .collect()
    }

    /// Whether a domain became or ceased to be of interest.
    fn add_meant(&mut self, cluster: &Cluster, slot: NodeSlot, means: &Means, pods: i64) -> bool {
        let affinity = self.affinity.clone();
        let mut flips = false;
        if means.wanted {
            for term in &affinity.required {
                flips |= self.wanted.add(cluster, &term.topology_key, slot, pods) == Some(true);
            }
        }
        for (term, is_meant) in affinity.anti_required.iter().zip(&means.unwanted) {
            if *is_meant {
                flips |= self.unwanted.add(cluster, &term.topology_key, slot, pods) == Some(true);
            }
        }
        flips
    }

    fn add(&mut self, cluster: &Cluster, slot: NodeSlot, pod: &Pod, pods: i64) -> bool {
        let means = Means::of(self, &pod.identity, cluster);
        let mut flips = self.add_meant(cluster, slot, &means, pods);
        if !pod.template.pod_affinity.anti_required.is_empty() {
            for key in self.keys_against(&pod.template.pod_affinity, pod.namespace()) {
                flips |= self.existing.add(cluster, key, slot, pods) == Some(true);
            }
        }
        flips
    }

    /// The first pod of a group with affinity to itself finds no such pod anywhere yet.
    fn is_first(&self) -> bool {
        self.means_itself && self.wanted.is_empty()
    }
}

/// What nodes come to by one of the required affinity terms.
fn code_wanted(pods: Option<i64>, is_first: bool) -> Code {
    if pods.is_some_and(|pods| pods > 0 || is_first) { Code::PASS } else { AFFINITY }
}

/// What nodes come to by a term against the pods of their domain.
fn code_against(pods: Option<i64>, code: Code) -> Code {
    if pods.is_some_and(|pods| pods > 0) { code } else { Code::PASS }
}

/// The first code that does not pass remains.
fn reject(codes: &mut [Code], added: impl Iterator<Item = Code>) {
    for (code, added) in codes.iter_mut().zip(added) {
        *code = if code.passes() { added } else { *code };
    }
}

fn count_row(sums: &mut TopologySums, key: &str, row: &Row<Shared<Identity>>, cluster: &Cluster) {
    if cluster.nodes().any_has_label(key) {
        let pods = row.by_node.iter().map(|(slot, tally)| (*slot, i64::from(tally.pods)));
        sums.add_all(key, &cluster.nodes().domains(key), pods);
    }
}

/// Which of the pod's terms mean a pod on a node.
struct Means {
    wanted: bool,
    unwanted: Vec<bool>,
}

impl Means {
    fn of(prepared: &PreparedAffinityFilter, existing: &Identity, cluster: &Cluster) -> Self {
        Self::of_namespace(prepared, &existing.namespace, cluster).with_labels(prepared, existing)
    }

    /// Which of them may mean pods of a namespace.
    fn of_namespace(prepared: &PreparedAffinityFilter, namespace: &str, cluster: &Cluster) -> Self {
        let (owner, selectors) = (&prepared.identity.namespace, prepared.selectors);
        let means =
            |term: &PodAffinityTerm| means_namespace(term, owner, namespace, cluster, selectors);
        let PodAffinity { required, anti_required, .. } = &*prepared.affinity;
        Self {
            wanted: !required.is_empty() && required.iter().all(means),
            unwanted: anti_required.iter().map(means).collect(),
        }
    }

    /// Those that mean a pod of that namespace.
    fn with_labels(&self, prepared: &PreparedAffinityFilter, existing: &Identity) -> Self {
        let has = |term: &PodAffinityTerm| has_labels(term, &existing.labels);
        let PodAffinity { required, anti_required, .. } = &*prepared.affinity;
        let unwanted = anti_required.iter().zip(&self.unwanted);
        Self {
            wanted: self.wanted && required.iter().all(has),
            unwanted: unwanted.map(|(term, is_meant)| *is_meant && has(term)).collect(),
        }
    }

    fn is_nothing(&self) -> bool {
        !self.wanted && !self.unwanted.contains(&true)
    }
}

impl PreparedFilter for PreparedAffinityFilter {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::LABELS)
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        let relabels = NodeParts::LABELS.with(NodeParts::EXISTENCE);
        let sums = [&self.existing, &self.wanted, &self.unwanted];
        let is_stale = changes.iter().any(|change| match change {
            Change::Node(_, parts) => parts.meets(relabels),
            Change::Object(kind) => *kind == Kind::Namespace,
            Change::PodPut(..) | Change::PodTaken(..) | Change::Time(..) => false,
        });
        if is_stale || !sums.into_iter().all(|sums| sums.is_current(cluster)) {
            return Refresh::Again;
        }
        let was_alone = self.wanted.is_empty();
        let mut flips = false;
        for change in changes.iter() {
            match change {
                Change::PodPut(slot, pod) => flips |= self.add(cluster, *slot, pod, 1),
                Change::PodTaken(slot, pod) => flips |= self.add(cluster, *slot, pod, -1),
                Change::Node(..) | Change::Object(_) | Change::Time(..) => {}
            }
        }
        if flips || was_alone != self.wanted.is_empty() { Refresh::All } else { Refresh::Nodes }
    }

    fn stage(&self) -> Stage<'_> {
        let asks = !self.affinity.required.is_empty() || !self.affinity.anti_required.is_empty();
        if asks || !self.existing.is_empty() { Stage::Check } else { Stage::Skip }
    }

    fn check(&self, cluster: &Cluster, node: NodeView<'_>) -> Code {
        let at = |sums: &TopologySums, term: &PodAffinityTerm| {
            sums.at(cluster, &term.topology_key, node.slot)
        };
        let PodAffinity { required, anti_required, .. } = &*self.affinity;
        let is_first = self.is_first();
        let wanted = required.iter().map(|term| code_wanted(at(&self.wanted, term), is_first));
        let unwanted =
            anti_required.iter().map(|term| code_against(at(&self.unwanted, term), ANTI));
        let rejection = wanted.chain(unwanted).find(|code| !code.passes());
        let existing = || self.existing.any_positive(cluster, node.slot).then_some(EXISTING);
        rejection.or_else(existing).unwrap_or(Code::PASS)
    }

    fn check_all(&self, cluster: &Cluster, codes: &mut [Code]) {
        codes.fill(Code::PASS);
        let is_first = self.is_first();
        for term in &self.affinity.required {
            let column = self.wanted.column(cluster, &term.topology_key);
            reject(codes, column.codes(|pods| code_wanted(pods, is_first)));
        }
        for term in &self.affinity.anti_required {
            let column = self.unwanted.column(cluster, &term.topology_key);
            reject(codes, column.codes(|pods| code_against(pods, ANTI)));
        }
        for column in self.existing.columns(cluster) {
            reject(codes, column.codes(|pods| code_against(pods, EXISTING)));
        }
    }

    fn describe(&self, _: &Cluster, _: NodeView<'_>, code: Code) -> Status {
        match code {
            AFFINITY => Status::unresolvable(REASON_AFFINITY),
            ANTI => Status::unschedulable(REASON_ANTI),
            _ => Status::unschedulable(REASON_EXISTING),
        }
    }

    fn add_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.add(cluster, node.slot, pod, 1);
    }

    fn remove_pod(&mut self, pod: &Arc<Pod>, cluster: &Cluster, node: NodeView<'_>) {
        self.add(cluster, node.slot, pod, -1);
    }

    fn fork(&self) -> Box<dyn PreparedFilter> {
        Box::new(self.clone())
    }

    fn held_bytes(&self) -> HeldBytes {
        let tables =
            self.existing.heap_bytes() + self.wanted.heap_bytes() + self.unwanted.heap_bytes();
        HeldBytes::Changing(size_of_val(self) + tables + self.namespace_labels.heap_bytes())
    }
}
