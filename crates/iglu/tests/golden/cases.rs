//! Reads the golden text files of this folder: `key value value ..` lines, `case name` starts a case, `#` a comment.
#![allow(dead_code, reason = "each test reads with its part of it")]

/// One case: its name and its lines in order.
pub struct Case<'a> {
    pub name: &'a str,
    lines: Vec<(&'a str, &'a str)>,
}

/// All cases of a file.
pub fn cases(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        match cases.last_mut() {
            _ if key == "case" => cases.push(Case { name: rest, lines: Vec::new() }),
            Some(case) => case.lines.push((key, rest)),
            None => panic!("the file starts with `{line}`, not with a case"),
        }
    }
    cases
}

impl<'a> Case<'a> {
    /// The rest of every line that starts with `key`.
    pub fn all(&self, key: &str) -> Vec<&'a str> {
        self.lines.iter().filter(|line| line.0 == key).map(|line| line.1).collect()
    }

    /// The rest of the one line that starts with `key`.
    pub fn text(&self, key: &str) -> &'a str {
        let lines = self.all(key);
        assert_eq!(lines.len(), 1, "{}: lines with the key `{key}`", self.name);
        lines[0]
    }

    /// The numbers of the one line that starts with `key`.
    pub fn numbers(&self, key: &str) -> Vec<f64> {
        numbers(self.text(key))
    }
}

/// The numbers of a line.
pub fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}
