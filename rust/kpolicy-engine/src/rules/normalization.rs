//! Normalizes raw scores to 0–100.
//!
//! Contains the methods whose result for a node follows from its raw score and the extremes over
//! the feasible nodes. Integer steps truncate as kube-scheduler's do. Raw scores are `f64`, which
//! is exact for every integer that a rule can reach.

use multiversion::multiversion;

use super::lanes::{add_each, held, integer_part, low_byte};

/// A raw score that takes no part in normalising: the node gets 0.
pub const IGNORED: f64 = f64::NEG_INFINITY;

pub(crate) const SCORE_MAX: i64 = 100;
pub(super) const SCORE_MAX_F: f64 = 100.0;

/// How raw scores of a rule become scores of 0–100.
#[derive(Debug, Clone, PartialEq)]
pub enum Normalization {
    /// Raw scores are within 0–100 already; what is not is clamped.
    AsIs,
    /// Raw scores are whole numbers from 0 to 100.
    Percentage,
    /// The largest raw score becomes 100 (kube-scheduler's default normalising).
    Highest,
    /// As `Highest`, then turned around: the largest becomes 0; all 100 where every one is 0.
    HighestReversed,
    /// The smallest becomes 0, the largest 100; all 0 where they are equal.
    Range,
    /// Topology spreading: the smaller the better, the largest keeps its share of the smallest.
    Spread,
    /// A straight line through two points; beyond them it is clamped.
    Linear {
        /// The raw score and the score of one point.
        from: (f64, f64),
        /// The raw score and the score of the other point.
        to: (f64, f64),
    },
    /// A line through points in order of x; level beyond its ends.
    Shape(Box<[(f64, f64)]>),
    /// For expressions: as `Highest`, but without truncating the raw scores first.
    Proportion {
        /// The largest raw score becomes 0, not 100.
        is_reversed: bool,
    },
    /// The rule does it itself, for all nodes at once.
    Whole,
}

/// A normalisation with the extremes of one cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Fitted {
    /// Where extremes do not matter.
    pub(crate) const NONE: Self = Self { lowest: 0.0, highest: 0.0 };
    /// The score of a rule that is not active.
    pub(crate) const SILENT: Self = Self { lowest: f64::INFINITY, highest: f64::INFINITY };

    /// From the raw scores of the feasible nodes, ignored ones left out.
    pub(crate) fn over(raw: impl Iterator<Item = f64>) -> Self {
        let mut fitted = Self { lowest: f64::INFINITY, highest: f64::NEG_INFINITY };
        for value in raw {
            if value != IGNORED {
                fitted.lowest = fitted.lowest.min(value);
                fitted.highest = fitted.highest.max(value);
            }
        }
        fitted
    }
}

impl Normalization {
    /// Whether the extremes matter.
    pub(crate) fn reads_extremes(&self) -> bool {
        match self {
            Self::AsIs | Self::Percentage | Self::Linear { .. } | Self::Shape(_) | Self::Whole => {
                false
            }
            Self::Highest
            | Self::HighestReversed
            | Self::Range
            | Self::Spread
            | Self::Proportion { .. } => true,
        }
    }

    /// The score of one node, 0–100.
    pub(crate) fn apply(&self, fitted: &Fitted, raw: f64) -> i64 {
        if raw == IGNORED {
            return 0;
        }
        match self {
            Self::AsIs | Self::Percentage | Self::Whole => clamped(raw),
            Self::Highest => highest(fitted, raw),
            Self::HighestReversed if whole(fitted.highest) <= 0 => SCORE_MAX,
            Self::HighestReversed => SCORE_MAX - highest(fitted, raw),
            Self::Range if fitted.highest > fitted.lowest => {
                clamped(SCORE_MAX_F * ((raw - fitted.lowest) / (fitted.highest - fitted.lowest)))
            }
            Self::Range => 0,
            Self::Spread => spread(fitted, raw),
            Self::Linear { from, to } => clamped(line((from.0, to.0), (from.1, to.1), raw)),
            Self::Shape(points) => clamped(shape(points, raw)),
            Self::Proportion { is_reversed } => proportion(fitted, raw, *is_reversed),
        }
    }
}

/// Below it, integers and a hundredfold of them are exact, and so is the integer part of a quotient
/// of two up to 100.
const EXACT_MAX: f64 = 35_184_372_088_832.0;

impl Normalization {
    /// Adds the weighted score of every node to its total. What it adds where a node is not feasible
    /// does not matter. Sums must stay within 32 bits.
    pub(crate) fn add_all(&self, fitted: &Fitted, weight: i32, raw: &[f64], totals: &mut [i32]) {
        let (lowest, highest) = (fitted.lowest, fitted.highest);
        let is_exact = lowest >= 0.0 && highest <= EXACT_MAX;
        match self {
            Self::AsIs | Self::Percentage => add_each(weight, raw, totals, |raw| raw),
            Self::Range if highest > lowest => {
                let span = highest - lowest;
                add_each(weight, raw, totals, |raw| SCORE_MAX_F * ((raw - lowest) / span));
            }
            // All nodes score 0.
            Self::Range => {}
            Self::Highest if highest < 1.0 => {}
            Self::HighestReversed | Self::Spread if highest < 1.0 => {
                add_each(weight, raw, totals, |_| SCORE_MAX_F);
            }
            Self::Highest if is_exact => {
                add_each(weight, raw, totals, |raw| SCORE_MAX_F * raw / highest);
            }
            Self::HighestReversed if is_exact => {
                let left = |raw: f64| SCORE_MAX_F - integer_part(SCORE_MAX_F * raw / highest);
                add_each(weight, raw, totals, left);
            }
            Self::Spread if is_exact => {
                let sum = highest + lowest;
                add_each(weight, raw, totals, |raw| SCORE_MAX_F * (sum - raw) / highest);
            }
            _ => {
                for (total, raw) in totals.iter_mut().zip(raw) {
                    let score = i32::try_from(self.apply(fitted, *raw)).unwrap_or(0);
                    *total = total.wrapping_add(weight.wrapping_mul(score));
                }
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // held within 0–100
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn as_they_are(raw: &[f64], scores: &mut [u8]) {
    for (score, raw) in scores.iter_mut().zip(raw) {
        *score = held(*raw, |raw| raw) as u8;
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn percentages(raw: &[f64], scores: &mut [u8]) {
    for (score, raw) in scores.iter_mut().zip(raw) {
        *score = low_byte(*raw);
    }
}

/// The scores of nodes whose rule normalises without looking at the others.
pub(crate) fn ready(normalization: &Normalization, raw: &[f64], scores: &mut [u8]) {
    match normalization {
        Normalization::AsIs => as_they_are(raw, scores),
        Normalization::Percentage => percentages(raw, scores),
        _ => {
            let of =
                |raw: &f64| u8::try_from(normalization.apply(&Fitted::NONE, *raw)).unwrap_or(0);
            scores.iter_mut().zip(raw).for_each(|(score, raw)| *score = of(raw));
        }
    }
}

/// Truncated toward zero and held within 0–100; not a number counts as 0.
#[allow(clippy::cast_possible_truncation)]
fn clamped(value: f64) -> i64 {
    value.clamp(0.0, SCORE_MAX_F) as i64
}

/// kube-scheduler's default normalization works on integers, and its maximum starts at 0.
#[allow(clippy::cast_possible_truncation)]
fn whole(value: f64) -> i64 {
    value as i64
}

fn highest(fitted: &Fitted, raw: f64) -> i64 {
    let (max, raw) = (whole(fitted.highest).max(0), whole(raw));
    if max == 0 { raw.clamp(0, SCORE_MAX) } else { SCORE_MAX * raw / max }
}

fn spread(fitted: &Fitted, raw: f64) -> i64 {
    let (max, min) = (whole(fitted.highest).max(0), whole(fitted.lowest));
    if max == 0 { SCORE_MAX } else { SCORE_MAX * (max + min - whole(raw)) / max }
}

fn proportion(fitted: &Fitted, raw: f64, is_reversed: bool) -> i64 {
    let share = if fitted.highest > 0.0 { SCORE_MAX_F * (raw / fitted.highest) } else { 0.0 };
    clamped(if is_reversed { SCORE_MAX_F - share.clamp(0.0, SCORE_MAX_F) } else { share })
}

fn line(from: (f64, f64), to: (f64, f64), at: f64) -> f64 {
    let (run, rise) = (to.0 - from.0, to.1 - from.1);
    let value = from.1 + rise * ((at - from.0) / run);
    value.clamp(from.1.min(to.1), from.1.max(to.1))
}

fn shape(points: &[(f64, f64)], at: f64) -> f64 {
    let after = points.partition_point(|(x, _)| *x < at);
    match (after.checked_sub(1).and_then(|before| points.get(before)), points.get(after)) {
        (Some(from), Some(to)) => line(*from, *to, at),
        (None, Some((_, y))) | (Some((_, y)), None) => *y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fitted, IGNORED, Normalization, ready};

    fn all(normalization: &Normalization, raw: &[f64]) -> Vec<i64> {
        let fitted = Fitted::over(raw.iter().copied());
        raw.iter().map(|value| normalization.apply(&fitted, *value)).collect()
    }

    #[test]
    fn worked_numbers_of_kube_scheduler() {
        assert_eq!(all(&Normalization::HighestReversed, &[0.0, 1.0, 3.0]), [100, 67, 0]);
        assert_eq!(all(&Normalization::HighestReversed, &[0.0, 0.0]), [100, 100]);
        assert_eq!(all(&Normalization::Highest, &[0.0, 10.0, 30.0]), [0, 33, 100]);
        assert_eq!(all(&Normalization::Highest, &[0.0, 0.0]), [0, 0]);
        assert_eq!(all(&Normalization::Spread, &[2.0, 4.0]), [100, 50]);
        assert_eq!(all(&Normalization::Spread, &[0.0, 0.0]), [100, 100]);
        assert_eq!(all(&Normalization::Range, &[-5.0, 0.0, 10.0]), [0, 33, 100]);
        assert_eq!(all(&Normalization::Range, &[7.0, 7.0]), [0, 0]);
    }

    #[test]
    fn all_at_once_is_the_same_as_one_by_one() {
        let raw = [0.0, 1.0, 2.0, 7.0, 33.0, 34.0, 99.0, 1e6, IGNORED, 3.0, 0.5];
        let linear = Normalization::Linear { from: (0.0, 8.0), to: (100.0, 0.0) };
        for normalization in [
            Normalization::AsIs,
            Normalization::Percentage,
            Normalization::Highest,
            Normalization::HighestReversed,
            Normalization::Range,
            Normalization::Spread,
            linear,
            Normalization::Proportion { is_reversed: true },
        ] {
            for shift in [0.0, -5.0] {
                let raw: Vec<f64> = raw.iter().map(|raw| (raw + shift).trunc()).collect();
                let fitted = Fitted::over(raw.iter().copied());
                let mut totals = vec![7; raw.len()];
                normalization.add_all(&fitted, 3, &raw, &mut totals);
                let one = |raw: &f64| 7 + 3 * normalization.apply(&fitted, *raw);
                let want: Vec<i64> = raw.iter().map(one).collect();
                let have: Vec<i64> = totals.into_iter().map(i64::from).collect();
                assert_eq!(have, want, "{normalization:?} {shift}");
            }
        }
    }

    #[test]
    fn percentages_are_kept_as_they_are() {
        let raw: Vec<f64> = (0..=100).map(f64::from).collect();
        let want: Vec<u8> = (0..=100).collect();
        for normalization in [Normalization::Percentage, Normalization::AsIs] {
            let mut scores = vec![7; raw.len()];
            ready(&normalization, &raw, &mut scores);
            assert_eq!(scores, want, "{normalization:?}");
        }
    }

    #[test]
    fn ignored_nodes_get_nothing_and_move_no_extreme() {
        assert_eq!(all(&Normalization::Spread, &[IGNORED, 2.0, 4.0]), [0, 100, 50]);
    }

    #[test]
    fn lines_and_shapes_are_level_beyond_their_ends() {
        let linear = Normalization::Linear { from: (0.0, 8.0), to: (0.0, 100.0) };
        assert_eq!(all(&linear, &[-1.0, 2.0, 8.0, 9.0]), [0, 25, 100, 100]);
        let falling = Normalization::Linear { from: (0.0, 8.0), to: (100.0, 0.0) };
        assert_eq!(all(&falling, &[-1.0, 2.0, 9.0]), [100, 75, 0]);
        let shape = Normalization::Shape([(40.0, 100.0), (70.0, 60.0), (90.0, 0.0)].into());
        assert_eq!(all(&shape, &[10.0, 40.0, 55.0, 80.0, 99.0]), [100, 100, 80, 30, 0]);
        assert_eq!(all(&Normalization::AsIs, &[-3.0, 0.9, 250.0, f64::NAN]), [0, 0, 100, 0]);
    }
}
