//! Hands out pods in the order of the policy, and keeps back those that it holds.

use std::sync::Arc;

use crate::api::{Decision, Entered, NextPods, Verdict};

use super::Engine;

impl Engine {
    /// Whether the program says who is tried next. Otherwise nobody is to ask.
    pub fn orders_queue(&self) -> bool {
        self.program.queue.is_some()
    }

    /// Whether the program holds pods: then the pods that rest are to be told too.
    pub fn holds_pods(&self) -> bool {
        self.program.queue.as_ref().is_some_and(|queue| queue.has_holds)
    }

    /// The pods to try next, at most `limit`, after who came or changed and who left. Each counts as its
    /// tenant's from now on, until it has a node or something is decided about it. `queue_now_ns` is of
    /// the clock of `entered`.
    pub fn next_pods(
        &mut self,
        entered: Vec<Entered>,
        left: &[Arc<str>],
        limit: usize,
        (now_ns, queue_now_ns): (i64, i64),
    ) -> NextPods {
        self.cluster.progress().beat();
        self.set_time(now_ns);
        self.waiting.follow(entered, left, &self.program, &mut self.cluster);
        let next = self.waiting.next(limit, queue_now_ns, &self.program, &mut self.cluster);
        for held in &next.held {
            // From now on nothing but the end of the hold lets it be tried.
            self.parked.remove(&held.uid);
        }
        next
    }

    /// A decision about a pod that the queue handed out, unless the pod is to be filtered again.
    pub(super) fn ended(&mut self, uid: &str, decision: Decision) -> Decision {
        if decision.verdict != Verdict::Stale {
            self.cluster.came_back(uid);
        }
        decision
    }
}
