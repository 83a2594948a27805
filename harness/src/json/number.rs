//! A number as its author printed it. Rules about digits are exact, so nothing here rounds: a value
//! is read in whole units of a power of ten, or not at all.

/// The text of a JSON number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(Box<str>);

impl Number {
    /// The number of this text, if JSON's grammar allows it.
    pub fn new(text: &str) -> Option<Number> {
        (length(text.as_bytes()) == Some(text.len())).then(|| Number(text.into()))
    }

    /// As printed.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().expect("JSON's numbers are a subset of what f64 reads")
    }

    /// A non-negative whole number printed as one: `3` is, `3.0` and `3e0` are not.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// Digits after the decimal point, an exponent taken into account.
    pub fn decimals(&self) -> u64 {
        let (_, decimals) = self.digits();
        u64::try_from(decimals).unwrap_or(0)
    }

    /// The value in units of `10^-decimals`, when it is a whole number of them and has at most
    /// 30 digits then; so a sum over a document cannot overflow.
    pub fn units(&self, decimals: u32) -> Option<i128> {
        let (digits, have) = self.digits();
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(0);
        }
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let shift = i64::from(decimals).checked_sub(have)?;
        let dropped = usize::try_from(-shift).unwrap_or(0);
        if dropped > zeros || digits.len() as i64 + shift > MAX_DIGITS {
            return None;
        }
        let kept: i128 = digits[..digits.len() - dropped].parse().ok()?;
        let magnitude = kept * 10_i128.pow(u32::try_from(shift).unwrap_or(0));
        Some(if self.0.starts_with('-') { -magnitude } else { magnitude })
    }

    /// Whether both have the same value, however they are printed.
    pub fn is_worth(&self, other: &Number) -> bool {
        self.normal() == other.normal()
    }

    /// Sign, digits without zeros at either end, and the decimals of the last of them.
    fn normal(&self) -> (bool, String, i64) {
        let (digits, decimals) = self.digits();
        let digits = digits.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return (false, String::new(), 0);
        }
        let zeros = (digits.len() - kept.len()) as i64;
        (self.0.starts_with('-'), kept.to_string(), decimals - zeros)
    }

    /// All digits of the mantissa, and how many of them stand after the point once the exponent is
    /// applied (negative: so many zeros are missing).
    fn digits(&self) -> (String, i64) {
        let text = self.0.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // An exponent too long for i64 is as good as the largest: no number of units is meant.
        let limit = i64::MAX / 2;
        let large = if exponent.starts_with('-') { -limit } else { limit };
        let exponent = exponent.parse().unwrap_or(large).clamp(-limit, limit);
        (format!("{whole}{fraction}"), fraction.len() as i64 - exponent)
    }
}

/// Most digits of a value in units: of those, a million add up within an `i128`.
const MAX_DIGITS: i64 = 30;

/// How many of the first bytes form a JSON number; `None` if not even one does.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let run =
        |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = usize::from(bytes.first() == Some(&b'-'));
    let mut end = match bytes.get(start)? {
        b'0' => start + 1,
        b'1'..=b'9' => run(start),
        _ => return None,
    };
    if bytes.get(end) == Some(&b'.') {
        let fraction = run(end + 1);
        if fraction == end + 1 {
            return None;
        }
        end = fraction;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = run(end + 1 + sign);
        if exponent == end + 1 + sign {
            return None;
        }
        end = exponent;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, decimals: u64, in_thousandths: Option<i128>) {
        let number = Number::new(text).expect(text);
        assert_eq!((number.decimals(), number.units(3)), (decimals, in_thousandths), "{text}");
    }

    #[test]
    fn values_are_exact_or_absent() {
        check("0", 0, Some(0));
        check("-0.0", 1, Some(0));
        check("12", 0, Some(12_000));
        check("1.50", 2, Some(1500));
        check("-0.0015e2", 2, Some(-150));
        check("1.0001", 4, None);
        check("1.0000", 4, Some(1000));
        check("1e-7", 7, None);
        check("2E+2", 0, Some(200_000));
        check("1e400", 0, None);
        check("0e99999999999999999999", 0, Some(0));
        check("1e-99999999999999999999", (i64::MAX / 2) as u64, None);
        check("1e26", 0, Some(10_i128.pow(29)));
        check("1e27", 0, None);
    }

    #[test]
    fn what_json_does_not_call_a_number_is_refused() {
        for text in ["", "-", "01", ".5", "1.", "1e", "1e+", "+1", "0x1", "1 ", "NaN", "1_0"] {
            assert_eq!(Number::new(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_worth_the_same_however_printed() {
        let check = |a: &str, b: &str, same: bool| {
            let [a, b] = [a, b].map(|text| Number::new(text).expect(text));
            assert_eq!(a.is_worth(&b), same, "{a:?} {b:?}");
        };
        check("4", "40e-1", true);
        check("-0.0", "0e9", true);
        check("1e400", "10E399", true);
        check("0.1", "0.10000000000000000001", false);
        check("9007199254740993", "9007199254740992", false);
        check("1", "-1", false);
    }

    proptest! {
        #[test]
        fn units_of_what_format_prints(value in -1_000_000_000_i64..1_000_000_000) {
            let text = format!("{}{}.{:06}", if value < 0 { "-" } else { "" },
                value.abs() / 1_000_000, value.abs() % 1_000_000);
            prop_assert_eq!(Number::new(&text).unwrap().units(6), Some(i128::from(value)));
            prop_assert_eq!(Number::new(&text).unwrap().units(9), Some(i128::from(value) * 1000));
        }
    }
}
