//! All measurements: a histogram for each profile's stages and for each rule by name. They outlive
//! programs: a rule of the same name continues the same histogram.

use std::sync::Arc;

use crate::api::Stopwatch;
use crate::program::Program;

use super::histogram::{Bounds, Histogram};
use super::meter::Tally;
use super::point::{Point, StatusCode};
use super::stages::Lasted;
use super::{NAMES_MAX, SAMPLED_OF};

/// As kube-scheduler's `framework_extension_point_duration_seconds`.
const STAGE_BOUNDS: Bounds<12> = Bounds::exponential(100_000, 2, 1);
/// As its `plugin_execution_duration_seconds`.
const RULE_BOUNDS: Bounds<20> = Bounds::exponential(10_000, 3, 2);

/// kube-scheduler's name of what makes room.
const PREEMPTION: &str = "DefaultPreemption";
/// What is added up of names beyond the bound.
const OTHER: &str = "other";

const STATUSES: usize = StatusCode::ALL.len();
const POINTS: usize = Point::ALL.len();

/// By point and status; made when first wanted.
#[derive(Debug)]
struct Named<const N: usize> {
    name: Arc<str>,
    histograms: [[Option<Box<Histogram<N>>>; STATUSES]; POINTS],
}

#[derive(Debug, Default)]
struct Table<const N: usize>(Vec<Named<N>>);

/// One histogram, to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// A rule's, or a profile's.
    pub name: Arc<str>,
    /// kube-scheduler's name of the extension point.
    pub point: &'static str,
    /// kube-scheduler's name of the status code.
    pub status: &'static str,
    /// By bucket, not cumulated; the last one is without a bound.
    pub counts: Vec<u64>,
    /// All observations together.
    pub sum_ns: u64,
}

/// Where the parts of a profile in force are in the tables.
#[derive(Debug, Default)]
struct Places {
    stages: usize,
    filters: Vec<usize>,
    scores: Vec<usize>,
    preemption: usize,
}

/// Histograms of how long stages and rules took.
#[derive(Debug, Default)]
pub struct Timings {
    stages: Table<12>,
    rules: Table<20>,
    /// By position of the profile.
    places: Vec<Places>,
}

impl Timings {
    /// From now on of this program.
    pub(crate) fn follow(&mut self, program: &Program) {
        self.places = program
            .profiles
            .iter()
            .map(|profile| Places {
                stages: self.stages.place(&profile.scheduler_name),
                filters: profile
                    .filters
                    .iter()
                    .map(|rule| self.rules.place(&profile.measured_as(&rule.name)))
                    .collect(),
                scores: profile
                    .scores
                    .iter()
                    .map(|rule| self.rules.place(&profile.measured_as(&rule.name)))
                    .collect(),
                preemption: self.rules.place(&Arc::from(PREEMPTION)),
            })
            .collect();
    }

    /// Room for what single rules take in the decision of this number, if that is looked at.
    pub(crate) fn tally<'a>(
        &self,
        decision: u64,
        profile: usize,
        stopwatch: &'a dyn Stopwatch,
    ) -> Option<Tally<'a>> {
        if !decision.is_multiple_of(SAMPLED_OF) {
            return None;
        }
        let places = self.places.get(profile)?;
        // Preemption is reported with the first.
        Some(Tally::new(stopwatch, places.filters.len().max(places.scores.len()).max(1)))
    }

    pub(crate) fn add_stages(&mut self, profile: usize, lasted: &Lasted) {
        let Some(places) = self.places.get(profile) else { return };
        for (point, ended) in lasted.each() {
            if let Some(histogram) = self.stages.at(places.stages, point, ended.status) {
                histogram.observe(&STAGE_BOUNDS, ended.took_ns, 1, ended.took_ns);
            }
        }
    }

    pub(crate) fn add_rules(&mut self, profile: usize, tally: &Tally<'_>) {
        let Some(places) = self.places.get(profile) else { return };
        for (position, of_rule) in tally.rules().iter().enumerate() {
            let asked = Point::ALL.into_iter().zip(of_rule).filter(|(_, spent)| spent.is_reported);
            for (point, spent) in asked {
                let count: u64 = spent.counts.iter().sum();
                let place = match point {
                    Point::PostFilter => Some(&places.preemption),
                    _ if point.is_of_scores() => places.scores.get(position),
                    _ => places.filters.get(position),
                };
                let (Some(place), true) = (place, count > 0) else { continue };
                let counts = StatusCode::ALL.into_iter().zip(spent.counts);
                for (status, times) in counts.filter(|(_, times)| *times > 0) {
                    if let Some(histogram) = self.rules.at(*place, point, status) {
                        let sum_ns = spent.took_ns.saturating_mul(times) / count;
                        histogram.observe(&RULE_BOUNDS, spent.took_ns / count, times, sum_ns);
                    }
                }
            }
        }
    }

    /// By profile.
    pub fn stages(&self) -> Vec<Series> {
        self.stages.series()
    }

    /// By rule.
    pub fn rules(&self) -> Vec<Series> {
        self.rules.series()
    }
}

impl<const N: usize> Table<N> {
    /// Where a name is; put there if it is new and there is room.
    fn place(&mut self, name: &Arc<str>) -> usize {
        let known = |name: &str| self.0.iter().position(|own| own.name.as_ref() == name);
        let other = || (self.0.len() >= NAMES_MAX).then_some(OTHER);
        if let Some(place) = known(name).or_else(|| known(other()?)) {
            return place;
        }
        let name = other().map_or_else(|| Arc::clone(name), Arc::from);
        self.0.push(Named { name, histograms: Default::default() });
        self.0.len() - 1
    }

    fn at(&mut self, place: usize, point: Point, status: StatusCode) -> Option<&mut Histogram<N>> {
        let own = self.0.get_mut(place)?;
        let histogram = own.histograms.get_mut(point as usize)?.get_mut(status as usize)?;
        Some(histogram.get_or_insert_default())
    }

    fn series(&self) -> Vec<Series> {
        let mut series = Vec::new();
        for own in &self.0 {
            for (point, by_status) in Point::ALL.into_iter().zip(&own.histograms) {
                for (status, histogram) in StatusCode::ALL.into_iter().zip(by_status) {
                    series.extend(histogram.as_ref().map(|histogram| Series {
                        name: Arc::clone(&own.name),
                        point: point.name(),
                        status: status.name(),
                        counts: histogram.counts(),
                        sum_ns: histogram.sum_ns(),
                    }));
                }
            }
        }
        series
    }
}
