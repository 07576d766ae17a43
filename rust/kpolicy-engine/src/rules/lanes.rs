//! Arithmetic over whole columns, written so that the processor works on several lanes at once.
//! Results are those of the plain formulas.

use super::normalization::{IGNORED, SCORE_MAX_F};

/// Adds the weighted integer part of a score, held within 0–100, to every total.
pub(super) fn add_each(weight: i32, raw: &[f64], totals: &mut [i32], score: impl Fn(f64) -> f64) {
    if weight == 1 {
        for (total, raw) in totals.iter_mut().zip(raw) {
            *total = total.wrapping_add(held(*raw, &score));
        }
    } else {
        for (total, raw) in totals.iter_mut().zip(raw) {
            *total = total.wrapping_add(weight.wrapping_mul(held(*raw, &score)));
        }
    }
}

/// Adding it to a number from 0 up to 2⁵¹ rounds that number to an integer, which then is the lowest
/// bits of the sum.
const TO_INTEGER: f64 = 4_503_599_627_370_496.0;

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
#[inline]
pub(super) fn held(raw: f64, score: impl Fn(f64) -> f64) -> i32 {
    let score = if raw == IGNORED { 0.0 } else { score(raw) };
    let score = if score > 0.0 { score } else { 0.0 };
    let score = if score < SCORE_MAX_F { score } else { SCORE_MAX_F };
    let rounded = score + TO_INTEGER;
    let whole = if rounded - TO_INTEGER > score { rounded - 1.0 } else { rounded };
    whole.to_bits() as u32 as i32
}

/// The integer part of a number from 0 up to 2⁵¹, in steps that run on several lanes at once.
#[inline]
pub(crate) fn integer_part(value: f64) -> f64 {
    let rounded = (value + TO_INTEGER) - TO_INTEGER;
    if rounded > value { rounded - 1.0 } else { rounded }
}

/// A whole number from 0 to 255.
#[allow(clippy::cast_possible_truncation)]
#[inline]
pub(super) fn low_byte(whole: f64) -> u8 {
    (whole + TO_INTEGER).to_bits() as u8
}

const LANES: usize = 8;

/// The least and the greatest of the chosen values, in steps that run on several lanes at once.
/// `LEAVES_IGNORED`: nodes that take no part in normalising are left out.
pub(crate) fn extremes<const LEAVES_IGNORED: bool>(values: &[f64], chosen: &[bool]) -> (f64, f64) {
    let (eights, values_left) = values.as_chunks::<LANES>();
    let (chosen_eights, chosen_left) = chosen.as_chunks::<LANES>();
    let mut lowest = [f64::INFINITY; LANES];
    let mut highest = [f64::NEG_INFINITY; LANES];
    let low = |value: f64| if LEAVES_IGNORED && value == IGNORED { f64::INFINITY } else { value };
    for (values, chosen) in eights.iter().zip(chosen_eights) {
        // Mostly all of them are chosen, or none.
        if *chosen == [true; LANES] {
            for lane in 0..LANES {
                let (value, low) = (values[lane], low(values[lane]));
                lowest[lane] = if low < lowest[lane] { low } else { lowest[lane] };
                highest[lane] = if value > highest[lane] { value } else { highest[lane] };
            }
        } else if *chosen != [false; LANES] {
            for lane in 0..LANES {
                if chosen[lane] {
                    lowest[lane] = lowest[lane].min(low(values[lane]));
                    highest[lane] = highest[lane].max(values[lane]);
                }
            }
        }
    }
    for (value, is_chosen) in values_left.iter().zip(chosen_left) {
        if *is_chosen {
            lowest[0] = lowest[0].min(low(*value));
            highest[0] = highest[0].max(*value);
        }
    }
    let least = lowest.into_iter().fold(f64::INFINITY, f64::min);
    (least, highest.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::{extremes, integer_part};
    use crate::rules::IGNORED;

    #[test]
    fn only_chosen_values_count() {
        let mut values: Vec<f64> = (0..21).map(f64::from).collect();
        values[3] = IGNORED;
        let chosen: Vec<bool> = (0..21).map(|index| index > 2 && index != 20).collect();
        assert_eq!(extremes::<true>(&values, &chosen), (4.0, 19.0));
        assert_eq!(extremes::<false>(&values, &chosen), (IGNORED, 19.0));
        assert_eq!(extremes::<true>(&[], &[]), (f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn the_integer_part_is_one() {
        for (value, whole) in [(0.0, 0.0), (0.999, 0.0), (1.0, 1.0), (62.5, 62.0), (99.51, 99.0)] {
            assert!((integer_part(value) - whole).abs() < f64::EPSILON, "{value}");
        }
    }
}
