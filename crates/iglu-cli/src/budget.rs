//! How much memory a run may take: `--memory`, and the list of what takes it.

use crate::train::training_options;
use iglu::config::Config;
use iglu::run::{Item, Outline, Trials, memory_of};
use iglu::{Dataset, Error, Result};
use iglu_report::numbers::bytes;
use std::str::FromStr;

/// A number of bytes, as `4GiB`, `500MB` or `1000000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(pub u64);

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}`; expected a size such as 4GiB, 500MB or 1000000");
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let factor = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            "tb" => 1e12,
            "k" | "kib" => 1024.0,
            "m" | "mib" => 1024_f64.powi(2),
            "g" | "gib" => 1024_f64.powi(3),
            "t" | "tib" => 1024_f64.powi(4),
            _ => return Err(wrong()),
        };
        let size = number * factor;
        if size >= 1.0 && size < u64::MAX as f64 { Ok(Self(size as u64)) } else { Err(wrong()) }
    }
}

/// Refuses a run whose data cannot fit by its counts alone, where these can be had before it is read.
pub fn refuse_early(budget: Option<Budget>, config: &Config, source: &str) -> Result<()> {
    let Some(Budget(limit)) = budget else { return Ok(()) };
    let Some(counts) = iglu_data::outline(source, &training_options(&config.data)) else { return Ok(()) };
    let counts = Outline { features_rest: true, ..counts };
    // What else is wrong with the configuration is told where the data is known.
    let Ok(items) = memory_of(config, &counts, Trials::OneByOne) else { return Ok(()) };
    refuse_above(limit, &items, "at least")
}

/// How settings are to be tried out: one by one, unless there is a budget and both networks fit it; refuses a run that will
/// take more either way.
pub fn settle(budget: Option<Budget>, config: &Config, data: &Dataset, runs: Runs) -> Result<Trials> {
    let Some(Budget(limit)) = budget else { return Ok(Trials::default()) };
    let counts = runs.outline(config, data)?;
    if sum(&memory_of(config, &counts, Trials::SideBySide)?) <= limit {
        return Ok(Trials::SideBySide);
    }
    refuse_above(limit, &memory_of(config, &counts, Trials::OneByOne)?, "about")?;
    Ok(Trials::OneByOne)
}

/// How many runs a dataset is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// One, which may have its features.
    One,
    /// Several: the features stay.
    Several,
}

impl Runs {
    fn outline(self, config: &Config, data: &Dataset) -> Result<Outline> {
        let counts = Outline::completed(config, data)?;
        Ok(Outline { features_rest: counts.features_rest || self == Self::One, ..counts })
    }
}

fn sum(items: &[Item]) -> u64 {
    items.iter().map(|item| item.bytes).sum()
}

/// Names what is large, and what makes it smaller.
fn refuse_above(limit: u64, items: &[Item], how_sure: &str) -> Result<()> {
    let peak = sum(items);
    if peak <= limit {
        return Ok(());
    }
    let line = |item: &Item| {
        let remedy = if item.remedy.is_empty() { String::new() } else { format!(" ({})", item.remedy) };
        format!("{} {}{remedy}", item.what, bytes(item.bytes))
    };
    let largest: Vec<String> = items.iter().take(3).map(line).collect();
    let found = format!("{how_sure} {} are needed, {} are allowed", bytes(peak), bytes(limit));
    Err(Error::memory("--memory", found, format!("the largest: {}", largest.join("; "))))
}

/// What training will hold, the largest first, for people.
pub fn describe(config: &Config, data: &Dataset) -> Result<String> {
    let items = memory_of(config, &Runs::One.outline(config, data)?, Trials::default())?;
    let peak = sum(&items);
    let width = items.iter().map(|item| item.what.len()).max().unwrap_or(0);
    let line = |what: &str, size: u64| format!("memory    {what:<width$}  {:>10}\n", bytes(size));
    let lines: String = items.iter().map(|item| line(item.what, item.bytes)).collect();
    Ok(lines + &line("peak", peak))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let check = |text: &str, expect: u64| assert_eq!(text.parse(), Ok(Budget(expect)), "{text}");
        check("4GiB", 4 << 30);
        check("1.5g", 3 << 29);
        check("500MB", 500_000_000);
        check("1000000", 1_000_000);
        for bad in ["", "GiB", "4 parsecs", "-1", "0", "nan", "1e400", "4..2"] {
            assert!(bad.parse::<Budget>().unwrap_err().contains("expected a size"), "{bad}");
        }
    }
}
