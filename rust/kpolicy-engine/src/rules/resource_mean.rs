//! The resource priorities of the legacy policy: a score for each resource, and their weighted mean.
//!
//! Shared by `LeastRequestedPriority`, `MostRequestedPriority` and the capacity ratio of
//! kube-scheduler 1.0 to 1.22. Specification: CPU and memory count with defaults; every resource of
//! the list takes part, one that the node lacks too; each step truncates. Today's scoring by
//! resources (`resource_scoring`) leaves out what a node lacks.

use crate::heap::HeapBytes;
use crate::intern::Shared;
use crate::resources::{Amounts, Requests, names};
use crate::snapshot::{Cluster, NodeParts, NodeView, Pod};

use super::resource_scoring::{WeightedResource, on_shape};
use super::{HeldBytes, Key, PreparedScore, Reads, Score, scale};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// The more is left, the better.
    Least,
    /// The less is left, the better; beyond what there is, nothing or, since 1.21, as at its end.
    Most { is_capped: bool },
    /// By a shape: points of (utilization 0–100, score 0–100), utilization rising.
    Ratio { points: Box<[(i64, i64)]>, is_plain_mean: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceMean {
    form: Form,
    resources: Box<[WeightedResource]>,
    score_max: i64,
}

#[derive(Debug)]
struct PreparedResourceMean {
    rule: ResourceMean,
    requests: Shared<Requests>,
}

const UTILIZATION_MAX: i64 = 100;
const SCORE_MAX: i64 = 100;
const SCORE_MAX_TENTHS: i64 = 10;
/// The last release in which resources of a ratio had no weights.
const UNWEIGHTED_MINOR_LAST: i64 = 15;
/// The first release that capped what is requested.
const CAPPED_MINOR_FIRST: i64 = 21;

impl ResourceMean {
    pub(crate) fn new(form: Form, resources: Box<[WeightedResource]>) -> Self {
        Self { form, resources, score_max: SCORE_MAX }
    }

    fn score(&self, has: i64, carries: i64) -> i64 {
        match &self.form {
            Form::Least if has == 0 || carries > has => 0,
            Form::Least => self.share(has - carries, has),
            Form::Most { .. } if has == 0 => 0,
            Form::Most { is_capped } if carries > has => i64::from(*is_capped) * self.score_max,
            Form::Most { .. } => self.share(carries, has),
            Form::Ratio { points, .. } => {
                let utilization = if has == 0 || carries > has {
                    UTILIZATION_MAX
                } else {
                    UTILIZATION_MAX - proportion(has - carries, has, UTILIZATION_MAX)
                };
                on_shape(points, utilization)
            }
        }
    }

    fn share(&self, of: i64, whole: i64) -> i64 {
        proportion(of, whole, self.score_max)
    }

    /// Of scores and weights.
    fn mean(&self, scores: impl Iterator<Item = (i64, i64)>) -> i64 {
        let is_ratio = matches!(self.form, Form::Ratio { is_plain_mean: false, .. });
        // kube-scheduler leaves scores of 0 out of the mean of a ratio, and rounds the mean.
        let counted = scores.filter(|(score, _)| !is_ratio || *score > 0);
        let (sum, weights) = counted.fold((0_i64, 0_i64), |(sum, weights), (score, weight)| {
            (sum + score * weight, weights + weight)
        });
        match weights {
            0 => 0,
            _ if is_ratio => (2 * sum + weights) / (2 * weights),
            _ => sum / weights,
        }
    }
}

/// `of` as a part of `whole`, in `parts`, truncated.
fn proportion(of: i64, whole: i64, parts: i64) -> i64 {
    let share = i128::from(of) * i128::from(parts) / i128::from(whole);
    i64::try_from(share).unwrap_or(i64::MAX)
}

impl Score for ResourceMean {
    fn key(&self, pod: &Pod, key: &mut Key) {
        key.push(pod.template.requests.id());
    }

    fn prepare(&self, pod: &Pod, _: &Cluster) -> Option<Box<dyn PreparedScore>> {
        let requests = pod.template.requests.clone();
        Some(Box::new(PreparedResourceMean { rule: self.clone(), requests }))
    }

    fn score_as(&mut self, minor: i64) -> bool {
        let is_in_tenths = minor <= scale::MINOR_LAST;
        if is_in_tenths {
            self.score_max = SCORE_MAX_TENTHS;
        }
        match &mut self.form {
            Form::Least => {}
            Form::Most { is_capped } => *is_capped = minor >= CAPPED_MINOR_FIRST,
            Form::Ratio { points, is_plain_mean } => {
                *is_plain_mean = minor <= UNWEIGHTED_MINOR_LAST;
                if is_in_tenths {
                    points.iter_mut().for_each(|(_, score)| *score /= SCORE_MAX / SCORE_MAX_TENTHS);
                }
            }
        }
        true
    }
}

impl PreparedResourceMean {
    /// What the node has, and what it would carry.
    fn read(&self, name: &str, node: NodeView<'_>) -> (i64, i64) {
        let (has, load): (&Amounts, _) = (&node.node.allocatable.amounts, node.load);
        let carries = match name {
            names::CPU => load.requested_nonzero.cpu_milli,
            names::MEMORY => load.requested_nonzero.memory,
            other => load.requested.get(other),
        };
        (has.get(name), carries.saturating_add(self.requests.scored.get(name)))
    }
}

impl PreparedScore for PreparedResourceMean {
    fn reads(&self) -> Reads {
        Reads::parts(NodeParts::ALLOCATABLE).and_load()
    }

    #[allow(clippy::cast_precision_loss)] // 0 to 100
    fn raw(&self, _: &Cluster, node: NodeView<'_>) -> f64 {
        let scores = self.rule.resources.iter().map(|resource| {
            let (has, carries) = self.read(&resource.name, node);
            (self.rule.score(has, carries), resource.weight)
        });
        self.rule.mean(scores) as f64
    }

    fn held_bytes(&self) -> HeldBytes {
        HeldBytes::Fixed(size_of_val(self) + self.rule.heap_bytes())
    }
}

impl HeapBytes for ResourceMean {
    fn heap_bytes(&self) -> usize {
        let points = match &self.form {
            Form::Ratio { points, .. } => points.heap_bytes(),
            Form::Least | Form::Most { .. } => 0,
        };
        points + self.resources.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, ResourceMean};
    use crate::rules::Score;

    fn mean(form: Form) -> ResourceMean {
        ResourceMean::new(form, [].into())
    }

    #[test]
    fn each_resource_scores_by_what_is_left_or_carried() {
        let least = mean(Form::Least);
        assert_eq!(least.score(4000, 1500), 62);
        assert_eq!((least.score(100, 101), least.score(0, 0)), (0, 0));
        let mut most = mean(Form::Most { is_capped: false });
        assert_eq!((most.score(4000, 1500), most.score(0, 5), most.score(100, 101)), (37, 0, 0));
        assert!(most.score_as(21));
        assert_eq!(most.score(100, 101), 100, "capped since 1.21");
    }

    #[test]
    fn a_shape_is_read_at_what_is_used() {
        let points: Box<[(i64, i64)]> = [(0, 0), (50, 70)].into();
        let ratio = mean(Form::Ratio { points, is_plain_mean: false });
        // A third left of 300 is 33 %, so 67 % are used.
        assert_eq!(ratio.score(300, 201), 70);
        assert_eq!(ratio.score(300, 100), 47, "two thirds left is 66 %, so 34 % are used");
        assert_eq!((ratio.score(0, 0), ratio.score(1, 2)), (70, 70), "as if all were used");
        assert_eq!(ratio.mean([(70, 3), (0, 5), (31, 1)].into_iter()), 60, "(210 + 31) / 4");
        assert_eq!(ratio.mean([(0, 3)].into_iter()), 0);
        assert_eq!(ratio.mean([(1, 1), (2, 1)].into_iter()), 2, "half is rounded up");
    }

    #[test]
    fn old_releases_score_from_0_to_10_and_truncate_at_each_step() {
        let mut least = mean(Form::Least);
        assert!(least.score_as(16));
        assert_eq!((least.score(100, 85), least.score(100, 75)), (1, 2));
        assert_eq!(least.mean([(1, 1), (2, 1)].into_iter()), 1);
        let points: Box<[(i64, i64)]> = [(0, 100), (100, 0)].into();
        let mut ratio = mean(Form::Ratio { points, is_plain_mean: false });
        assert!(ratio.score_as(15));
        assert_eq!(ratio.score(100, 34), 7, "10 - 10 * 34 / 100");
        assert_eq!(ratio.mean([(7, 1), (0, 1)].into_iter()), 3, "(7 + 0) div 2 up to 1.15");
        let mut later = mean(Form::Ratio { points: [(0, 100)].into(), is_plain_mean: false });
        assert!(later.score_as(18));
        assert_eq!(later.score(100, 34), 100);
    }
}
