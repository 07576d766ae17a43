//! Kubernetes quantities: exact decimals with a suffix, with their arithmetic and order.
//!
//! The amount is exact up to 10^29. Besides it, a quantity remembers how the API would hold it: as a
//! 64-bit number with decimal places, or as a larger decimal. Whether it counts as an integer rests
//! on that.

use std::cmp::Ordering;

use super::quantity_text::{Scanned, scanned};

/// The most decimal places kept, as the API does (nano).
pub(super) const PLACES: i32 = 9;
pub(super) const SCALE: i128 = 1_000_000_000;
/// The largest magnitude of a quantity with a binary suffix, and of one that becomes a resource.
pub(super) const MAX_UNITS: i128 = i64::MAX as i128;

/// A number of billionths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quantity {
    pub(super) nanos: i128,
    /// Decimal places of the form in which the API holds it; negative for trailing zeros left out.
    pub(super) places: i32,
    /// Whether the API holds it in 64 bits.
    pub(super) is_small: bool,
}

impl Quantity {
    /// A whole number of units.
    pub fn from_int(units: i64) -> Self {
        Self { nanos: i128::from(units) * SCALE, places: 0, is_small: true }
    }

    /// Reads `500m`, `2Gi`, `1.5e3`; rounded up to nano as the API does.
    pub fn parse(text: &str) -> Option<Self> {
        scanned(text).and_then(Scanned::quantity)
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i64 {
        i64::try_from(self.nanos.signum()).unwrap_or(0)
    }

    /// The order by amount.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }

    /// The whole number it is, if the API holds it as one. It does not reduce: `1000m` is none, and
    /// neither is `1Pi`, which it holds as a larger decimal.
    pub fn integer(&self) -> Option<i64> {
        if !self.is_small || self.places > 0 {
            return None;
        }
        i64::try_from(self.nanos / SCALE).ok()
    }

    /// Units, rounded up; at most those that a resource may have.
    pub fn units_ceil(&self) -> Option<i64> {
        i64::try_from(ceil_div(self.bounded(), SCALE)).ok()
    }

    /// Thousandths, rounded up.
    pub fn milli_ceil(&self) -> Option<i64> {
        i64::try_from(ceil_div(self.bounded(), SCALE / 1000)).ok()
    }

    fn bounded(&self) -> i128 {
        self.nanos.clamp(-MAX_UNITS * SCALE, MAX_UNITS * SCALE)
    }

    /// A near double: the figures times a power of ten, as the API does it.
    #[expect(clippy::cast_precision_loss)]
    pub fn approximate(&self) -> f64 {
        match self.figures() {
            Some(figures) if self.places == 0 => figures as f64,
            Some(figures) => figures as f64 * 10_f64.powi(-self.places),
            None => self.nanos as f64 / SCALE as f64,
        }
    }

    /// The amount without its decimal places.
    fn figures(&self) -> Option<i128> {
        let power = u32::try_from(PLACES.checked_sub(self.places)?).ok()?;
        Some(self.nanos / 10_i128.checked_pow(power)?)
    }

    /// The sum, unless it is out of range.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        let nanos = self.nanos.checked_add(other.nanos)?;
        if !self.is_small || !other.is_small {
            return Some(Self::large(nanos, self.places.max(other.places)));
        }
        if other.nanos == 0 {
            return Some(*self);
        }
        if self.nanos == 0 {
            return Some(*other);
        }
        let sum = Self { nanos, places: self.places.max(other.places), is_small: true };
        let fits = |amount: &Self| {
            let figures = Self { places: sum.places, ..*amount }.figures();
            figures.is_some_and(|figures| i64::try_from(figures).is_ok())
        };
        let is_small = [self, other, &sum].into_iter().all(fits);
        Some(Self { is_small, ..sum })
    }

    /// The difference, unless it is out of range.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(&Self { nanos: other.nanos.checked_neg()?, ..*other })
    }

    pub(super) const fn large(nanos: i128, places: i32) -> Self {
        Self { nanos, places, is_small: false }
    }

    /// A decimal that reads back as the same amount.
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
