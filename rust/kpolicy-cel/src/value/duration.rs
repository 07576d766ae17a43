//! Durations: nanoseconds that fit an `i64`, as in Go, about 292 years either way.

use std::fmt::Write as _;

const NANOS: i128 = 1_000_000_000;

/// A span of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Duration {
    nanos: i64,
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { nanos: 0 };

    /// The duration of so many nanoseconds, unless it is out of range.
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        i64::try_from(nanos).ok().map(|nanos| Self { nanos })
    }

    /// The duration in nanoseconds.
    pub fn nanos(self) -> i128 {
        i128::from(self.nanos)
    }

    /// Seconds, rounded as Go does it: the fraction by itself.
    #[expect(clippy::cast_precision_loss)]
    pub(crate) fn approximate_seconds(self) -> f64 {
        (self.nanos / 1_000_000_000) as f64 + (self.nanos % 1_000_000_000) as f64 / 1e9
    }

    /// Reads Go's form: `1h15m30.5s`, `-300ms`.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Some(Self::ZERO);
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (digits, tail) = rest.split_at(number);
            let unit = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit);
            total = total.checked_add(part(digits, unit_nanos(unit)?)?)?;
            rest = tail;
        }
        Self::from_nanos(if negative { -total } else { total })
    }

    /// The canonical form of protobuf: seconds with a fraction, `90.5s`.
    pub fn text(self) -> String {
        let magnitude = i128::from(self.nanos.unsigned_abs());
        let mut text = String::from(if self.nanos < 0 { "-" } else { "" });
        let _ = write!(text, "{}", magnitude / NANOS);
        if magnitude % NANOS != 0 {
            let fraction = format!("{:09}", magnitude % NANOS);
            let _ = write!(text, ".{}", fraction.trim_end_matches('0'));
        }
        text.push('s');
        text
    }
}

fn unit_nanos(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS,
        "m" => 60 * NANOS,
        "h" => 3600 * NANOS,
        _ => return None,
    })
}

/// `digits` (with at most one point) times `unit`, truncated to nanoseconds. The fraction is
/// multiplied as a double, as Go does it.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn part(digits: &str, unit: i128) -> Option<i128> {
    const DIGITS_MAX: usize = 20;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.get(..).filter(|w| w.len() <= DIGITS_MAX)?.parse().ok()?
    };
    let mut scale: f64 = 1.0;
    let mut value: u64 = 0;
    for digit in fraction.bytes() {
        // Further figures do not fit, and change nothing.
        let more = value.checked_mul(10).and_then(|ten| ten.checked_add(u64::from(digit - b'0')));
        let Some(more) = more.filter(|more| *more <= 1 << 63) else { break };
        value = more;
        scale *= 10.0;
    }
    let nanos = (value as f64 * (unit as f64 / scale)) as i128;
    whole.checked_mul(unit)?.checked_add(nanos)
}
