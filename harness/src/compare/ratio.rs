//! What the ratios of some pairs say together. Of fewer than five pairs no interval is given: three
//! values have none worth the name. Logarithms make a ratio and its inverse the same distance from
//! one, to the last bit.

/// Fewest pairs that an interval is given for.
pub(super) const FEWEST: usize = 5;

/// Ratios of B to A, as natural logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// In rising order; at least one.
    sorted: Vec<f64>,
}

impl Ratio {
    /// Of these logarithms, all finite; `None` of none.
    pub(super) fn new(mut logs: Vec<f64>) -> Option<Ratio> {
        logs.sort_by(f64::total_cmp);
        (!logs.is_empty()).then_some(Ratio { sorted: logs })
    }

    /// How many pairs.
    pub fn n(&self) -> usize {
        self.sorted.len()
    }

    /// The logarithm in the middle.
    pub fn median(&self) -> f64 {
        let (lower, upper) = ((self.n() - 1) / 2, self.n() / 2);
        (self.sorted[lower] + self.sorted[upper]) / 2.0
    }

    /// The extremes.
    pub fn range(&self) -> (f64, f64) {
        (self.sorted[0], self.sorted[self.n() - 1])
    }

    /// How many pairs lie above one and below.
    pub fn sides(&self) -> (usize, usize) {
        let count = |wanted: fn(&f64) -> bool| self.sorted.iter().filter(|log| wanted(log)).count();
        (count(|log| *log > 0.0), count(|log| *log < 0.0))
    }

    /// An interval for the median of all such pairs, and how often such an interval holds it,
    /// whatever their distribution: the narrowest between two of the values that does so at
    /// least 95 times in 100, or the range. By the binomial distribution of how many values lie
    /// below the median.
    pub fn interval(&self) -> Option<(f64, f64, f64)> {
        let n = self.n();
        if n < FEWEST {
            return None;
        }
        let (mut best, mut below, mut log_ways) = ((0, 0.0), 0.0, 0.0);
        for k in 0..n / 2 {
            below += (log_ways - n as f64 * std::f64::consts::LN_2).exp();
            let holds = 1.0 - 2.0 * below;
            if k > 0 && holds < 0.95 {
                break;
            }
            best = (k, holds);
            log_ways += ((n - k) as f64 / (k + 1) as f64).ln();
        }
        let (k, holds) = best;
        Some((self.sorted[k], self.sorted[n - 1 - k], holds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(values: &[f64]) -> Ratio {
        Ratio::new(values.to_vec()).unwrap()
    }

    fn check(values: &[f64], median: f64, interval: Option<(f64, f64, f64)>) {
        let found = ratio(values);
        assert_eq!(found.median(), median);
        let rounded = |(a, b, holds): (f64, f64, f64)| (a, b, (holds * 1e4).round() / 1e4);
        assert_eq!(found.interval().map(rounded), interval, "{} values", values.len());
    }

    #[test]
    fn medians_and_intervals() {
        assert_eq!(Ratio::new(vec![]), None);
        check(&[0.5], 0.5, None);
        check(&[4.0, 1.0, 2.0, 3.0], 2.5, None);
        // The shares are exact sums of binomial coefficients, made with Python's integers.
        check(&[5.0, 1.0, 2.0, 3.0, 4.0], 3.0, Some((1.0, 5.0, 0.9375)));
        check(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3.5, Some((1.0, 6.0, 0.9688)));
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        check(&ten, 5.5, Some((2.0, 9.0, 0.9785)));
        let many: Vec<f64> = (1..=5_000).map(f64::from).collect();
        check(&many, 2500.5, Some((2431.0, 2570.0, 0.9507)));
    }
}
