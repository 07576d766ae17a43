//! Compares the decisions of another engine with what this program would have decided, and adopts
//! them.
//!
//! Only judges: nothing is nominated and no pod is parked. The pod is assumed on the node that the
//! other engine chose, even if this program would reject it. The decisions of the other engine must
//! come in their order, between the same changes of the cluster.

use std::sync::Arc;

use crate::api::{Acted, Event, Labelled, Located, Object, Opinion, Verdict};
use crate::cycle::{CycleOutcome, UNWATCHED, nobody};
use crate::judging::Tie;
use crate::snapshot::NodeSlot;

use super::Engine;
use super::admission::{Ready, pending_pod};
use super::schedule::no_nodes;

impl Engine {
    /// One for each decision of the other, in order.
    pub fn second_opinions(&mut self, acted: &[Acted]) -> Vec<Opinion> {
        self.cluster.settle_order();
        acted.iter().map(|one| self.second_opinion(one)).collect()
    }

    /// The pod that an event shows on a node, where this engine has it pending: another scheduler
    /// placed it.
    pub fn placed_by_another(&self, event: &Event) -> Option<Located> {
        let Event::Present(Object::Pod(pod)) = event else { return None };
        let entry = self.cluster.pods().get(&pod.meta.uid)?;
        let is_new = !pod.node_name.is_empty() && entry.node().is_none();
        is_new.then(|| Located {
            uid: Arc::clone(&entry.pod.uid),
            namespace: Arc::clone(entry.pod.namespace()),
            name: Arc::clone(&entry.pod.name),
            node: pod.node_name.as_ref().into(),
        })
    }

    /// Those of these pods that are there, with what tells to which workload each belongs.
    pub fn labelled(&self, uids: &[Arc<str>]) -> Vec<Labelled> {
        let labelled = |uid: &Arc<str>| {
            let pod = &self.cluster.pods().get(uid)?.pod;
            let owner = pod.template.owner.as_ref();
            Some(Labelled {
                uid: Arc::clone(uid),
                namespace: Arc::clone(pod.namespace()),
                name: Arc::clone(&pod.name),
                controller: owner.map(|owner| owner.name.clone()).unwrap_or_default(),
                labels: pod.labels().clone(),
            })
        };
        uids.iter().filter_map(labelled).collect()
    }

    fn second_opinion(&mut self, acted: &Acted) -> Opinion {
        let slot = self.cluster.nodes().find(&acted.node);
        let ready = self.ready(&acted.uid);
        let opinion = match &ready {
            Ok(ready) => self.judged(ready, slot),
            Err(answer) => Opinion {
                verdict: answer.verdict,
                uid: Arc::clone(&acted.uid),
                node: Arc::clone(&self.empty),
                accepts: false,
            },
        };
        match (ready, slot) {
            (Ok(ready), Some(slot)) => {
                let reservations = self.reservations_on(&ready.pod, ready.profile, slot);
                self.place(&ready.pod, slot, reservations);
            }
            (Err(answer), Some(slot)) if pending_pod(&answer.uid, &self.cluster).is_some() => {
                self.cluster.assume(&acted.uid, slot, &[]);
            }
            _ => {}
        }
        opinion
    }

    fn judged(&mut self, ready: &Ready, acted: Option<NodeSlot>) -> Opinion {
        let tie = Tie { preferred: acted, ..self.tie() };
        let question = ready.question(&self.program, tie, &self.threads);
        self.decisions += 1;
        let outcome = match self.cluster.nodes().is_empty() {
            true => no_nodes(question, &self.cluster),
            false => self.cycle.decide(question, &self.cluster, UNWATCHED, nobody).outcome,
        };
        let (verdict, chosen) = match outcome {
            CycleOutcome::Chosen { slot, .. } => (Verdict::Placed, Some(slot)),
            CycleOutcome::Rejected(_) => (Verdict::Parked, None),
            CycleOutcome::Failed(failure) => (failure.verdict(), None),
        };
        let accepts = match acted {
            None => false,
            Some(_) if chosen.is_none() => false,
            Some(_) if chosen == acted => true,
            Some(slot) => self.cycle.accepts(question, &self.cluster, slot),
        };
        Opinion { verdict, uid: Arc::clone(&ready.pod.uid), node: self.name_of(chosen), accepts }
    }
}
