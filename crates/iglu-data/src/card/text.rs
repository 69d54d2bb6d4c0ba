//! An inspection as people read it in a terminal of 80 columns.

use super::classes::ClassSize;
use super::inspection::Inspection;
use super::{Card, grouped};
use std::fmt;

/// Columns of a line.
const WIDTH: usize = 78;
/// Columns of the longest bar.
const BAR: usize = 40;
/// Classes shown by themselves.
const CLASSES: usize = 12;
/// Longest name of a class shown whole.
const NAME: usize = 16;

pub(super) fn write(seen: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", seen.card.name)?;
    for (name, value) in lines(seen) {
        write!(f, "\n  {name:<12} {}", wrapped(&value, 15))?;
    }
    let degree = |b: &super::inspection::DegreeBin| {
        let range =
            if b.from == b.to { grouped(b.from) } else { format!("{}-{}", grouped(b.from), grouped(b.to)) };
        (range, b.nodes, String::new())
    };
    bars(f, "neighbours", &seen.degrees.iter().map(degree).collect::<Vec<_>>())?;
    bars(f, "class", &classes(&seen.class_sizes))?;
    for note in &seen.notes {
        write!(f, "\n\n  note: {}", wrapped(note, 8))?;
    }
    for problem in &seen.problems {
        write!(f, "\n\n  problem: {}\n  fix: {}", wrapped(&problem.what, 11), wrapped(&problem.remedy, 7))?;
    }
    Ok(())
}

fn lines(seen: &Inspection) -> Vec<(&'static str, String)> {
    let card = &seen.card;
    let mut out: Vec<(&'static str, String)> = Vec::new();
    out.extend(seen.source.clone().map(|source| ("source", source)));
    out.extend(seen.licence.clone().map(|licence| ("licence", licence)));
    out.extend(card.lines());
    let degrees = format!(
        "{:.1} (median {}, largest {})",
        card.mean_degree,
        grouped(seen.median_degree),
        grouped(card.max_degree)
    );
    put(&mut out, "mean degree", degrees);
    let c = seen.components;
    let components = match c.count {
        1 => "1".to_string(),
        _ => format!("{} (largest: {} nodes)", grouped(c.count), grouped(c.largest)),
    };
    insert_after(&mut out, "mean degree", ("components", components));
    if let Some(share) = seen.homophily {
        let text = format!("{share:.2} of the edges join nodes of one class");
        insert_after(&mut out, "duplicates", ("homophily", text));
    }
    for relation in seen.relations.iter().rev() {
        let kind = if relation.directed { "directed" } else { "undirected" };
        let text = format!("{}: {} ({kind})", relation.name, grouped(relation.edges));
        insert_after(&mut out, "edges", ("", text));
    }
    put(&mut out, "features", features(seen));
    put(&mut out, "split", split(seen));
    let bytes = bytes(seen.train_bytes_estimate);
    out.push(("memory", format!("about {bytes} to train with the defaults (an estimate)")));
    out
}

/// Replaces the value of a line.
fn put(lines: &mut [(&'static str, String)], name: &str, value: String) {
    if let Some(line) = lines.iter_mut().find(|(n, _)| *n == name) {
        line.1 = value;
    }
}

fn insert_after(lines: &mut Vec<(&'static str, String)>, name: &str, line: (&'static str, String)) {
    let at = lines.iter().position(|(n, _)| *n == name).map_or(lines.len(), |at| at + 1);
    lines.insert(at, line);
}

fn features(seen: &Inspection) -> String {
    let (card, c) = (&seen.card, &seen.columns);
    let storage = if card.sparse_features { "sparse" } else { "dense" };
    let size = grouped(card.features);
    let (min, max, zeros) = (short(c.min), short(c.max), 100.0 * c.zeros);
    let mut parts = vec![format!("{size} ({storage}), from {min} to {max}, {zeros:.1} % zeros")];
    let odd = [(c.constant, "constant"), (c.not_finite, "with NaN or infinite values")];
    let odd = odd.iter().filter(|(count, _)| *count > 0);
    parts.extend(odd.map(|(count, what)| format!("{} {what}", grouped(*count))));
    parts.join(", ")
}

fn split(seen: &Inspection) -> String {
    let Card { train, val, test, .. } = seen.card;
    let stored = match seen.stored_splits {
        0 => "none stored".to_string(),
        1 => "1 stored".to_string(),
        many => format!("{many} stored"),
    };
    if train + val + test == 0 {
        return format!("{stored}; training draws {} unless told", iglu::config::SplitChoice::FALLBACK);
    }
    let chosen = if seen.split == "auto" { "the first".to_string() } else { seen.split.clone() };
    let chosen = if seen.stored_splits == 1 && seen.split == "auto" {
        String::new()
    } else {
        format!(", {chosen} in use")
    };
    let [train, val, test] = [train, val, test].map(grouped);
    format!("{train} / {val} / {test} (train / validation / test; {stored}{chosen})")
}

/// The largest classes, then the others together.
fn classes(sizes: &[ClassSize]) -> Vec<(String, usize, String)> {
    let mut order: Vec<&ClassSize> = sizes.iter().collect();
    order.sort_by_key(|c| (std::cmp::Reverse(c.nodes), c.class));
    let (shown, rest) = order.split_at(order.len().min(CLASSES));
    let in_training =
        |train: usize| if train > 0 { format!("{} in training", grouped(train)) } else { String::new() };
    let mut out: Vec<_> = shown.iter().map(|c| (cut(&c.label()), c.nodes, in_training(c.train))).collect();
    if !rest.is_empty() {
        let nodes = rest.iter().map(|c| c.nodes).sum::<usize>() / rest.len();
        out.push((format!("{} more", rest.len()), nodes, "on average".to_string()));
    }
    out
}

/// A table of bars: name, bar, count, remark.
fn bars(f: &mut fmt::Formatter<'_>, head: &str, rows: &[(String, usize, String)]) -> fmt::Result {
    let most = rows.iter().map(|r| r.1).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    let width = rows.iter().map(|r| r.0.chars().count()).chain([head.len()]).max().unwrap_or(0);
    write!(f, "\n\n  {head:>width$}  nodes")?;
    for (name, count, remark) in rows {
        let remark = if remark.is_empty() { String::new() } else { format!(" ({remark})") };
        let bar = bar(*count, most, BAR);
        let space = if bar.is_empty() { "" } else { " " };
        write!(f, "\n  {name:>width$}  {bar}{space}{}{remark}", grouped(*count))?;
    }
    Ok(())
}

/// A bar in eighths of a column; what is there at all is seen.
fn bar(count: usize, most: usize, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (count as f64 / most as f64 * (columns * 8) as f64).round() as usize;
    let eighths = eighths.max(usize::from(count > 0));
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A name of at most [`NAME`] letters.
fn cut(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if plain.chars().count() <= NAME {
        return plain;
    }
    plain.chars().take(NAME - 2).chain("..".chars()).collect()
}

/// Words broken into lines, the next ones indented.
fn wrapped(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if out.is_empty() {
            column += length;
        } else if column + 1 + length > WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent + length;
        } else {
            out.push(' ');
            column += 1 + length;
        }
        out += word;
    }
    out
}

/// A number with about four digits.
fn short(value: f32) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        v if !(1e-3..1e6).contains(&v) => format!("{value:.2e}"),
        _ => {
            let digits = format!("{value:.3}");
            digits.trim_end_matches('0').trim_end_matches('.').to_string()
        }
    }
}

/// Bytes in the unit that fits.
fn bytes(count: u64) -> String {
    let mib = count as f64 / (1 << 20) as f64;
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional_and_never_vanish() {
        assert_eq!(bar(8, 8, 4), "████");
        assert_eq!(bar(3, 8, 4), "█▌");
        assert_eq!(bar(1, 1_000_000, 4), "▏");
        assert_eq!(bar(0, 8, 4), "");
    }

    #[test]
    fn words_are_broken_and_names_cut() {
        let text = wrapped(&"word ".repeat(40), 4);
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|l| l.starts_with("    word")));
        assert_eq!(
            (cut("short"), cut("a name that is far too long")),
            ("short".into(), "a name that is..".into())
        );
        assert_eq!(cut("a\nb"), "a b");
    }

    #[test]
    fn numbers_are_short() {
        for (value, expect) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (1.0, "1"),
            (0.000_12, "1.20e-4"),
            (123.456_78, "123.457"),
            (3e9, "3.00e9"),
        ] {
            assert_eq!(short(value), expect);
        }
        assert_eq!((bytes(46 << 20), bytes(3 << 30)), ("46 MiB".into(), "3.0 GiB".into()));
    }
}
