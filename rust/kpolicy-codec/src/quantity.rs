//! Quantities: text of the API to an exact amount.
//!
//! Specification: `Quantity` of apimachinery: sign, digits with an optional point, then a decimal
//! suffix (`n u m "" k M G T P E`), a binary one (`Ki` … `Ei`) or an exponent (`e3`, `E3`).
//! Anything below a nano is rounded away from zero. Amounts beyond ±(2⁶³−1) units are limited to
//! it: apimachinery limits binary forms in this way, and reads other forms beyond it as garbage.

use kpolicy_engine::model::Quantity;

const UNITS_MAX: u128 = i64::MAX.unsigned_abs() as u128;
const NANOS_PER_UNIT: u128 = 1_000_000_000;
const NANOS_MAX: u128 = UNITS_MAX * NANOS_PER_UNIT;
const NANO_DIGITS: i64 = 9;

/// Why a text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantityError {
    /// There is no text.
    Empty,
    /// What stands before the suffix is not a number.
    Number,
    /// What stands behind the number is neither a suffix nor an exponent.
    Suffix,
}

impl std::fmt::Display for QuantityError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "a quantity must not be empty",
            Self::Number => "a quantity starts with a number, for example 100m or 1.5Gi",
            Self::Suffix => {
                "a quantity ends with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent"
            }
        })
    }
}

/// The power by which a suffix multiplies.
#[derive(Clone, Copy)]
enum Scale {
    Ten(i64),
    Two(u32),
}

/// Reads an amount as the API server does.
pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)),
        Some(b'+') => (false, text.get(1..)),
        _ => (false, Some(text)),
    };
    let (whole, rest) = digits(rest.unwrap_or_default());
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(QuantityError::Number);
    }
    let nanos = match scale(suffix).ok_or(QuantityError::Suffix)? {
        Scale::Ten(exponent) => decimal(whole, fraction, exponent),
        Scale::Two(exponent) => binary(whole, fraction, exponent),
    };
    let held = i128::try_from(nanos.min(NANOS_MAX)).unwrap_or(i128::MAX);
    Ok(Quantity::from_nanos(if negative { -held } else { held }))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn scale(suffix: &str) -> Option<Scale> {
    Some(match suffix {
        "" => Scale::Ten(0),
        "n" => Scale::Ten(-9),
        "u" => Scale::Ten(-6),
        "m" => Scale::Ten(-3),
        "k" => Scale::Ten(3),
        "M" => Scale::Ten(6),
        "G" => Scale::Ten(9),
        "T" => Scale::Ten(12),
        "P" => Scale::Ten(15),
        "E" => Scale::Ten(18),
        "Ki" => Scale::Two(10),
        "Mi" => Scale::Two(20),
        "Gi" => Scale::Two(30),
        "Ti" => Scale::Two(40),
        "Pi" => Scale::Two(50),
        "Ei" => Scale::Two(60),
        _ => Scale::Ten(exponent(suffix.strip_prefix(['e', 'E'])?)?),
    })
}

/// A signed decimal integer; beyond 32 bits it is held, since no amount is that large or small.
fn exponent(text: &str) -> Option<i64> {
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if magnitude.is_empty() || !magnitude.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let held = i64::from(magnitude.parse::<i32>().unwrap_or(i32::MAX));
    Some(if negative { -held } else { held })
}

/// `whole.fraction × 10^exponent` in nanos: the point moves, and every digit left of it counts.
fn decimal(whole: &str, fraction: &str, exponent: i64) -> u128 {
    let whole = whole.trim_start_matches('0');
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(exponent);
    let kept = point.saturating_add(NANO_DIGITS);
    let mut nanos: u128 = 0;
    let mut place: i64 = 0;
    let mut is_rest = false;
    for digit in whole.bytes().chain(fraction.bytes()).map(value) {
        if place < kept {
            nanos = pushed(nanos, digit);
        } else {
            is_rest |= digit != 0;
        }
        place += 1;
    }
    if nanos != 0 {
        while place < kept && nanos < NANOS_MAX {
            nanos = pushed(nanos, 0);
            place += 1;
        }
    }
    nanos.saturating_add(u128::from(is_rest))
}

/// `whole.fraction × 2^exponent` in nanos.
fn binary(whole: &str, fraction: &str, exponent: u32) -> u128 {
    let unit = NANOS_PER_UNIT << exponent;
    let units = whole.bytes().fold(0, |units, digit| pushed(units, value(digit)));
    // From the last digit to the first: x = (digit · unit + x) / 10. Truncating at each step loses
    // only what `is_rest` remembers.
    let mut nanos: u128 = 0;
    let mut is_rest = false;
    for digit in fraction.bytes().rev().map(value) {
        let sum = digit * unit + nanos;
        nanos = sum / 10;
        is_rest |= !sum.is_multiple_of(10);
    }
    units.saturating_mul(unit).saturating_add(nanos).saturating_add(u128::from(is_rest))
}

fn value(digit: u8) -> u128 {
    u128::from(digit.wrapping_sub(b'0'))
}

/// Held just above the greatest amount, so that a million digits cost a million steps only.
fn pushed(amount: u128, digit: u128) -> u128 {
    if amount > NANOS_MAX { amount } else { amount * 10 + digit }
}

#[cfg(test)]
mod tests {
    use super::{QuantityError, parse};
    use kpolicy_engine::model::Quantity;

    const CAP_NANOS: i128 = i64::MAX as i128 * 1_000_000_000;

    fn nanos(text: &str) -> i128 {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).nanos()
    }

    #[test]
    fn every_form_is_exact() {
        let unit = 1_000_000_000;
        let cases: [(&str, i128); 34] = [
            ("0", 0),
            ("1", unit),
            ("+1", unit),
            ("-1", -unit),
            ("007", 7 * unit),
            ("100m", unit / 10),
            ("0.5", unit / 2),
            (".5", unit / 2),
            ("5.", 5 * unit),
            ("1.", unit),
            ("1n", 1),
            ("1u", 1_000),
            ("1500u", 1_500_000),
            ("1k", 1_000 * unit),
            ("1M", 1_000_000 * unit),
            ("1G", 1_000_000_000 * unit),
            ("1T", 1_000_000_000_000 * unit),
            ("1P", 1_000_000_000_000_000 * unit),
            ("1E", 1_000_000_000_000_000_000 * unit),
            ("1Ki", 1_024 * unit),
            ("1.5Gi", 1_610_612_736 * unit),
            ("0.1Ki", 102_400_000_000),
            ("1Ei", (1 << 60) * unit),
            ("1e3", 1_000 * unit),
            ("1E2", 100 * unit),
            ("1e+3", 1_000 * unit),
            ("1e-3", unit / 1_000),
            ("12.34e1", 123_400_000_000),
            ("0.000000001", 1),
            ("100e-2", unit),
            (" 2 ", 2 * unit),
            ("-0", 0),
            ("0e999999999999", 0),
            ("0.3Ki", 307_200_000_000),
        ];
        for (text, want) in cases {
            assert_eq!(nanos(text), want, "{text}");
        }
    }

    #[test]
    fn below_a_nano_rounds_away_from_zero() {
        assert_eq!(nanos("0.1n"), 1);
        assert_eq!(nanos("-0.1n"), -1);
        assert_eq!(nanos("1.0000000001"), 1_000_000_001);
        assert_eq!(nanos("1e-400"), 1);
        assert_eq!(nanos("1e-99999999999999999999"), 1);
        // 10⁻¹³ Ki is 1.024·10⁻¹⁰ units.
        assert_eq!(nanos("0.0000000000001Ki"), 1);
        assert_eq!(nanos("0.00000000000000000000000000000000000000000000000000001Ei"), 1);
    }

    #[test]
    fn beyond_the_cap_is_held() {
        for text in ["12E", "1e40", "9223372036854775808", "8Ei", "16Ei", "1e99999999999"] {
            assert_eq!(nanos(text), CAP_NANOS, "{text}");
            assert_eq!(nanos(&format!("-{text}")), -CAP_NANOS, "{text}");
        }
        assert_eq!(nanos("9223372036854775807"), CAP_NANOS);
        assert_eq!(nanos(&"9".repeat(1_000_000)), CAP_NANOS);
        assert_eq!(nanos("12E").rem_euclid(10), 0);
        assert_eq!(Quantity::from_nanos(nanos("12E")).units_rounded_up(), i64::MAX);
    }

    #[test]
    fn a_long_fraction_is_exact() {
        // One third of 2³⁰ to forty places: truncation must not lose what rounds up.
        let text = format!("0.{}Gi", "3".repeat(40));
        assert_eq!(nanos(&text), 357_913_941_333_333_334);
        let exact = format!("0.5{}Gi", "0".repeat(100));
        assert_eq!(nanos(&exact), 536_870_912_000_000_000);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        let cases = [
            ("", QuantityError::Empty),
            ("  ", QuantityError::Empty),
            ("m", QuantityError::Number),
            (".", QuantityError::Number),
            ("-", QuantityError::Number),
            ("--1", QuantityError::Number),
            ("Infinity", QuantityError::Number),
            ("1K", QuantityError::Suffix),
            ("1ki", QuantityError::Suffix),
            ("1e", QuantityError::Suffix),
            ("1e+", QuantityError::Suffix),
            ("1e1.5", QuantityError::Suffix),
            ("1 Gi", QuantityError::Suffix),
            ("1Gib", QuantityError::Suffix),
            ("1.2.3", QuantityError::Suffix),
            ("0x10", QuantityError::Suffix),
            ("1é", QuantityError::Suffix),
            ("1_000", QuantityError::Suffix),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text), Err(want), "{text}");
        }
    }
}
