//! Columns that say which nodes are used for what.

use super::index::Index;
use super::names;
use super::value::{At, Table, Value};
use crate::formats::plain;
use iglu::{Error, Result, Split};

/// What a node is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Learning.
    Train,
    /// Choosing the model.
    Val,
    /// The final score.
    Test,
}

impl Part {
    /// Reads `train`, `val`, `test` or another common word for them; `None` for nodes that are in no part.
    pub fn read(value: &Value<'_>, at: At) -> Result<Option<Self>> {
        if *value == Value::Missing {
            return Ok(None);
        }
        match value.text(at)?.to_ascii_lowercase().as_str() {
            "train" | "training" => Ok(Some(Self::Train)),
            "val" | "valid" | "validation" | "dev" => Ok(Some(Self::Val)),
            "test" | "testing" => Ok(Some(Self::Test)),
            "none" | "unused" | "-" => Ok(None),
            _ => Err(value.refused(at, "train, val, test, or nothing")),
        }
    }

    /// The part of which the column `name` is the mask.
    pub fn of_mask(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "train_mask" => Some(Self::Train),
            "val_mask" | "valid_mask" => Some(Self::Val),
            "test_mask" => Some(Self::Test),
            _ => None,
        }
    }
}

/// Whether a column is called `split`, `split_0`, `split_1`, ...
pub fn is_split(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.strip_prefix("split")
        .is_some_and(|rest| rest.trim_start_matches('_').bytes().all(|b| b.is_ascii_digit()))
}

/// An entry of a mask.
pub fn is_set(value: &Value<'_>, at: At) -> Result<bool> {
    match (value.truth(), value.whole()) {
        (Some(truth), _) => Ok(truth),
        (None, Some(bit @ 0..=1)) => Ok(bit == 1),
        _ => Err(value.refused(at, "true or false, 1 or 0")),
    }
}

/// Adds nodes to the parts they are in.
pub fn add(split: &mut Split, nodes: impl Iterator<Item = (u32, Option<Part>)>) {
    for (node, part) in nodes {
        match part {
            Some(Part::Train) => split.train.push(node),
            Some(Part::Val) => split.val.push(node),
            Some(Part::Test) => split.test.push(node),
            None => {}
        }
    }
}

/// Reads split `number` of a table of nodes and the parts they are in.
pub fn read(table: &mut dyn Table, index: &Index, number: usize) -> Result<Split> {
    let header = table.header().unwrap_or_default();
    let id = names::find(header, names::ID, "the node")?;
    let splits: Vec<usize> = (0..header.len()).filter(|&c| is_split(&header[c])).collect();
    let (Some(id), false) = (id, splits.is_empty()) else {
        let found = format!("columns {}; expected `id` and `split`", names::listed(header));
        return Err(Error::data("header", found, "name the columns in the first line: id,split"));
    };
    let split = *pick(&splits, number)?;
    let wanted: Vec<bool> = (0..table.width()).map(|c| c == id || c == split).collect();
    let (mut nodes, mut parts) = (Vec::new(), Vec::new());
    table.cells(&wanted, &mut |value, at| {
        if at.column == split {
            parts.push(Part::read(value, at)?);
            return Ok(());
        }
        let Some(node) = index.get(value, at)? else {
            let found = format!("{} is none of the {} nodes", value.text(at)?, index.len());
            return Err(Error::data(at.to_string(), found, "list nodes of the node table only"));
        };
        nodes.push(node);
        Ok(())
    })?;
    let mut picked = Split::default();
    add(&mut picked, nodes.into_iter().zip(parts));
    Ok(picked)
}

/// Split `number` of those there are.
pub fn pick<T>(splits: &[T], number: usize) -> Result<&T> {
    splits.get(number).ok_or_else(|| plain::split::out_of_range("split", number, splits.len()))
}
