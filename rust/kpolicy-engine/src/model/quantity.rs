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

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn rounding_is_up_towards_positive_infinity() {
        assert_eq!(Quantity::from_nanos(1).units_rounded_up(), 1);
        assert_eq!(Quantity::from_nanos(-1).units_rounded_up(), 0);
        assert_eq!(Quantity::from_nanos(1_500_000).millis_rounded_up(), 2);
        assert_eq!(Quantity::from_nanos(i128::MAX).units_rounded_up(), i64::MAX);
    }
}
