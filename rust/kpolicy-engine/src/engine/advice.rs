//! On which pods advice is given, and its lines. Pods of one template share theirs.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use crate::advice::{self, Advising};
use crate::explain::Detail;
use crate::snapshot::{Pod, PodEntry};

use super::Engine;
use super::explanations::in_queue_order;

/// The label by which pods belong to a group that others schedule together.
const GROUP_LABEL: &str = "scheduling.x-k8s.io/pod-group";

/// On which pods advice is wanted: on named ones, or on all pending ones of a namespace or a group.
#[derive(Debug, Clone, Default)]
pub struct AdviceAsked {
    /// `namespace/name` of each.
    pub pods: Option<Vec<String>>,
    /// Pods of this namespace only.
    pub namespace: Option<String>,
    /// Pods of this group only.
    pub group: Option<String>,
    /// On how many pods, alike ones counted once.
    pub limit: usize,
}

/// The advice on pods alike, or `None` beyond the limit.
struct Line {
    pods: Vec<String>,
    told: Option<Map<String, Value>>,
}

impl Engine {
    /// JSON lines, one for pods alike: `pods` with the advice on them, or with `leftOut` beyond the limit.
    /// Of a namespace or a group the first line counts its pods.
    pub fn advise(&mut self, asked: &AdviceAsked) -> Vec<u8> {
        self.cluster.settle_order();
        let (counts, pods) = match &asked.pods {
            Some(keys) => (None, self.asked(Some(keys))),
            None => self.members(asked),
        };
        let mut lines: Vec<Line> = Vec::new();
        let mut alike: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
        let mut told = 0;
        for entry in pods {
            let key = self.template_key(&entry);
            if let Some(line) = key.as_ref().and_then(|key| lines.get_mut(*alike.get(key)?)) {
                line.pods.push(entry.pod.key());
                continue;
            }
            let pods = vec![entry.pod.key()];
            let advice = if told < asked.limit {
                told += 1;
                let Some(advice) = self.advice_on(entry) else { continue };
                Some(advice)
            } else {
                None
            };
            key.and_then(|key| alike.insert(key, lines.len()));
            lines.push(Line { pods, told: advice });
        }
        let counts = counts.into_iter().map(|counts| counts.to_string());
        let lines = lines.into_iter().map(|Line { pods, told }| {
            let mut line = told.unwrap_or_else(|| {
                [("leftOut".to_owned(), Value::Bool(true))].into_iter().collect()
            });
            line.insert("pods".into(), pods.into());
            Value::from(line).to_string()
        });
        counts.chain(lines).flat_map(|line| [line.into_bytes(), b"\n".to_vec()].concat()).collect()
    }

    /// Advice on one pod, which is lifted off its node meanwhile.
    fn advice_on(&mut self, entry: PodEntry) -> Option<Map<String, Value>> {
        let tie = self.tie();
        let node = entry.node().cloned();
        let lifted = self.cluster.lift(&entry.pod.uid);
        let pod = if lifted.is_some() { Arc::new(entry.pod.unplaced()) } else { entry.pod };
        let threads = Arc::clone(&self.threads);
        let (program, cluster) = (&mut self.program, &mut self.cluster);
        let work = Advising { program, cluster, tie, threads: &threads };
        let advice = advice::advice(&pod, node.as_deref(), work);
        if let Some(lifted) = lifted {
            self.cluster.put_back(lifted);
        }
        advice
    }

    /// What pods have in common of which the advice is the same; `None` of pods that are on nodes.
    fn template_key(&self, entry: &PodEntry) -> Option<Vec<u64>> {
        if entry.node().is_some() {
            return None;
        }
        let mut key = self.alike(&entry.pod, Detail::Decision)?;
        key.push(entry.pod.template.id());
        Some(key)
    }

    /// The pending pods of a namespace or a group in queue order, and how many pods it has.
    fn members(&self, asked: &AdviceAsked) -> (Option<Value>, Vec<PodEntry>) {
        let is_member = |pod: &Pod| {
            asked.namespace.as_ref().is_none_or(|own| *own == ***pod.namespace())
                && asked.group.as_ref().is_none_or(|own| {
                    pod.template.pod_group.as_deref() == Some(own)
                        || pod.labels().get(GROUP_LABEL) == Some(own)
                })
        };
        let members = self.cluster.pods().found(|entry| is_member(&entry.pod));
        let all = members.len();
        let pending: Vec<PodEntry> =
            members.into_iter().filter(|entry| entry.node().is_none()).collect();
        let counts = json!({"counts": {"pods": all, "pending": pending.len()}});
        (Some(counts), in_queue_order(pending))
    }
}
