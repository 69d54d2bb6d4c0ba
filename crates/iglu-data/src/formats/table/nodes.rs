//! The table of nodes: a row per node, its id, class, part of the split and features.

use super::index::Index;
use super::names;
use super::split::{self, Part};
use super::value::{At, Table, Value};
use super::words::Words;
use crate::LoadOptions;
use iglu::config::NanFeatures;
use iglu::{Error, Labels, Mat, Names, Result, Split};

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Id,
    Name,
    Label,
    /// Says which part of the split a node is in, in words.
    Part,
    /// The mask of one part.
    Mask(Part),
    Feature,
    Ignored,
}

/// The nodes of a table.
#[derive(Debug)]
pub struct Nodes {
    /// What edges call them.
    pub index: Index,
    /// What people call them; `None`: 0, 1, 2, ...
    pub names: Option<Names>,
    /// Numbers that describe them; `None` where there are none.
    pub features: Option<Mat>,
    /// Their classes and the names of these; `None` where no column says.
    pub labels: Option<(Labels, Option<Names>)>,
    /// The part of the split each is in; `None` where no column says.
    pub split: Option<Split>,
    /// What people should know.
    pub notes: Vec<String>,
}

/// The first line of a node table is always its header.
pub fn is_header(_: &[String]) -> bool {
    true
}

/// Reads a node table, and of its splits the one asked for.
pub fn read(table: &mut dyn Table, options: &LoadOptions) -> Result<Nodes> {
    let header = table.header().unwrap_or_default().to_vec();
    let roles = roles(&header, options.split)?;
    let mut columns: Vec<Column> =
        roles.iter().map(|&role| Column::new(role, options.nan_features)).collect();
    let wanted: Vec<bool> = roles.iter().map(|&role| role != Role::Ignored).collect();
    let rows = table.cells(&wanted, &mut |value, at| columns[at.column].take(value, at))?;
    if rows == 0 {
        return Err(Error::data("", "no row: a graph without nodes", "give every node a row"));
    }
    let index = if options.one_based { Index::from_one(rows) } else { Index::Rows(rows) };
    together(index, &header, columns)
}

fn roles(header: &[String], number: usize) -> Result<Vec<Role>> {
    let id = names::find(header, names::ID, "the id")?;
    let name = names::find(header, names::NAME, "the name")?;
    // Without an id, the name is what edges call a node.
    let (id, name) = if id.is_some() { (id, name) } else { (name, None) };
    let label = names::find(header, names::LABEL, "the class")?;
    let part = part_column(header, number)?;
    let role = |(column, text): (usize, &String)| match Some(column) {
        c if c == id => Role::Id,
        c if c == name => Role::Name,
        c if c == label => Role::Label,
        c if c == part => Role::Part,
        _ if split::is_split(text) || names::is(text, names::INDEX) => Role::Ignored,
        _ => Part::of_mask(text).map_or(Role::Feature, Role::Mask),
    };
    Ok(header.iter().enumerate().map(role).collect())
}

/// The column of split `number`, if any column holds splits in words.
fn part_column(header: &[String], number: usize) -> Result<Option<usize>> {
    let words: Vec<usize> = (0..header.len()).filter(|&c| split::is_split(&header[c])).collect();
    let masks = header.iter().any(|name| Part::of_mask(name).is_some());
    match (words.is_empty(), masks) {
        (true, false) => Ok(None),
        (true, true) => split::pick(&["masks"], number).map(|_| None),
        (false, false) => split::pick(&words, number).map(|&column| Some(column)),
        (false, true) => {
            Err(Error::data("header", "both a column `split` and columns of masks", "keep one of them"))
        }
    }
}

/// A column under construction.
#[derive(Debug)]
enum Column {
    Ids(Index),
    Names(Vec<Box<str>>),
    Labels(Words),
    Parts(Vec<Option<Part>>),
    Mask(Part, Vec<Option<Part>>),
    Numbers(Numbers),
    Ignored,
}

impl Column {
    fn new(role: Role, nan: NanFeatures) -> Self {
        match role {
            Role::Id => Self::Ids(Index::Rows(0)),
            Role::Name => Self::Names(Vec::new()),
            Role::Label => Self::Labels(Words::default()),
            Role::Part => Self::Parts(Vec::new()),
            Role::Mask(part) => Self::Mask(part, Vec::new()),
            Role::Feature => Self::Numbers(Numbers::new(nan)),
            Role::Ignored => Self::Ignored,
        }
    }

    fn take(&mut self, value: &Value<'_>, at: At) -> Result<()> {
        match self {
            Self::Ids(index) => {
                if !index.add(value, at)?.1 {
                    let found = format!("id {} stands there twice", value.text(at)?);
                    return Err(Error::data(at.to_string(), found, "give every node one row"));
                }
            }
            Self::Names(names) if *value == Value::Missing => names.push("".into()),
            Self::Names(names) => names.push(value.text(at)?.into()),
            Self::Labels(words) => words.take(value, at)?,
            Self::Parts(parts) => parts.push(Part::read(value, at)?),
            Self::Mask(part, parts) => parts.push(split::is_set(value, at)?.then_some(*part)),
            Self::Numbers(numbers) => numbers.take(value, at)?,
            Self::Ignored => {}
        }
        Ok(())
    }
}

/// Makes the nodes of the finished columns; `index` is for tables without ids.
fn together(index: Index, header: &[String], columns: Vec<Column>) -> Result<Nodes> {
    let rows = index.len();
    let mut nodes =
        Nodes { index, names: None, features: None, labels: None, split: None, notes: Vec::new() };
    let mut numbers: Vec<Vec<f32>> = Vec::new();
    for (column, name) in columns.into_iter().zip(header) {
        match column {
            Column::Ids(index) => nodes.index = index,
            Column::Names(names) => nodes.names = Some(names.into_iter().collect()),
            Column::Labels(words) => nodes.labels = Some(words.classes(name)?),
            Column::Parts(parts) | Column::Mask(_, parts) => {
                split::add(nodes.split.get_or_insert_default(), (0..).zip(parts));
            }
            Column::Numbers(column) => match column.kind {
                NumberKind::Numbers => numbers.push(column.values),
                NumberKind::Words => nodes.notes.push(format!("column `{name}` holds text and is not used")),
                NumberKind::Empty(_) => nodes.notes.push(format!("column `{name}` is empty and not used")),
            },
            Column::Ignored => {}
        }
    }
    if nodes.names.is_none() && !matches!(nodes.index, Index::Rows(_)) {
        nodes.names = Some(nodes.index.names());
    }
    nodes.features = (!numbers.is_empty()).then(|| side_by_side(rows, &numbers));
    Ok(nodes)
}

/// A matrix of these columns.
fn side_by_side(rows: usize, columns: &[Vec<f32>]) -> Mat {
    let mut out = Mat::zeros(rows, columns.len());
    for row in 0..rows {
        for (to, column) in out.row_mut(row).iter_mut().zip(columns) {
            *to = column[row];
        }
    }
    out
}

/// A column of features, unless its first value is no number.
#[derive(Debug)]
struct Numbers {
    values: Vec<f32>,
    kind: NumberKind,
    /// NaN and missing values will be filled in.
    filled: bool,
}

#[derive(Debug)]
enum NumberKind {
    /// Nothing but missing values so far; the first of them.
    Empty(Option<At>),
    Numbers,
    Words,
}

impl Numbers {
    fn new(nan: NanFeatures) -> Self {
        Self { values: Vec::new(), kind: NumberKind::Empty(None), filled: nan != NanFeatures::Error }
    }

    fn take(&mut self, value: &Value<'_>, at: At) -> Result<()> {
        match (&mut self.kind, value.number()) {
            (NumberKind::Words, _) => Ok(()),
            (_, None) if *value == Value::Missing && self.filled => {
                self.values.push(f32::NAN);
                Ok(())
            }
            (NumberKind::Empty(first), None) if *value == Value::Missing => {
                first.get_or_insert(at);
                Ok(())
            }
            (NumberKind::Empty(Some(first)), Some(_)) => Err(missing(*first)),
            (NumberKind::Empty(_), None) => {
                self.kind = NumberKind::Words;
                Ok(())
            }
            (NumberKind::Numbers, None) if *value == Value::Missing => Err(missing(at)),
            (NumberKind::Numbers, None) => Err(value.refused(at, "a number, as in the rows before")),
            (_, Some(number)) if (number as f32).is_finite() || self.filled && number.is_nan() => {
                self.kind = NumberKind::Numbers;
                self.values.push(number as f32);
                Ok(())
            }
            (_, Some(number)) if number.is_nan() => {
                let found = "NaN; expected a number".to_string();
                Err(Error::data(at.to_string(), found, "fill such values in: --nan-features zero or mean"))
            }
            _ => Err(value.refused(at, "a finite number within the range of float32")),
        }
    }
}

fn missing(at: At) -> Error {
    Error::data(
        at.to_string(),
        "the value is missing; expected a number",
        "fill it in, or use --nan-features zero or mean",
    )
}
