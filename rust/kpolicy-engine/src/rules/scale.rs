//! Scales of scores: 0–100, or 0–10 as releases up to 1.16 gave them.
//!
//! Converts a score of today's rules to the older scale. Truncating at a hundred and then at ten is
//! the same as truncating at ten; where a share is taken from the maximum, the outcome is rounded
//! up instead. This holds for a rule that truncates once; rules that truncate more often know the
//! scale themselves ([`super::Score::score_as`]).

use crate::snapshot::Cluster;

use super::{Feasible, Fitted, Normalization, PreparedScore};

/// The last release with scores of 0 to 10.
pub(crate) const MINOR_LAST: i64 = 16;

const PARTS: i64 = 10;

/// The range of a rule's normalised scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// 0–100, as releases after 1.16 score.
    #[default]
    Hundred,
    /// 0–10, as releases up to 1.16 scored.
    Ten,
}

impl Scale {
    /// How raw scores of a rule become scores on this scale.
    pub(crate) fn normalization(self, prepared: &dyn PreparedScore) -> &Normalization {
        match self {
            Self::Hundred => prepared.normalization(),
            Self::Ten => &Normalization::Whole,
        }
    }

    /// As [`PreparedScore::normalize_all`], to this scale.
    pub(crate) fn normalize_all(
        self,
        prepared: &dyn PreparedScore,
        cluster: &Cluster,
        feasible: Feasible<'_>,
        raw: &[f64],
        normalized: &mut [i64],
    ) {
        let normalization = prepared.normalization();
        if self == Self::Hundred || *normalization == Normalization::Whole {
            prepared.normalize_all(cluster, feasible, raw, normalized);
        } else {
            let shown = raw.iter().zip(feasible.mask).filter(|(_, is_shown)| **is_shown);
            let fitted = Fitted::over(shown.map(|(raw, _)| *raw));
            for (cell, raw) in normalized.iter_mut().zip(raw) {
                *cell = normalization.apply(&fitted, *raw);
            }
        }
        if self == Self::Ten {
            let is_reversed = *normalization == Normalization::HighestReversed;
            let rest = if is_reversed { PARTS - 1 } else { 0 };
            normalized.iter_mut().for_each(|score| *score = (*score + rest) / PARTS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;
    use crate::rules::pod_topology_spread::testing::cluster;
    use crate::rules::{Feasible, HeldBytes, Normalization, PreparedScore, Reads};
    use crate::snapshot::{Cluster, NodeParts, NodeView};

    /// Scores a node by the label `score`.
    #[derive(Debug, Clone)]
    struct ByLabel(Normalization);

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

        fn held_bytes(&self) -> HeldBytes {
            HeldBytes::Fixed(size_of_val(self))
        }
    }

    /// The scores of n1, n2 and n3; n4 is not feasible.
    fn of(normalization: Normalization) -> Vec<i64> {
        let nodes =
            [("n1", "score=0"), ("n2", "score=33"), ("n3", "score=99"), ("n4", "score=500")];
        let cluster = cluster(&nodes, &[]);
        let rule = ByLabel(normalization);
        assert_eq!(Scale::Ten.normalization(&rule), &Normalization::Whole);
        let mut mask = vec![false; cluster.nodes().slots()];
        let mut raw = vec![0.0; mask.len()];
        rule.raw_all(&cluster, &mut raw);
        let slots = ["n1", "n2", "n3"].map(|name| cluster.nodes().find(name).unwrap().index());
        slots.iter().for_each(|slot| mask[*slot] = true);
        let mut normalized = vec![0; mask.len()];
        let feasible = Feasible { mask: &mask, count: slots.len() };
        Scale::Ten.normalize_all(&rule, &cluster, feasible, &raw, &mut normalized);
        slots.iter().map(|slot| normalized[*slot]).collect()
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
