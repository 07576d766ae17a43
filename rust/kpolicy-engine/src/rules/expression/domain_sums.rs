//! Sums over domains and over the cluster, each computed once for all nodes. They hold until the
//! cluster changes, so asking node by node costs no more than one sum.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kpolicy_cel::{Answer, Bits, Column, READS_MAX, Read, Value};
use rustc_hash::{FxHashMap, FxHasher};

use crate::heap::{HeapBytes, arc_bytes, flat_bytes, table_bytes};
use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, Domains, Generation, NodeSlot, Pod};

use super::facts::Addend;
use super::pod_facts::no_such_overload;

/// The most facts whose sums are kept; those beyond are summed up whenever they are asked for.
const FACTS_MAX: usize = READS_MAX;

/// The sums of one fact over the domains of a topology key, by the domain's id. Ids hold until a node
/// changes.
#[derive(Debug)]
pub(super) struct Sums {
    key: Arc<str>,
    by_domain: Vec<i64>,
}

impl Sums {
    fn of(pod: &Pod, cluster: &Cluster, addend: Addend, args: &[Value]) -> Result<Self, Answer> {
        let Some((Value::String(key), args)) = args.split_first() else {
            return Err(no_such_overload());
        };
        let domains = cluster.nodes().domains(key);
        let values = (addend.by_slot)(pod, cluster, args)?;
        let mut by_domain = vec![0_i64; domains.len()];
        for (id, value) in domains.ids().iter().zip(&values) {
            if let Some(sum) = by_domain.get_mut(*id as usize) {
                *sum = sum.saturating_add(*value);
            }
        }
        Ok(Self { key: Arc::clone(key), by_domain })
    }

    /// The domains that it has sums of. Do not keep them beyond the call.
    pub(super) fn domains(&self, cluster: &Cluster) -> Arc<Domains> {
        cluster.nodes().domains(&self.key)
    }

    /// The sum of the domain of a node, which is given by its position in columns.
    pub(super) fn at(&self, domains: &Domains, lane: usize) -> Answer {
        match domains.id_at(lane) {
            ABSENT => Answer::Absent,
            id => self.by_domain.get(id as usize).copied().unwrap_or(0).into(),
        }
    }

    /// Sums of all nodes; absent for a node without the topology key.
    pub(super) fn column(&self, domains: &Domains) -> Column<'static> {
        let ids = domains.ids();
        let sum = |id: &u32| self.by_domain.get(*id as usize).copied().unwrap_or(0);
        let values = Column::Int(ids.iter().map(sum).collect());
        let absent = Bits::of_slice(ids, |id| id == ABSENT);
        if absent.any() { Column::Sparse { column: Box::new(values), absent } } else { values }
    }
}

impl HeapBytes for Sums {
    fn heap_bytes(&self) -> usize {
        flat_bytes(&self.by_domain)
    }
}

/// A fact that rests on many nodes, summed up.
#[derive(Debug, Clone)]
enum Summed {
    OfDomain(Arc<Sums>),
    OfCluster(Answer),
}

/// The sums of the cluster as it was at one generation.
#[derive(Debug, Default)]
struct Known {
    generation: Option<Generation>,
    /// By a hash of the read, or by the next number that is free.
    by_read: FxHashMap<u64, (Read, Summed)>,
}

impl Known {
    /// Where the sums of a fact are, or would be.
    fn place(&self, read: &Read) -> u64 {
        let mut hasher = FxHasher::default();
        read.fact.id.hash(&mut hasher);
        for arg in &read.args {
            if let Value::String(text) = arg {
                text.hash(&mut hasher);
            }
        }
        let mut place = hasher.finish();
        while let Some((have, _)) = self.by_read.get(&place)
            && (have.fact.id != read.fact.id || have.args != read.args)
        {
            place = place.wrapping_add(1);
        }
        place
    }
}

/// Sums of facts, by fact and arguments.
#[derive(Debug, Default)]
pub(crate) struct DomainSums {
    known: Mutex<Known>,
    /// What all that is known holds.
    bytes: AtomicUsize,
}

impl DomainSums {
    /// The sums of a fact of domains, for the pod of the cycle, which is always the same.
    pub(super) fn of_domain(
        &self,
        pod: &Pod,
        cluster: &Cluster,
        addend: Addend,
        read: &Read,
    ) -> Result<Arc<Sums>, Answer> {
        if let Some(Summed::OfDomain(sums)) = self.find(cluster, read) {
            return Ok(sums);
        }
        let sums = Arc::new(Sums::of(pod, cluster, addend, &read.args)?);
        self.keep(read, Summed::OfDomain(Arc::clone(&sums)), arc_bytes(&sums));
        Ok(sums)
    }

    /// What a fact of the domain is on one node.
    pub(super) fn on_node(
        &self,
        pod: &Pod,
        cluster: &Cluster,
        addend: Addend,
        read: &Read,
        slot: NodeSlot,
    ) -> Answer {
        match self.of_domain(pod, cluster, addend, read) {
            Ok(sums) => sums.at(&sums.domains(cluster), slot.index()),
            // What cannot be summed is not asked of a node without the domain.
            Err(answer) => match read.args.first() {
                Some(Value::String(key)) if cluster.nodes().domains(key).id(slot) == ABSENT => {
                    Answer::Absent
                }
                _ => answer,
            },
        }
    }

    /// What a fact of the cluster is; `answer` works it out.
    pub(super) fn of_cluster(
        &self,
        cluster: &Cluster,
        read: &Read,
        answer: impl FnOnce() -> Answer,
    ) -> Answer {
        if let Some(Summed::OfCluster(answer)) = self.find(cluster, read) {
            return answer;
        }
        let answer = answer();
        let bytes = answer.heap_bytes();
        self.keep(read, Summed::OfCluster(answer.clone()), bytes);
        answer
    }

    /// What is kept beyond the call that asked.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn find(&self, cluster: &Cluster, read: &Read) -> Option<Summed> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Some(cluster.generation());
        if known.generation != now {
            *known = Known { generation: now, by_read: FxHashMap::default() };
            self.bytes.store(0, Ordering::Relaxed);
        }
        known.by_read.get(&known.place(read)).map(|(_, summed)| summed.clone())
    }

    /// Only after `find`, which says of which generation it is.
    fn keep(&self, read: &Read, summed: Summed, bytes: usize) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.place(read);
        // Another thread may have been quicker.
        if known.by_read.contains_key(&place) {
            return;
        }
        // Facts without arguments are no more than the catalogue has.
        if known.by_read.len() < FACTS_MAX || read.args.is_empty() {
            let read = read.clone();
            let before = table_bytes(&known.by_read);
            let bytes = bytes + read.heap_bytes();
            known.by_read.insert(place, (read, summed));
            let grown = table_bytes(&known.by_read) - before;
            self.bytes.fetch_add(bytes + grown, Ordering::Relaxed);
        }
    }
}

/// What is known is counted apart, as it grows: see [`DomainSums::bytes`].
impl HeapBytes for DomainSums {
    fn heap_bytes(&self) -> usize {
        0
    }
}
