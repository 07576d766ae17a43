//! Scores from 0 to 10, as releases up to 1.16 gave them.
//!
//! Owns bringing a rule of today to that scale. Truncating at a hundred and then at ten is the same as
//! truncating at ten; where a share is taken from the maximum, the outcome is rounded up instead.
//! Assumes a rule that truncates once; those that truncate more often know the scale themselves
//! ([`Score::score_as`]).

use crate::model::Kind;
use crate::snapshot::{Changes, Cluster, NodeView, Pod};

use super::{Fault, Feasible, Fitted, Key, Normalization, PreparedScore, Reads, Refresh, Score};

/// The last release with scores of 0 to 10.
pub const MINOR_LAST: i64 = 16;

const PARTS: i64 = 10;

#[derive(Debug)]
pub struct Tenths {
    pub rule: Box<dyn Score>,
}

#[derive(Debug)]
struct Prepared {
    rule: Box<dyn PreparedScore>,
}

impl Score for Tenths {
    fn key(&self, pod: &Pod, key: &mut Key) {
        self.rule.key(pod, key);
    }

    fn prepare(&self, pod: &Pod, cluster: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let rule = self.rule.prepare(pod, cluster)?;
        Some(Box::new(Prepared { rule }))
    }

    fn kinds(&self) -> &'static [Kind] {
        self.rule.kinds()
    }
}

impl PreparedScore for Prepared {
    fn reads(&self) -> Reads {
        self.rule.reads()
    }

    fn refresh(&mut self, changes: Changes<'_>, cluster: &Cluster) -> Refresh {
        self.rule.refresh(changes, cluster)
    }

    fn worth_asking_all(&self, nodes: usize) -> usize {
        self.rule.worth_asking_all(nodes)
    }

    fn reads_feasible(&self) -> bool {
        self.rule.reads_feasible()
    }

    fn see_feasible(&mut self, cluster: &Cluster, feasible: Feasible<'_>) {
        self.rule.see_feasible(cluster, feasible);
    }

    fn is_skipped(&self) -> bool {
        self.rule.is_skipped()
    }

    fn problem(&self) -> Option<&str> {
        self.rule.problem()
    }

    fn raw(&self, cluster: &Cluster, node: NodeView<'_>) -> f64 {
        self.rule.raw(cluster, node)
    }

    fn fault(&self, cluster: &Cluster, node: NodeView<'_>) -> Option<Fault> {
        self.rule.fault(cluster, node)
    }

    fn raw_all(&self, cluster: &Cluster, raw: &mut [f64]) {
        self.rule.raw_all(cluster, raw);
    }

    fn normalization(&self) -> &Normalization {
        &Normalization::Whole
    }

    fn normalize_all(
        &self,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        let normalization = self.rule.normalization();
        if *normalization == Normalization::Whole {
            self.rule.normalize_all(cluster, feasible, raw, normalized);
        } else {
            let shown = raw.iter().zip(feasible.mask).filter(|(_, is_shown)| **is_shown);
            let fitted = Fitted::over(shown.map(|(raw, _)| *raw));
            for (cell, raw) in normalized.iter_mut().zip(raw) {
                *cell = normalization.apply(&fitted, *raw);
            }
        }
        let rest = if *normalization == Normalization::HighestReversed { PARTS - 1 } else { 0 };
        normalized.iter_mut().for_each(|score| *score = (*score + rest) / PARTS);
    }
}

#[cfg(test)]
mod tests {
    use super::Tenths;
    use crate::rules::pod_topology_spread::testing::{cluster, pod, row, scores};
    use crate::rules::{Key, Normalization, PreparedScore, Reads, Score};
    use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

    /// Scores a node by the label `score`.
    #[derive(Debug, Clone)]
    struct ByLabel(Normalization);

    impl Score for ByLabel {
        fn key(&self, _: &Pod, _: &mut Key) {}

        fn prepare(&self, _: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
            Some(Box::new(self.clone()))
        }
    }

    impl PreparedScore for ByLabel {
        fn reads(&self) -> Reads {
            Reads::parts(NodeParts::LABELS)
        }

        fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
            node.node.object.meta.labels.get("score").map_or(0.0, |text| text.parse().unwrap())
        }

        fn normalization(&self) -> &Normalization {
            &self.0
        }
    }

    fn of(normalization: Normalization) -> Vec<i64> {
        let nodes =
            [("n1", "score=0"), ("n2", "score=33"), ("n3", "score=99"), ("n4", "score=500")];
        let mut cluster = cluster(&nodes, &[]);
        let new = row(&mut cluster, pod("new", "", ""));
        let rule = Tenths { rule: Box::new(ByLabel(normalization)) };
        let mut prepared = rule.prepare(&new, &cluster).unwrap();
        let found = scores(prepared.as_mut(), &cluster, |name| name != "n4");
        found.into_iter().map(|(_, score)| score).collect()
    }

    #[test]
    fn hundredths_become_tenths() {
        assert_eq!(of(Normalization::AsIs), [0, 3, 9]);
        // 10 * 33 div 99, and 10 less that.
        assert_eq!(of(Normalization::Highest), [0, 3, 10]);
        assert_eq!(of(Normalization::HighestReversed), [10, 7, 0]);
        assert_eq!(of(Normalization::Range), [0, 3, 10]);
    }
}
