//! Where an axis has its marks, and what stands at them.

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal steps are equally long.
    #[default]
    Linear,
    /// Equal factors are equally long; values up to 0 have no place.
    Log,
}

/// What can lie on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Values {
    /// Any number.
    #[default]
    Any,
    /// Counts: nothing stands between two whole numbers.
    Whole,
}

/// Round values from `low` to `high`, about `count` of them: steps of 1, 2 or 5 times a power of ten.
pub(super) fn linear([low, high]: [f64; 2], count: usize, values: Values) -> Vec<f64> {
    let least = if values == Values::Whole { 1.0 } else { 0.0 };
    let step = step(low, high, count).max(least);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn step(low: f64, high: f64, count: usize) -> f64 {
    let rough = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0].into_iter().find(|m| m * power >= rough * 0.999);
    round.unwrap_or(10.0) * power
}

/// Powers of ten from `low` to `high`, with 2 and 5 times them where there are few, and round values where there is
/// not even one factor of ten.
pub(super) fn log(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    if decades < 1.0 {
        return linear([low, high], 4, Values::Any);
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = ((last - first) / 7 + 1) as usize;
    let factors: &[f64] = if decades <= 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let powers = (first..=last).step_by(every).map(|e| 10f64.powi(e));
    let all = powers.flat_map(|p| factors.iter().map(move |f| f * p));
    all.filter(|v| (low * 0.999..=high * 1.001).contains(v)).collect()
}

/// Labels of the marks of an axis, all with the same number of decimals.
pub(super) fn labels(values: &[f64], scale: Scale) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let step = values.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    let plain =
        scale == Scale::Linear && step.is_finite() && (largest == 0.0 || (1e-3..1e5).contains(&largest));
    let decimals = (-step.log10() - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    // Adding 0 makes -0 a 0.
    let label = |&v: &f64| if plain { format!("{:.decimals$}", v + 0.0) } else { short(v) };
    values.iter().map(label).collect()
}

/// A number in few signs: `0`, `0.05`, `1500`, `20k`, `1.5M`, `1e-5`.
pub(super) fn short(value: f64) -> String {
    let trimmed = |v: f64, unit: &str| {
        let text = format!("{v:.2}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        format!("{text}{unit}")
    };
    match value.abs() {
        0.0 => "0".to_string(),
        v if !(1e-3..1e12).contains(&v) => format!("{value:.1e}").replace(".0e", "e"),
        v if v < 1.0 => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        v if v < 1e4 => trimmed(value, ""),
        v if v < 1e6 => trimmed(value / 1e3, "k"),
        v if v < 1e9 => trimmed(value / 1e6, "M"),
        _ => trimmed(value / 1e9, "G"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], scale: Scale, expect: &str) {
        assert_eq!(labels(values, scale).join(" "), expect);
    }

    #[test]
    fn steps_are_round() {
        check(&linear([0.0, 10.0], 5, Values::Any), Scale::Linear, "0 2 4 6 8 10");
        check(&linear([0.901, 0.938], 5, Values::Any), Scale::Linear, "0.91 0.92 0.93");
        check(&linear([-0.3, 1.1], 5, Values::Any), Scale::Linear, "0.0 0.5 1.0");
        check(&linear([1.0, 200.0], 5, Values::Any), Scale::Linear, "50 100 150 200");
        check(&linear([0.0, 250_000.0], 5, Values::Any), Scale::Linear, "0 50k 100k 150k 200k 250k");
        check(&linear([1.0, 3.0], 6, Values::Whole), Scale::Linear, "1 2 3");
        check(&linear([0.0, 2e-5], 4, Values::Any), Scale::Linear, "0 5e-6 1e-5 1.5e-5 2e-5");
    }

    #[test]
    fn log_axes_have_powers_of_ten_and_what_lies_between() {
        check(&log(0.1, 30.0), Scale::Log, "0.1 0.2 0.5 1 2 5 10 20");
        check(&log(1e-6, 1e3), Scale::Log, "1e-6 1e-4 0.01 1 100");
        check(&log(1.0, 1e5), Scale::Log, "1 10 100 1000 10k 100k");
        check(&log(3.0, 8.0), Scale::Log, "4 6 8");
    }

    #[test]
    fn numbers_are_short() {
        for (value, expect) in [
            (0.05, "0.05"),
            (1500.0, "1500"),
            (20_000.0, "20k"),
            (1.5e6, "1.5M"),
            (2e9, "2G"),
            (100.0, "100"),
        ] {
            assert_eq!(short(value), expect);
        }
        assert_eq!((short(-1e-5), short(3e13)), ("-1e-5".into(), "3e13".into()));
    }
}
