//! Reads the text of a quantity, with the leniency of the API: `m` and `+` are zero.

use super::quantity::{MAX_UNITS, PLACES, Quantity, SCALE};

/// The figures of a 64-bit number, at least.
const SMALL_FIGURES: usize = 18;
/// An exponent beyond it is beyond every limit.
const EXPONENT_MAX: i64 = 1_000;
/// The largest amount that is exact.
const MAX_NANOS: i128 = i128::MAX / 2;

/// The parts of a text.
pub(super) struct Scanned<'a> {
    is_negative: bool,
    /// The figures before the point, without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    has_figures: bool,
    suffix: Suffix,
}

#[derive(Clone, Copy)]
enum Suffix {
    Decimal(i32),
    Binary(u32),
}

pub(super) fn scanned(text: &str) -> Option<Scanned<'_>> {
    let (is_negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, rest) = figures(rest);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), figures);
    Some(Scanned {
        is_negative,
        whole: whole.trim_start_matches('0'),
        fraction,
        has_figures: !whole.is_empty() || !fraction.is_empty(),
        suffix: suffix(rest)?,
    })
}

fn figures(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn suffix(text: &str) -> Option<Suffix> {
    Some(match text {
        "" => Suffix::Decimal(0),
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(10),
        "Mi" => Suffix::Binary(20),
        "Gi" => Suffix::Binary(30),
        "Ti" => Suffix::Binary(40),
        "Pi" => Suffix::Binary(50),
        "Ei" => Suffix::Binary(60),
        _ => {
            let power: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
            Suffix::Decimal(i32::try_from(power.clamp(-EXPONENT_MAX, EXPONENT_MAX)).ok()?)
        }
    })
}

impl Scanned<'_> {
    pub(super) fn quantity(self) -> Option<Quantity> {
        let figures = format!("{}{}", self.whole, self.fraction);
        let places = i32::try_from(self.fraction.len()).ok()?;
        let small = if self.is_small(places) { self.small(&figures, places) } else { None };
        let quantity = match small {
            Some(small) => small,
            None => self.large(&figures, places)?,
        };
        let nanos = if self.is_negative { -quantity.nanos } else { quantity.nanos };
        Some(Quantity { nanos, ..quantity })
    }

    /// Whether the API tries to hold it in 64 bits.
    fn is_small(&self, places: i32) -> bool {
        let whole = self.whole.len().max(1);
        match self.suffix {
            Suffix::Decimal(exponent) => {
                whole + self.fraction.len() <= SMALL_FIGURES && exponent - places >= -PLACES
            }
            // The figures of a power of two, estimated as the API does.
            Suffix::Binary(exponent) => {
                places == 0 && whole + usize::try_from(exponent * 3 / 10).unwrap_or(0) < 15
            }
        }
    }

    fn small(&self, figures: &str, places: i32) -> Option<Quantity> {
        let value: i64 = if figures.is_empty() { 0 } else { figures.parse().ok()? };
        let (value, places) = match self.suffix {
            Suffix::Decimal(exponent) => (i128::from(value), places - exponent),
            Suffix::Binary(exponent) => (i128::from(value) << exponent, 0),
        };
        i64::try_from(value).ok()?;
        Some(Quantity { nanos: scaled(value, PLACES - places), places, is_small: true })
    }

    /// Rounded up to nano; with a binary suffix at most what a resource may have.
    fn large(&self, figures: &str, places: i32) -> Option<Quantity> {
        if !self.has_figures {
            return None;
        }
        let figures = figures.trim_start_matches('0');
        let (factor, exponent) = match self.suffix {
            Suffix::Decimal(exponent) => (1, exponent),
            Suffix::Binary(exponent) => (1_i128 << exponent, 0),
        };
        let places = places - exponent;
        if figures.is_empty() {
            return Some(Quantity::large(0, places));
        }
        let nanos = multiplied(figures, factor, PLACES - places);
        let most = match self.suffix {
            Suffix::Decimal(_) => MAX_NANOS,
            Suffix::Binary(_) => MAX_UNITS * SCALE,
        };
        Some(Quantity::large(nanos.min(most), PLACES))
    }
}

/// `value` × 10^power, or the largest amount.
fn scaled(value: i128, power: i32) -> i128 {
    if value == 0 {
        return 0;
    }
    let ten = u32::try_from(power).ok().and_then(|power| 10_i128.checked_pow(power));
    ten.and_then(|ten| value.checked_mul(ten)).map_or(MAX_NANOS, |nanos| nanos.min(MAX_NANOS))
}

/// `figures` × `factor` × 10^power, rounded up; or the largest amount.
fn multiplied(figures: &str, factor: i128, power: i32) -> i128 {
    let mut digits: Vec<u8> = figures.bytes().map(|figure| figure - b'0').collect();
    if power > 0 {
        // Beyond the limit the number of zeros does not matter.
        digits.extend(std::iter::repeat_n(0, usize::try_from(power).unwrap_or(0).min(64)));
    }
    // The part behind the point is multiplied too, so that what it carries over is exact.
    let behind = usize::try_from(-power).unwrap_or(0);
    let kept = digits.len().saturating_sub(behind);
    let (mut carry, mut is_exact) = (0_i128, true);
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        carry += i128::from(*digit) * factor;
        *digit = u8::try_from(carry % 10).unwrap_or(0);
        carry /= 10;
        is_exact &= at < kept || *digit == 0;
    }
    // Places between the point and the first figure take figures of what was carried.
    for _ in digits.len()..behind {
        is_exact &= carry % 10 == 0;
        carry /= 10;
    }
    let amount = digits.iter().take(kept).try_fold(carry, |amount, digit| {
        amount.checked_mul(10).and_then(|ten| ten.checked_add(i128::from(*digit)))
    });
    amount.map_or(MAX_NANOS, |amount| (amount + i128::from(!is_exact)).min(MAX_NANOS))
}
