//! "Did you mean": the known name nearest to a misspelled one. Compares letters, knows no meanings.

/// Longest word compared; the work grows with the square of the length, and nobody misspells more than this.
const LONGEST: usize = 64;

/// The name nearest to `word`, if it is near enough to be a slip of the keyboard: at most a third of its letters.
///
/// ```
/// use iglu_data::nearest;
/// assert_eq!(nearest("learning_rat", ["epochs", "learning_rate"]), Some("learning_rate"));
/// assert_eq!(nearest("colour", ["epochs", "learning_rate"]), None);
/// ```
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    if letters > LONGEST {
        return None;
    }
    let near = |name: &'a str| (edit_distance(&word, &name.to_lowercase()), name);
    let (distance, name) =
        names.into_iter().filter(|n| n.len() <= LONGEST).map(near).min_by_key(|(d, _)| *d)?;
    (distance < letters.max(1) && distance <= letters.div_ceil(3)).then_some(name)
}

/// Levenshtein distance: letters inserted, deleted or replaced to make `b` of `a`.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        for (a, b, expect) in
            [("", "", 0), ("", "abc", 3), ("edge", "edges", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(edit_distance(a, b), expect, "{a} -> {b}");
            assert_eq!(edit_distance(b, a), expect, "{b} -> {a}");
        }
    }

    #[test]
    fn only_near_names_are_offered() {
        let names = ["edges", "x", "train"];
        assert_eq!(nearest("edge", names), Some("edges"));
        assert_eq!(nearest("Trian", names), Some("train"));
        assert_eq!(nearest("adjacency", names), None);
        assert_eq!(nearest("y", names), None);
        assert_eq!(nearest(&"e".repeat(1_000_000), names), None);
    }
}
