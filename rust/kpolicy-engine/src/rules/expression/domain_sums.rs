//! Sums over domains and over the cluster, each worked out once for all nodes that a call asks.
//!
//! Owns what one call has summed up so far, by fact and arguments. Assumes that the cluster does not
//! change while it is held.

use std::cell::RefCell;
use std::sync::Arc;

use kpolicy_cel::{Answer, Bits, Column, Facts, Read, Value};

use crate::snapshot::domains::ABSENT;
use crate::snapshot::{Cluster, Domains, NodeSlot};

use super::facts::Addend;
use super::pod_facts::no_such_overload;
use super::world::ClusterWorld;

/// The most facts whose sums one call keeps; those beyond are summed up when they are asked for.
const FACTS_MAX: usize = 64;

/// The sums of one fact over the domains of a topology key, by the domain's id.
#[derive(Debug)]
pub(super) struct Sums {
    domains: Arc<Domains>,
    by_domain: Vec<i64>,
}

impl Sums {
    fn of(cluster: &Cluster, addend: Addend, args: &[Value]) -> Result<Self, Answer> {
        let Some((Value::String(key), args)) = args.split_first() else {
            return Err(no_such_overload());
        };
        let domains = cluster.nodes().domains(key);
        let values = (addend.by_slot)(cluster, args)?;
        let mut by_domain = vec![0_i64; domains.len()];
        for (id, value) in domains.ids().iter().zip(&values) {
            if let Some(sum) = by_domain.get_mut(*id as usize) {
                *sum = sum.saturating_add(*value);
            }
        }
        Ok(Self { domains, by_domain })
    }

    fn answer(&self, slot: NodeSlot) -> Answer {
        match self.domains.id(slot) {
            ABSENT => Answer::Absent,
            id => self.by_domain.get(id as usize).copied().unwrap_or(0).into(),
        }
    }

    /// Of all nodes; absent where a node lacks the topology key.
    pub(super) fn column(&self) -> Column<'static> {
        let ids = self.domains.ids();
        let sum = |id: &u32| self.by_domain.get(*id as usize).copied().unwrap_or(0);
        let values = Column::Int(ids.iter().map(sum).collect());
        let absent = Bits::of_slice(ids, |id| id == ABSENT);
        if absent.any() { Column::Sparse { column: Box::new(values), absent } } else { values }
    }
}

/// A fact that rests on many nodes, summed up.
#[derive(Debug, Clone)]
enum Summed {
    OfDomain(Arc<Sums>),
    OfCluster(Answer),
}

/// The sums of one call.
#[derive(Debug, Default)]
pub(super) struct DomainSums {
    known: RefCell<Vec<(Read, Summed)>>,
}

impl DomainSums {
    /// The sums of a fact of domains.
    pub(super) fn of_domain(
        &self,
        cluster: &Cluster,
        addend: Addend,
        read: &Read,
    ) -> Result<Arc<Sums>, Answer> {
        if let Some(Summed::OfDomain(sums)) = self.find(read) {
            return Ok(sums);
        }
        let sums = Arc::new(Sums::of(cluster, addend, &read.args)?);
        self.keep(read, Summed::OfDomain(Arc::clone(&sums)));
        Ok(sums)
    }

    /// What a fact of the domain is on one node.
    pub(super) fn on_node(
        &self,
        cluster: &Cluster,
        addend: Addend,
        read: &Read,
        slot: NodeSlot,
    ) -> Answer {
        match self.of_domain(cluster, addend, read) {
            Ok(sums) => sums.answer(slot),
            // What cannot be summed is not asked of a node without the domain.
            Err(answer) => match read.args.first() {
                Some(Value::String(key)) if cluster.nodes().domains(key).id(slot) == ABSENT => {
                    Answer::Absent
                }
                _ => answer,
            },
        }
    }

    /// What a fact of the cluster is.
    pub(super) fn of_cluster(&self, world: ClusterWorld<'_>, read: &Read) -> Answer {
        if let Some(Summed::OfCluster(answer)) = self.find(read) {
            return answer;
        }
        let answer = world.read(read);
        self.keep(read, Summed::OfCluster(answer.clone()));
        answer
    }

    fn find(&self, read: &Read) -> Option<Summed> {
        let known = self.known.borrow();
        let is_same =
            |(have, _): &&(Read, Summed)| have.fact == read.fact && have.args == read.args;
        known.iter().find(is_same).map(|(_, summed)| summed.clone())
    }

    fn keep(&self, read: &Read, summed: Summed) {
        let mut known = self.known.borrow_mut();
        if known.len() < FACTS_MAX {
            known.push((read.clone(), summed));
        }
    }
}
