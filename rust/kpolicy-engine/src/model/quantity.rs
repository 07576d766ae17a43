//! Quantities: exact decimal numbers with the API's suffixes.
//!
//! Specification: Kubernetes API `Quantity`: decimal SI (`n u m "" k M G T P E`), binary (`Ki` …
//! `Ei`) and exponent (`e3`, `E3`) forms; the API server keeps at most nano precision, rounded up.

/// An exact amount in nano-units: 10⁻⁹ of the resource's unit.
///
/// 128 bits hold ±1.7·10²⁰ whole units at nano precision, above the API's cap of 2⁶³−1 units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

const NANOS_PER_UNIT: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// Of an amount in nano-units.
    pub fn from_nanos(nanos: i128) -> Self {
        Self { nanos }
    }

    /// Of an amount in whole units.
    pub fn from_units(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANOS_PER_UNIT }
    }

    /// The amount in nano-units.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Whole units, rounded up, held at the ends of 64 bits.
    pub fn units_rounded_up(self) -> i64 {
        held(rounded_up(self.nanos, NANOS_PER_UNIT))
    }

    /// Thousandths, rounded up, held at the ends of 64 bits.
    pub fn millis_rounded_up(self) -> i64 {
        held(rounded_up(self.nanos, NANOS_PER_MILLI))
    }

    /// The sum, held at the ends of 128 bits.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }
}

fn rounded_up(nanos: i128, per: i128) -> i128 {
    nanos.div_euclid(per) + i128::from(nanos.rem_euclid(per) != 0)
}

fn held(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// How the API writes a quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum QuantityFormat {
    /// With a decimal suffix.
    #[default]
    Decimal,
    /// With a binary suffix.
    Binary,
    /// With an exponent.
    Exponent,
}

/// A quantity with the form in which it is written again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct WrittenQuantity {
    /// How much.
    pub amount: Quantity,
    /// In which form.
    pub format: QuantityFormat,
}

const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const DECIMAL_EXPONENTS: [&str; 10] =
    ["e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18"];

impl WrittenQuantity {
    /// The canonical text: the largest suffix that leaves an integer. A binary amount below 1024 is
    /// written as a decimal.
    pub fn text(self) -> String {
        let nanos = self.amount.nanos;
        if nanos == 0 {
            return "0".to_owned();
        }
        let is_binary = self.format == QuantityFormat::Binary
            && nanos.unsigned_abs() >= 1024 * NANOS_PER_UNIT.unsigned_abs();
        if is_binary {
            let whole = rounded_up(nanos, NANOS_PER_UNIT);
            return scaled(whole, 1024, &BINARY_SUFFIXES);
        }
        let suffixes = match self.format {
            QuantityFormat::Exponent => &DECIMAL_EXPONENTS,
            QuantityFormat::Decimal | QuantityFormat::Binary => &DECIMAL_SUFFIXES,
        };
        scaled(nanos, 1000, suffixes)
    }
}

/// The number divided as often as it leaves no rest, with the suffix for that.
fn scaled(mut number: i128, by: i128, suffixes: &[&str]) -> String {
    let mut left = suffixes.iter();
    let mut suffix = left.next().copied().unwrap_or_default();
    while number % by == 0
        && let Some(next) = left.next()
    {
        number /= by;
        suffix = next;
    }
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::{Quantity, QuantityFormat, WrittenQuantity};

    #[test]
    fn amounts_are_written_in_their_form() {
        let text =
            |nanos, format| WrittenQuantity { amount: Quantity::from_nanos(nanos), format }.text();
        let gibi = 1_073_741_824_000_000_000;
        assert_eq!(text(80 * gibi, QuantityFormat::Binary), "80Gi");
        assert_eq!(text(gibi + 1_024_000_000_000, QuantityFormat::Binary), "1048577Ki");
        assert_eq!(text(500_000_000_000, QuantityFormat::Binary), "500");
        assert_eq!(text(1_500_000_000, QuantityFormat::Decimal), "1500m");
        assert_eq!(text(2_000_000_000_000, QuantityFormat::Decimal), "2k");
        assert_eq!(text(2_000_000_000_000, QuantityFormat::Exponent), "2e3");
        assert_eq!(text(0, QuantityFormat::Binary), "0");
    }

    #[test]
    fn rounding_is_up_towards_positive_infinity() {
        assert_eq!(Quantity::from_nanos(1).units_rounded_up(), 1);
        assert_eq!(Quantity::from_nanos(-1).units_rounded_up(), 0);
        assert_eq!(Quantity::from_nanos(1_500_000).millis_rounded_up(), 2);
        assert_eq!(Quantity::from_nanos(i128::MAX).units_rounded_up(), i64::MAX);
    }
}
