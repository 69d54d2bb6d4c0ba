//! Numbers as people read them.

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

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-@:+,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The first `most` letters of a text, with dots where something was left out.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
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
            (shortened("häuser", 6), "häuser"),
            (shortened("häuser", 4), "häu…"),
        ] {
            assert_eq!(found, expect);
        }
    }

    #[test]
    fn words_survive_the_shell() {
        for (word, expect) in [
            ("runs/a-1", "runs/a-1"),
            ("synth:a@0.1", "synth:a@0.1"),
            ("my data", "'my data'"),
            ("", "''"),
            ("a'b#1", r"'a'\''b#1'"),
        ] {
            assert_eq!(quoted(word), expect);
        }
    }
}
