//! A decision in two calls, for callers that ask extenders in between: first the nodes that pass,
//! then the choice among the nodes that were kept.
//!
//! Uses the same code as `schedule`. The cluster may change between the calls: the second one
//! judges every node again and chooses only among kept nodes that still pass.

use std::sync::Arc;

use crate::api::{Decision, Filtered, KeptNode, RefusedNode, Stopwatch, Verdict};
use crate::cycle::{Extended, Watched};
use crate::judging::{EXTENDER, NodeRejection};
use crate::preemption::Trimmed;
use crate::rules::{Code, Rejection, Status};
use crate::timing::Tally;

use super::Engine;
use super::schedule::with_times;

/// Extenders score from 0 to 10, rules from 0 to 100.
const EXTENDER_SCALE: i64 = 10;
const CHANGED: &str = "the cluster changed while extenders were asked";

impl Engine {
    /// Which of these extended resources each pod requests, in any of its containers: what decides
    /// who is asked about it. None of a pod that is not there.
    pub fn requested(&self, uids: &[Arc<str>], resources: &[String]) -> Vec<Vec<String>> {
        let of_pod = |uid: &Arc<str>| {
            let Some(entry) = self.cluster.pods().get(uid) else { return Vec::new() };
            let scalars = &entry.pod.requests().fit.scalars;
            let names =
                |wanted: &&String| scalars.iter().any(|(name, _)| ***name == *wanted.as_str());
            resources.iter().filter(names).cloned().collect()
        };
        uids.iter().map(of_pod).collect()
    }

    /// Nodes that pass every filter. Where no node passes, or the pod is not to be
    /// tried at all, [`Engine::choose`] says why. Nothing is assumed and nothing parked.
    pub fn filter(&mut self, uid: &Arc<str>, stopwatch: &dyn Stopwatch) -> Filtered {
        self.cluster.settle_order();
        let token = self.token();
        let Ok(ready) = self.ready(uid) else {
            return Filtered { token, ..Filtered::default() };
        };
        let (profile, question) =
            (ready.profile, ready.question(&self.program, self.tie(), &self.threads));
        let (cluster, nodes) = (&self.cluster, self.cluster.nodes());
        let tally = self.timings.tally(self.decisions, profile, stopwatch);
        let watched = Watched { stopwatch, meter: tally.as_ref().map(Tally::meter) };
        let filtered = self.cycle.filter(question, cluster, watched);
        if let Some(tally) = &tally {
            self.timings.add_rules(profile, tally);
        }
        self.timings.add_stages(profile, &filtered.lasted);
        let name = |slot| nodes.view(slot).map(|view| Arc::clone(&view.node.name));
        let feasible = filtered.outcome.into_iter().filter_map(name).collect();
        Filtered { token, feasible }
    }

    /// Decides and assumes, among the kept nodes. If none of them passes any more and something
    /// changed since `token`, the verdict is [`Verdict::Stale`]: filter again. Otherwise, without a
    /// kept node that passes, the pod is parked, and any event may wake it.
    pub fn choose(
        &mut self,
        uid: &Arc<str>,
        token: u64,
        kept: &[KeptNode],
        refused: &[RefusedNode],
        stopwatch: &dyn Stopwatch,
    ) -> Decision {
        let decision =
            self.second_step(uid, None, stopwatch, |engine| engine.extended(token, kept, refused));
        self.ended(uid, decision)
    }

    /// `trimmed`: what extenders left of the candidates, where they were asked.
    pub(super) fn second_step(
        &mut self,
        uid: &Arc<str>,
        trimmed: Option<&Trimmed>,
        stopwatch: &dyn Stopwatch,
        extended: impl FnOnce(&Self) -> Extended,
    ) -> Decision {
        self.cluster.settle_order();
        if self.cluster.nodes().is_empty() {
            return self.decide(uid, stopwatch);
        }
        self.parked.remove(uid);
        let ready = match self.admitted(uid) {
            Ok(ready) => ready,
            Err(not_ready) => return self.kept_out(not_ready),
        };
        let extended = extended(self);
        let (pod, profile) = (&ready.pod, ready.profile);
        let question = ready.question(&self.program, self.tie(), &self.threads);
        let tally = self.timings.tally(self.decisions, profile, stopwatch);
        let watched = Watched { stopwatch, meter: tally.as_ref().map(Tally::meter) };
        let timed = self.cycle.choose(question, &self.cluster, watched, &extended, trimmed);
        if let Some(tally) = &tally {
            self.timings.add_rules(profile, tally);
        }
        match timed.outcome {
            Some(outcome) => {
                self.decisions += 1;
                self.timings.add_stages(profile, &timed.lasted.of_second_step());
                with_times(self.carried_out(pod, profile, &outcome), &timed.lasted)
            }
            None => {
                let mut decision = self.decision(pod, Verdict::Stale);
                decision.message = CHANGED.into();
                decision
            }
        }
    }

    /// Changes with everything that a decision rests on, and never comes back.
    pub(super) fn token(&self) -> u64 {
        self.cluster.generation().number() + self.loads
    }

    pub(super) fn extended(
        &self,
        token: u64,
        kept: &[KeptNode],
        refused: &[RefusedNode],
    ) -> Extended {
        let find = |name: &str| self.cluster.nodes().find(name);
        let added =
            |kept: &KeptNode| Some((find(&kept.node)?, kept.score.saturating_mul(EXTENDER_SCALE)));
        let rejection = |refused: &RefusedNode| {
            let rejection = match refused.is_unresolvable {
                true => Rejection::Unresolvable,
                false => Rejection::Unschedulable,
            };
            let status =
                Status { rejection, reasons: vec![refused.reason.clone().into()], fault: None };
            let slot = find(&refused.node)?;
            Some(NodeRejection {
                slot,
                filter: EXTENDER,
                code: Code::reject(1),
                status: Some(Arc::new(status)),
            })
        };
        Extended {
            kept: kept.iter().filter_map(added).collect(),
            refused: refused.iter().filter_map(rejection).collect(),
            is_stale: token != self.token(),
        }
    }
}
