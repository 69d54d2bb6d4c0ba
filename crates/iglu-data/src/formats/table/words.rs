//! A column of few different words: classes of nodes, kinds of edges.

use super::value::{At, Value};
use iglu::{Error, Labels, Names, Result};
use std::collections::HashMap;

/// Code of a value that is missing.
pub const MISSING: u32 = u32::MAX;
/// So many classes are never too many.
const FEW: usize = 50;

/// The words of a column, each with a code; the column as codes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// Code of each row.
    pub codes: Vec<u32>,
    words: HashMap<Box<str>, u32>,
}

impl Words {
    /// Takes the next row. Whole numbers are words without their fraction: `3.0` is `3`.
    pub fn take(&mut self, value: &Value<'_>, at: At) -> Result<()> {
        if *value == Value::Missing {
            self.codes.push(MISSING);
            return Ok(());
        }
        let text = match value.whole() {
            Some(whole) => whole.to_string().into(),
            None if value.number().is_some() && value.truth().is_none() => {
                return Err(value.refused(at, "a class: a whole number or a name"));
            }
            None => value.text(at)?,
        };
        let next = self.words.len() as u32;
        let code = self.words.get(&*text).copied().unwrap_or(next);
        if code == next {
            self.words.insert(text.into(), next);
        }
        self.codes.push(code);
        Ok(())
    }

    /// Number of different words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Numbers the words in their order: numbers by size, others by letters. `left_out` becomes [`MISSING`].
    pub fn sorted(mut self, left_out: Option<&str>) -> (Vec<u32>, Names) {
        let mut words: Vec<(&str, u32)> = self.words.iter().map(|(word, &code)| (&**word, code)).collect();
        words.retain(|&(word, _)| Some(word) != left_out);
        words.sort_unstable();
        // Stable: only numbers move, and only where all words are numbers.
        if words.iter().all(|(word, _)| word.parse::<i64>().is_ok()) {
            words.sort_by_key(|(word, _)| word.parse::<i64>().unwrap_or(0));
        }
        let mut place = vec![MISSING; self.words.len()];
        for (&(_, code), new) in words.iter().zip(0..) {
            place[code as usize] = new;
        }
        for code in &mut self.codes {
            *code = place.get(*code as usize).copied().unwrap_or(MISSING);
        }
        (self.codes, words.iter().map(|(word, _)| word).collect())
    }

    /// The column as classes, -1 where the value is missing or -1; and their names, unless they are 0, 1, 2, ...
    pub fn classes(self, column: &str) -> Result<(Labels, Option<Names>)> {
        let known = self.codes.iter().filter(|&&code| code != MISSING).count();
        if self.len() > FEW && self.len() > known / 4 {
            let found = format!("{} different values in {known} rows: this is no class", self.len());
            let fix = "name a column with few values `label`; cut a quantity into ranges first";
            return Err(Error::data(format!("column `{column}`"), found, fix));
        }
        let (codes, names) = self.sorted(Some("-1"));
        let ids = codes.into_iter().map(|code| if code == MISSING { -1 } else { code as i32 }).collect();
        let plain = names.iter().enumerate().all(|(place, name)| *name == place.to_string());
        Ok((Labels::Classes { ids, classes: names.len() }, (!plain).then_some(names)))
    }
}
