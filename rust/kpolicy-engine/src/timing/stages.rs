//! The stages of one cycle: how long each took, and its outcome.

use crate::api::Stopwatch;

use super::point::{Point, StatusCode};

/// The time and outcome of one finished stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) status: StatusCode,
    pub(crate) took_ns: u64,
}

/// Time goes to the stage that ends next.
#[derive(Clone, Copy)]
pub(crate) struct Stages<'a> {
    stopwatch: &'a dyn Stopwatch,
    since_ns: u64,
    ended: Lasted,
}

/// What the stages lasted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lasted {
    pre_filter: Option<Ended>,
    filter: Option<Ended>,
    post_filter: Option<Ended>,
    pre_score: Option<Ended>,
    score: Option<Ended>,
    /// Choosing a node where there is no other: kube-scheduler has no name for that.
    unnamed_score_ns: u64,
}

impl<'a> Stages<'a> {
    pub(crate) fn begin(stopwatch: &'a dyn Stopwatch) -> Self {
        Self { stopwatch, since_ns: stopwatch.elapsed_ns(), ended: Lasted::default() }
    }

    pub(crate) fn stopwatch(&self) -> &'a dyn Stopwatch {
        self.stopwatch
    }

    fn lap_ns(&mut self) -> u64 {
        let now_ns = self.stopwatch.elapsed_ns();
        now_ns.saturating_sub(std::mem::replace(&mut self.since_ns, now_ns))
    }

    pub(crate) fn end(&mut self, point: Point, status: StatusCode) {
        let took_ns = self.lap_ns();
        self.ended.put(point, Ended { status, took_ns });
    }

    /// A stage within another.
    pub(crate) fn end_within(&mut self, point: Point, status: StatusCode, took_ns: u64) {
        self.ended.put(point, Ended { status, took_ns });
    }

    /// Scoring that kube-scheduler would not have done.
    pub(crate) fn end_unnamed_score(&mut self) {
        self.ended.unnamed_score_ns += self.lap_ns();
    }

    pub(crate) fn lasted(&self) -> Lasted {
        self.ended
    }
}

impl Lasted {
    fn put(&mut self, point: Point, ended: Ended) {
        let stage = match point {
            Point::PreFilter => &mut self.pre_filter,
            Point::Filter => &mut self.filter,
            Point::PostFilter => &mut self.post_filter,
            Point::PreScore => &mut self.pre_score,
            Point::Score | Point::Normalize => &mut self.score,
        };
        *stage = Some(ended);
    }

    /// Stages that were gone through.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Point, Ended)> {
        let stages = [
            (Point::PreFilter, self.pre_filter),
            (Point::Filter, self.filter),
            (Point::PostFilter, self.post_filter),
            (Point::PreScore, self.pre_score),
            (Point::Score, self.score),
        ];
        stages.into_iter().filter_map(|(point, ended)| Some((point, ended?)))
    }

    /// With what was done for it before: for the filters and for the scores. Without a score, it was done
    /// to filter.
    #[must_use]
    pub(crate) fn with(mut self, filter_ns: u64, score_ns: u64) -> Self {
        match self.score.as_mut().or(self.filter.as_mut()) {
            Some(ended) => ended.took_ns += score_ns,
            None => self.unnamed_score_ns += score_ns,
        }
        match self.filter.as_mut().or(self.pre_filter.as_mut()) {
            Some(ended) => ended.took_ns += filter_ns,
            None => self.unnamed_score_ns += filter_ns,
        }
        self
    }

    /// Without the stages that the first of two steps has reported.
    #[must_use]
    pub(crate) fn of_second_step(self) -> Self {
        Self { pre_filter: None, filter: None, ..self }
    }

    pub(crate) fn filter_ns(&self) -> u64 {
        took_ns(self.pre_filter) + took_ns(self.filter)
    }

    pub(crate) fn post_filter_ns(&self) -> u64 {
        took_ns(self.post_filter)
    }

    pub(crate) fn score_ns(&self) -> u64 {
        took_ns(self.pre_score) + took_ns(self.score) + self.unnamed_score_ns
    }
}

fn took_ns(ended: Option<Ended>) -> u64 {
    ended.map_or(0, |ended| ended.took_ns)
}
