//! Which nodes are trained on, chosen on and scored: the values of `data.split`. Says it, draws nothing.

use crate::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// The choice of a split.
///
/// | text | meaning |
/// |---|---|
/// | `auto` | the first stored split; where none is stored, [`SplitChoice::FALLBACK`] |
/// | `3` | the stored split of this number, from 0 |
/// | `stored`, `public` | the stored split 0 |
/// | `random:0.6,0.2,0.2` | these shares of the labelled nodes |
/// | `per-class:20,500,1000` | training nodes of each class, then nodes for selection and for the score |
/// | `FILE.npz` | the split in this file |
///
/// ```
/// use iglu::config::SplitChoice;
/// let choice: SplitChoice = "per-class:20,500,1000".parse()?;
/// assert_eq!(choice, SplitChoice::PerClass([20, 500, 1000]));
/// assert_eq!(choice.to_string(), "per-class:20,500,1000");
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SplitChoice {
    /// The first stored split; where none is stored, [`SplitChoice::FALLBACK`].
    #[default]
    Auto,
    /// A stored split by number.
    Stored(usize),
    /// Shares of the labelled nodes: training, selection, score.
    Random([f64; 3]),
    /// Training nodes of each class; nodes for selection and for the score among the rest.
    PerClass([usize; 3]),
    /// The split in a file of its own.
    File(String),
}

const FORMS: &str = "write auto, stored, a number, random:0.6,0.2,0.2, per-class:20,500,1000 or FILE.npz";

/// Shares that should add up to 1 may miss it by rounding.
const ROUNDING: f64 = 1e-9;

impl SplitChoice {
    /// What `auto` means where no split is stored.
    pub const FALLBACK: Self = Self::Random([0.6, 0.2, 0.2]);

    /// Reads the text; the error says what is wrong with it.
    fn read(text: &str) -> std::result::Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Stored(number));
        }
        match text.split_once(':') {
            _ if text == "auto" => Ok(Self::Auto),
            _ if matches!(text, "stored" | "public") => Ok(Self::Stored(0)),
            Some(("random", shares)) => random(shares),
            Some(("per-class", counts)) => per_class(counts),
            _ if text.to_ascii_lowercase().ends_with(".npz") => Ok(Self::File(text.to_string())),
            _ => Err(format!("`{text}` is no split")),
        }
    }
}

/// Three values separated by commas.
fn three<T: FromStr>(text: &str, what: &str) -> std::result::Result<[T; 3], String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let read = |part: &&str| part.parse().map_err(|_| format!("`{part}` is no {what}"));
    let values = parts.iter().map(read).collect::<std::result::Result<Vec<T>, String>>()?;
    let wrong = |_| format!("`{text}` has {} of 3 {what}s: training, validation, test", parts.len());
    values.try_into().map_err(wrong)
}

fn random(text: &str) -> std::result::Result<SplitChoice, String> {
    let shares: [f64; 3] = three(text, "share")?;
    if let Some(bad) = shares.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
        return Err(format!("share {bad} of `random:{text}`; expected numbers above 0"));
    }
    let sum: f64 = shares.iter().sum();
    if sum > 1.0 + ROUNDING {
        let sum = (sum * 1e6).round() / 1e6;
        return Err(format!("the shares of `random:{text}` add up to {sum}; expected at most 1"));
    }
    Ok(SplitChoice::Random(shares))
}

fn per_class(text: &str) -> std::result::Result<SplitChoice, String> {
    let counts: [usize; 3] = three(text, "whole number")?;
    if counts[0] == 0 {
        return Err(format!("0 training nodes of each class in `per-class:{text}`; expected at least 1"));
    }
    Ok(SplitChoice::PerClass(counts))
}

impl FromStr for SplitChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::read(text).map_err(|found| Error::usage("split", found, FORMS))
    }
}

impl fmt::Display for SplitChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Stored(number) => write!(f, "{number}"),
            Self::Random([a, b, c]) => write!(f, "random:{a},{b},{c}"),
            Self::PerClass([a, b, c]) => write!(f, "per-class:{a},{b},{c}"),
            Self::File(path) => f.write_str(path),
        }
    }
}

impl Serialize for SplitChoice {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Stored(number) => number.serialize(s),
            other => s.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for SplitChoice {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(f64),
            Word(String),
        }
        let text = match Either::deserialize(d)? {
            Either::Number(number) => number.to_string(),
            Either::Word(word) => word,
        };
        Self::read(&text).map_err(|found| de::Error::custom(format!("{found}; {FORMS}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        for (text, choice) in [
            ("auto", SplitChoice::Auto),
            ("3", SplitChoice::Stored(3)),
            ("random:0.6,0.2,0.2", SplitChoice::FALLBACK),
            ("random:0.1,0.05,0.85", SplitChoice::Random([0.1, 0.05, 0.85])),
            ("per-class:20,0,1000", SplitChoice::PerClass([20, 0, 1000])),
            ("data/my.split.npz", SplitChoice::File("data/my.split.npz".into())),
        ] {
            assert_eq!(text.parse::<SplitChoice>().unwrap(), choice);
            assert_eq!(choice.to_string(), text);
        }
        for (text, choice) in [
            ("stored", SplitChoice::Stored(0)),
            ("public", SplitChoice::Stored(0)),
            ("random: 0.5, .25,0.25", SplitChoice::Random([0.5, 0.25, 0.25])),
            ("A.NPZ", SplitChoice::File("A.NPZ".into())),
        ] {
            assert_eq!(text.parse::<SplitChoice>().unwrap(), choice);
        }
    }

    #[test]
    fn what_is_no_split_is_named() {
        for (text, expect) in [
            ("", "`` is no split"),
            ("-1", "`-1` is no split"),
            ("1.5", "`1.5` is no split"),
            ("randm:0.6,0.2,0.2", "`randm:0.6,0.2,0.2` is no split"),
            ("random", "`random` is no split"),
            ("random:0.6,0.4", "`0.6,0.4` has 2 of 3 shares"),
            ("random:0.6,0.2,0.2,0", "has 4 of 3 shares"),
            ("random:0.6,x,0.2", "`x` is no share"),
            ("random:0.6,0,0.2", "share 0 of"),
            ("random:0.6,-0.1,0.2", "share -0.1 of"),
            ("random:nan,0.1,0.2", "share NaN of"),
            ("random:0.6,0.3,0.2", "add up to 1.1"),
            ("per-class:20,500", "`20,500` has 2 of 3 whole numbers"),
            ("per-class:0,5,5", "0 training nodes of each class"),
            ("per-class:1.5,5,5", "`1.5` is no whole number"),
            ("split.txt", "`split.txt` is no split"),
        ] {
            let e = text.parse::<SplitChoice>().unwrap_err();
            assert_eq!(e.exit_code(), 64);
            assert!(e.to_string().contains(expect) && e.to_string().contains("per-class:20,500,1000"), "{e}");
        }
    }
}
