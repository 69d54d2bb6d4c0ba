//! Text for people: results to stdout, remarks to stderr, numbers as they are read.

use iglu::{Error, Result};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a result to stdout, with a newline. A reader who has closed the pipe has seen enough.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::output("stdout", format!("cannot be written: {e}"), "check where the output goes"))
        }
        _ => Ok(()),
    }
}

/// Writes a result to stdout as one JSON object.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&json(value)?)
}

/// A value as indented JSON; numbers that are not finite become null.
pub fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map_err(|e| Error::output("json", e.to_string(), "leave out --json and report this"))
}

/// Writes a remark to stderr; where nobody listens, it is lost.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes what a reader noticed to stderr.
pub fn notes(notes: &[String]) {
    notes.iter().for_each(|text| note(&format!("note: {text}")));
}

/// `name  value` lines, the values aligned.
pub fn aligned(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| format!("{name:<width$}  {value}");
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A score, or a dash where there is none.
pub fn score(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_string(), |v| format!("{v:.4}"))
}

/// Bytes in the unit that fits.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Seconds as `0.42 s`, `42.0 s`, `3:20 min` or `2:05 h`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        _ if whole < 3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02} h", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        for (found, expect) in [
            (grouped(0), "0"),
            (grouped(999), "999"),
            (grouped(1_234_567), "1,234,567"),
            (score(Some(0.81236)), "0.8124"),
            (score(None), "-"),
            (bytes(1023), "1023 B"),
            (bytes(1536), "1.5 KiB"),
            (bytes(3 << 30), "3.0 GiB"),
            (duration(0.421), "0.42 s"),
            (duration(42.04), "42.0 s"),
            (duration(200.0), "3:20 min"),
            (duration(7_500.0), "2:05 h"),
        ] {
            assert_eq!(found, expect);
        }
    }

    #[test]
    fn values_stand_in_one_column() {
        assert_eq!(aligned(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2");
    }

    #[test]
    fn json_knows_no_nan() {
        assert_eq!(json(&[f64::NAN, 0.5]).unwrap().split_whitespace().collect::<String>(), "[null,0.5]");
    }
}
