//! Preemption in two calls, for callers that ask extenders in between: first the candidates, then
//! the choice among those that are left.
//!
//! Uses the same code as preemption in one call. The second call also finds the pods that the
//! extenders name.

use std::sync::Arc;

use crate::api::{
    CandidateNode, Candidates, Decision, KeptNode, Located, RefusedNode, RemainingCandidate,
    RemainingCandidates, Stopwatch,
};
use crate::cycle::post_filter::victim;
use crate::preemption::{Candidate, Trimmed};
use crate::snapshot::Pod;

use super::Engine;

impl Engine {
    /// Nodes on which room can be made for a pod that none of the kept nodes will have. None where
    /// [`Engine::choose`] is to be called instead: it says what becomes of the pod. Nothing comes of it.
    pub fn candidates(
        &mut self,
        uid: &Arc<str>,
        token: u64,
        kept: &[KeptNode],
        refused: &[RefusedNode],
    ) -> Candidates {
        self.cluster.settle_order();
        let now = self.token();
        let Ok(ready) = self.ready(uid) else {
            return Candidates { token: now, ..Candidates::default() };
        };
        let extended = self.extended(token, kept, refused);
        let question = ready.question(&self.program, self.tie(), &self.threads);
        let found = self.cycle.candidates(question, &self.cluster, &extended);
        let described = |candidate: &Arc<Candidate>| CandidateNode {
            node: self.name_of(Some(candidate.slot)),
            victims: candidate.victims.iter().map(|pod| victim(pod, &self.cluster)).collect(),
            violations: candidate.violations,
        };
        Candidates { token: now, nodes: found.iter().map(described).collect() }
    }

    /// As [`Engine::choose`], but room is made only on nodes that are left of the candidates. Where
    /// none of them makes room any more and something changed, the verdict is
    /// [`crate::api::Verdict::Stale`].
    pub fn preempt(
        &mut self,
        uid: &Arc<str>,
        token: u64,
        kept: &[KeptNode],
        refused: &[RefusedNode],
        left: &RemainingCandidates,
        stopwatch: &dyn Stopwatch,
    ) -> Decision {
        self.cluster.settle_order();
        let trimmed = Trimmed {
            candidates: left
                .nodes
                .as_ref()
                .map(|nodes| nodes.iter().filter_map(|node| self.named(node)).collect()),
            failure: left.failure.clone(),
            is_stale: left
                .nodes
                .as_ref()
                .is_none_or(|nodes| !nodes.is_empty() && left.token != self.token()),
        };
        let extended = |engine: &Self| engine.extended(token, kept, refused);
        let decision = self.second_step(uid, Some(&trimmed), stopwatch, extended);
        self.ended(uid, decision)
    }

    /// The candidate that is meant, if all its victims are still there.
    fn named(&self, left: &RemainingCandidate) -> Option<Arc<Candidate>> {
        let slot = self.cluster.nodes().find(&left.node)?;
        let there = &self.cluster.nodes().view(slot)?.load.pods;
        let find = |uid: &Arc<str>| there.iter().find(|pod| pod.uid == *uid).cloned();
        let victims: Vec<Arc<Pod>> = left.victims.iter().map(find).collect::<Option<_>>()?;
        let violations = left.violations;
        (!victims.is_empty()).then(|| Arc::new(Candidate::new(slot, victims, violations)))
    }

    /// Those of these pods that are on nodes, and on which.
    pub fn located(&self, uids: &[Arc<str>]) -> Vec<Located> {
        let located = |uid: &Arc<str>| {
            let entry = self.cluster.pods().get(uid)?;
            Some(Located {
                uid: Arc::clone(uid),
                namespace: Arc::clone(entry.pod.namespace()),
                name: Arc::clone(&entry.pod.name),
                node: Arc::clone(entry.node()?),
            })
        };
        uids.iter().filter_map(located).collect()
    }
}
