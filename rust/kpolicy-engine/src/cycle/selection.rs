//! The last stages of a decision: scores the feasible nodes and chooses one.

use crate::judging::choose;
use crate::snapshot::NodeSlot;
use crate::timing::{Meter, Point, StatusCode};

use super::run::{Found, Run};

impl<M: Meter> Run<'_, M> {
    /// Scores a few nodes and chooses; there is at least one. `added` goes on top of their totals.
    pub(super) fn choose_among(&mut self, slots: &[NodeSlot], added: &[i64]) -> Found {
        let (profile, cluster) = (self.profile, self.cluster);
        let is_scored = slots.len() > 1;
        self.shape.follow_scores(self.context(), self.stores);
        self.end_pre_score(is_scored);
        let totals = self.shape.totals_of_only(slots, self.context(), self.stores);
        let failure = is_scored.then(|| self.shape.score_failure(profile, self.stores));
        if let Some(why) = failure.flatten() {
            return self.not_scored(why);
        }
        let added = added.iter().copied().chain(std::iter::repeat(0));
        let plus = |(total, added): (i32, i64)| added.saturating_add(i64::from(total));
        let totals: Vec<i64> = totals.into_iter().zip(added).map(plus).collect();
        let chosen = choose(slots, &totals, self.question.tie, cluster);
        self.end_score(is_scored);
        match chosen {
            Some((slot, total)) => Found::Chosen { slot, total, feasible: slots.len() },
            None => Found::Failed("no node could be chosen".to_owned().into()),
        }
    }

    pub(super) fn choose_among_all(&mut self) -> Found {
        let (profile, cluster) = (self.profile, self.cluster);
        let is_scored = self.shape.feasible().count > 1;
        self.shape.follow_scores(self.context(), self.stores);
        self.end_pre_score(is_scored);
        self.shape.update_totals(self.context(), self.stores);
        let failure = is_scored.then(|| self.shape.score_failure(profile, self.stores));
        if let Some(why) = failure.flatten() {
            return self.not_scored(why);
        }
        let chosen = self.shape.totals().best_node(self.question.tie, cluster);
        self.end_score(is_scored);
        match chosen {
            Some((slot, total)) => Found::Chosen {
                slot,
                total: i64::from(total),
                feasible: self.shape.feasible().count,
            },
            None => Found::Failed("no node could be chosen".to_owned().into()),
        }
    }

    fn end_pre_score(&mut self, is_scored: bool) {
        match is_scored {
            true => self.stages.end(Point::PreScore, StatusCode::Success),
            false => self.stages.end_unnamed_score(),
        }
    }

    /// kube-scheduler does not score a single feasible node.
    fn end_score(&mut self, is_scored: bool) {
        match is_scored {
            true => self.stages.end(Point::Score, StatusCode::Success),
            false => self.stages.end_unnamed_score(),
        }
    }

    /// A rule could not be made ready to score.
    fn not_scored(&mut self, why: String) -> Found {
        self.stages.end(Point::PreScore, StatusCode::Error);
        Found::Failed(why.into())
    }
}
