//! Which pods are explained, and in which order. Pods that every rule answers alike share their
//! judgement.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::cycle;
use crate::explain::{self, Detail, Explaining, Lines};
use crate::rules::decision_work::DecisionWork;
use crate::rules::{dynamic_resources, priority_sort, scheduling_gates};
use crate::snapshot::{Pod, PodEntry};

use super::Engine;

impl Engine {
    /// JSON lines: what `kpolicy explain` prints of these pods (`namespace/name`), or of every
    /// pending pod that a profile serves, in queue order. A pod on a node is judged as if it were
    /// pending, and not there.
    pub fn explain(&mut self, pods: Option<&[String]>) -> Vec<u8> {
        self.explained(self.asked(pods), Detail::Decision)
    }

    /// As `explain`, with the outcome of every part of an expression.
    pub fn explain_parts(&mut self, pods: Option<&[String]>) -> Vec<u8> {
        self.explained(self.asked(pods), Detail::Parts)
    }

    /// As `explain`, of the pods with these uids, but only with the lines of these nodes, and counts of
    /// all. Nobody looks for victims.
    pub fn explain_nodes(&mut self, uids: Option<&[String]>, nodes: &[String]) -> Vec<u8> {
        let named: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
        let pods = match uids {
            Some(uids) => {
                let known = uids.iter().filter_map(|uid| self.cluster.pods().get(uid));
                in_queue_order(known.cloned().collect())
            }
            None => self.asked(None),
        };
        self.explained(pods, Detail::Nodes(&named))
    }

    fn explained(&mut self, pods: Vec<PodEntry>, detail: Detail<'_>) -> Vec<u8> {
        self.cluster.settle_names();
        let tie = self.tie();
        let mut lines = Lines::default();
        for entry in pods {
            let lifted = self.cluster.lift(&entry.pod.uid);
            let is_placed = lifted.is_some();
            let pod = if is_placed { Arc::new(entry.pod.unplaced()) } else { entry.pod };
            let alike = if is_placed { None } else { self.alike(&pod, detail) };
            let (program, cluster, threads) = (&self.program, &self.cluster, &*self.threads);
            let work = Explaining { program, cluster, tie, threads, detail };
            lines.add(&pod, alike, || explain::explained(&pod, work));
            if let Some(lifted) = lifted {
                self.cluster.put_back(lifted);
            }
        }
        lines.into_bytes()
    }

    /// The pods of these names, or all that are pending.
    pub(super) fn asked(&self, pods: Option<&[String]>) -> Vec<PodEntry> {
        let keys: Option<BTreeSet<(&str, &str)>> = pods
            .map(|keys| keys.iter().map(|key| key.split_once('/').unwrap_or(("", key))).collect());
        // Of most pods the name alone says that they are not asked about.
        let names: FxHashSet<&str> = keys.iter().flatten().map(|(_, name)| *name).collect();
        in_queue_order(self.cluster.pods().found(|entry| match &keys {
            Some(keys) => {
                names.contains(&*entry.pod.name)
                    && keys.contains(&(&***entry.pod.namespace(), &*entry.pod.name))
            }
            None => entry.node().is_none(),
        }))
    }

    /// What the line of a pending pod rests on besides the cluster; `None` if it may rest on more.
    /// The search for victims also reads the pod's priority and policy.
    pub(super) fn alike(&self, pod: &Pod, detail: Detail<'_>) -> Option<Vec<u64>> {
        if detail == Detail::Parts
            || !self.cluster.nominations().is_empty()
            || scheduling_gates::gate(pod).is_some()
            // Claims that would be made are named after their pod.
            || dynamic_resources::is_concerned(pod)
            // Others of its template are asked beside what its tenant has with it.
            || self.cluster.usage().is_some_and(|usage| usage.is_let_go(&pod.uid))
        {
            return None;
        }
        let position = self.program.profile_of(pod)?;
        let profile = self.program.profiles.get(position)?;
        let mut key = cycle::key_of(position, profile, pod, &self.cluster);
        key.push(DecisionWork::of(pod, &self.cluster).entries());
        key.push(u64::from(pod.priority().cast_unsigned()));
        key.push(u64::from(pod.template.never_preempts));
        Some(key)
    }
}

/// In the order in which they would be decided, each once.
pub(super) fn in_queue_order(mut pods: Vec<PodEntry>) -> Vec<PodEntry> {
    pods.sort_by(|left, right| {
        let order = priority_sort::order(&left.pod).cmp(&priority_sort::order(&right.pod));
        order.then_with(|| left.pod.uid.cmp(&right.pod.uid))
    });
    pods.dedup_by(|left, right| left.pod.uid == right.pod.uid);
    pods
}
