//! Kubernetes quantities: exact decimals with a suffix, with their arithmetic and order.
//!
//! The limits are those of the API: at most 2^63 units before the point, nano after it.

use std::cmp::Ordering;

/// The most decimal places kept, as the API does (nano).
const PLACES: u32 = 9;
const SCALE: i128 = 1_000_000_000;
/// The largest magnitude the API stores.
const MAX_UNITS: i128 = i64::MAX as i128;

/// A number of billionths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quantity {
    nanos: i128,
}

impl Quantity {
    /// A whole number of units.
    pub fn from_int(units: i64) -> Self {
        Self { nanos: i128::from(units) * SCALE }
    }

    /// Reads `500m`, `2Gi`, `1.5e3`; capped and rounded up to nano as the API does.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let magnitude = scaled(whole, fraction, suffix)?;
        Some(Self { nanos: if negative { -magnitude } else { magnitude } })
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i64 {
        i64::try_from(self.nanos.signum()).unwrap_or(0)
    }

    /// The order by amount.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    /// The whole number it is, if it is one and fits.
    pub fn integer(&self) -> Option<i64> {
        (self.nanos % SCALE == 0).then(|| i64::try_from(self.nanos / SCALE).ok())?
    }

    /// Units, rounded up.
    pub fn units_ceil(&self) -> Option<i64> {
        i64::try_from(ceil_div(self.nanos, SCALE)).ok()
    }

    /// Thousandths, rounded up.
    pub fn milli_ceil(&self) -> Option<i64> {
        i64::try_from(ceil_div(self.nanos, SCALE / 1000)).ok()
    }

    /// The nearest double.
    #[expect(clippy::cast_precision_loss)]
    pub fn approximate(&self) -> f64 {
        self.nanos as f64 / SCALE as f64
    }

    /// The sum, unless it is out of range.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        self.nanos.checked_add(other.nanos).map(|nanos| Self { nanos })
    }

    /// The difference, unless it is out of range.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.nanos.checked_sub(other.nanos).map(|nanos| Self { nanos })
    }

    /// A decimal that reads back as the same quantity.
    pub fn text(&self) -> String {
        let magnitude = self.nanos.unsigned_abs();
        let scale = SCALE.unsigned_abs();
        let (whole, fraction) = (magnitude / scale, magnitude % scale);
        let sign = if self.nanos < 0 { "-" } else { "" };
        if fraction == 0 {
            return format!("{sign}{whole}");
        }
        let places = format!("{fraction:09}");
        format!("{sign}{whole}.{}", places.trim_end_matches('0'))
    }
}

fn ceil_div(value: i128, by: i128) -> i128 {
    value.div_euclid(by) + i128::from(value.rem_euclid(by) != 0)
}

/// Billionths of `whole.fraction` times the suffix, rounded up, capped.
fn scaled(whole: &str, fraction: &str, suffix: &str) -> Option<i128> {
    let (binary, exponent) = multiplier(suffix)?;
    let mut digits = whole.trim_start_matches('0').to_owned();
    digits.push_str(fraction);
    let power = i64::from(exponent) - i64::try_from(fraction.len()).ok()? + i64::from(PLACES);
    let cap = MAX_UNITS * SCALE;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    if i64::try_from(digits.len()).ok()? + power > 38 {
        return Some(cap);
    }
    let (value, lost) = shifted(digits, power)?;
    let value = value.checked_mul(binary).unwrap_or(cap);
    Some((value + i128::from(lost)).min(cap))
}

/// `digits` × 10^power as an integer, and whether anything was cut off.
fn shifted(digits: &str, power: i64) -> Option<(i128, bool)> {
    if power >= 0 {
        let ten = 10_i128.checked_pow(u32::try_from(power).ok()?)?;
        return Some((digits.parse::<i128>().ok()?.checked_mul(ten)?, false));
    }
    let drop = usize::try_from(-power).ok()?;
    if drop >= digits.len() {
        return Some((0, true));
    }
    let (kept, cut) = digits.split_at(digits.len() - drop);
    Some((kept.parse().ok()?, cut.bytes().any(|digit| digit != b'0')))
}

/// The suffix as a power of two times a power of ten.
fn multiplier(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let power = suffix.strip_prefix(['e', 'E'])?;
            let power: i32 = power.parse().ok()?;
            (1, power.clamp(-100, 100))
        }
    })
}
