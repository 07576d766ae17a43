//! A histogram of durations with fixed bounds, as Prometheus' `ExponentialBuckets` makes them.

/// Bounds in whole nanoseconds, rounded down: a duration has no fractions of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<const N: usize>([u64; N]);

impl<const N: usize> Bounds<N> {
    /// Each is `numerator` / `denominator` times the one before.
    pub(super) const fn exponential(first_ns: u64, numerator: u64, denominator: u64) -> Self {
        let mut bounds = [0; N];
        let (mut over, mut under) = (first_ns, 1);
        let mut index = 0;
        while index < N {
            bounds[index] = over / under;
            over *= numerator;
            under *= denominator;
            index += 1;
        }
        Self(bounds)
    }

    /// The first bucket that has room for a duration; `N` is the one without a bound.
    fn bucket(&self, each_ns: u64) -> usize {
        self.0.iter().take_while(|bound| each_ns > **bound).count()
    }
}

/// Not cumulated; the last bucket, without a bound, is `beyond`.
#[derive(Debug, Clone)]
pub(super) struct Histogram<const N: usize> {
    buckets: [u64; N],
    beyond: u64,
    sum_ns: u64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { buckets: [0; N], beyond: 0, sum_ns: 0 }
    }
}

impl<const N: usize> Histogram<N> {
    /// Adds `times` durations of about `each_ns`, which are `sum_ns` together.
    pub(super) fn observe(&mut self, bounds: &Bounds<N>, each_ns: u64, times: u64, sum_ns: u64) {
        let bucket = self.buckets.get_mut(bounds.bucket(each_ns)).unwrap_or(&mut self.beyond);
        *bucket += times;
        self.sum_ns += sum_ns;
    }

    pub(super) fn counts(&self) -> Vec<u64> {
        self.buckets.iter().copied().chain([self.beyond]).collect()
    }

    pub(super) fn sum_ns(&self) -> u64 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Histogram};

    const BOUNDS: Bounds<5> = Bounds::exponential(10_000, 3, 2);

    #[test]
    fn bounds_are_those_of_prometheus() {
        assert_eq!(BOUNDS.0, [10_000, 15_000, 22_500, 33_750, 50_625]);
        let long: Bounds<20> = Bounds::exponential(10_000, 3, 2);
        assert_eq!(long.0.last(), Some(&22_168_378));
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let mut histogram = Histogram::default();
        for each_ns in [0, 10_000, 10_001, 50_625, 50_626, u64::MAX / 2] {
            histogram.observe(&BOUNDS, each_ns, 1, each_ns);
        }
        histogram.observe(&BOUNDS, 20_000, 7, 140_003);
        assert_eq!(histogram.counts(), [2, 1, 7, 0, 1, 2]);
        assert_eq!(histogram.sum_ns(), 10_000 + 10_001 + 50_625 + 50_626 + u64::MAX / 2 + 140_003);
    }
}
