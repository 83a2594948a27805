//! Scales and marks of the charts. Positions are percentages, so that a drawing fits any width and
//! its text stays text; marks differ in shape, never in colour alone.

use crate::json::Value;
use crate::view::Cell;

/// A scale that begins at zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    most: f64,
}

impl Scale {
    /// Over these values.
    pub(super) fn over(values: impl Iterator<Item = f64>) -> Scale {
        Scale { most: values.fold(0.0, f64::max) }
    }

    /// Where a value stands, in percent with room for a mark at either end.
    pub(super) fn at(self, value: f64) -> f64 {
        if self.most > 0.0 { (value / self.most).clamp(0.0, 1.0) * 100.0 } else { 0.0 }
    }

    /// Round values from zero on, about six of them.
    pub(super) fn ticks(self) -> Vec<f64> {
        if self.most <= 0.0 || !self.most.is_finite() {
            return vec![0.0];
        }
        let rough = self.most / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power);
        let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        (0..=12).map(|i| f64::from(i) * step).take_while(|tick| *tick <= self.most).collect()
    }
}

/// A cell's number, if it can be drawn.
pub(super) fn drawn(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Printed { value, .. } => number(value),
        _ => None,
    }
}

/// A number that is no less than zero.
pub(super) fn number(value: &Value) -> Option<f64> {
    let number = value.as_number()?.as_f64();
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// What a point looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A full circle: the request came to its own end.
    Full,
    /// A ring: it was cut off.
    Ring,
    /// An arrow to the right: later than this.
    Beyond,
    /// A square that stands on its corner: the other report.
    Square,
}

/// A mark at a percentage of the drawing's width, in the middle of its height.
pub(super) fn mark(mark: Mark, at: f64) -> String {
    // A drawing of its own, whose origin is the point.
    let shape = match mark {
        Mark::Full => "<circle class=full r=4.5 />",
        Mark::Ring => "<circle class=ring r=4 />",
        Mark::Beyond => "<path class=ring d=\"M-5,0H4M0,-4L4,0L0,4\"/>",
        Mark::Square => "<path class=square d=\"M-5,0L0,-5L5,0L0,5Z\"/>",
    };
    format!("<svg x=\"{at:.2}%\" y=\"50%\" overflow=visible>{shape}</svg>")
}

/// A lane with its marks, for a row of a list.
pub(super) fn lane(label: &str, marks: &str) -> String {
    format!(
        "<svg class=lane role=img aria-label=\"{label}\"><line class=axis x1=0 x2=\"100%\" \
         y1=\"50%\" y2=\"50%\"/><line class=zero x1=0 x2=0 y1=15% y2=85% />{marks}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(most: f64, expected: &[f64]) {
        assert_eq!(Scale::over([most].into_iter()).ticks(), expected, "{most}");
    }

    #[test]
    fn ticks_are_round() {
        check(0.0, &[0.0]);
        check(f64::INFINITY, &[0.0]);
        check(102.0, &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        check(3.0, &[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
    }

    proptest! {
        #[test]
        fn every_position_is_in_the_drawing(values in prop::collection::vec(0.0..f64::MAX, 1..9)) {
            let scale = Scale::over(values.iter().copied());
            for value in values {
                prop_assert!((0.0..=100.0).contains(&scale.at(value)));
            }
            prop_assert!(scale.ticks().len() <= 13);
        }
    }
}
