//! `raw/` as tables of text: comma-separated, without a header, packed with gzip or not.

use super::super::lines::{self, Columns, Lines, decimal, whole};
use super::super::numbering::Numbering;
use super::super::refuse_too_large;
use super::{Raw, Table, label_expected, label_id, missing_part};
use crate::incident::Incident;
use crate::{Gather, Limits, LoadOptions, quoted};
use iglu::config::NanFeatures;
use iglu::{Error, Mat, Result};
use std::path::{Path, PathBuf};

pub(super) struct Text {
    raw: PathBuf,
    limits: Limits,
    skip_header: bool,
    nan: NanFeatures,
}

impl Text {
    pub(super) fn new(raw: &Path, options: &LoadOptions) -> Self {
        let LoadOptions { limits, skip_header, nan_features: nan, .. } = *options;
        Self { raw: raw.to_path_buf(), limits, skip_header, nan }
    }

    /// Reads the table at `path` through `read`; errors name the file.
    fn lines<T>(&self, path: &Path, read: impl FnOnce(&mut Lines) -> Result<T>) -> Result<T> {
        lines::in_file(path, self.limits, |lines| {
            lines.skip_header = self.skip_header;
            read(lines)
        })
    }

    /// The table called `stem`, if it is there; else where it should be.
    fn find(&self, stem: &str) -> std::result::Result<PathBuf, PathBuf> {
        let paths = ["csv.gz", "csv"].map(|ending| self.raw.join(format!("{stem}.{ending}")));
        paths.iter().find(|path| path.exists()).ok_or(&paths[0]).cloned().map_err(Clone::clone)
    }

    /// The single number in a file of counts.
    fn count(&self, stem: &str) -> Result<usize> {
        let path = self
            .find(stem)
            .map_err(|path| missing_part(&path, "it holds the size of the graph; fetch it too"))?;
        let columns = Columns { separator: b',', count: Some(1), read: whole, expected: "a number" };
        let counts = self.lines(&path, |lines| lines.table(&columns))?;
        match counts.values[..] {
            [count] if count >= 0 => Ok(count as usize),
            [count] => {
                Err(Error::data(quoted(&path), format!("{count}; expected 0 or more"), "fetch it again"))
            }
            _ => {
                let found = format!("{} numbers: a dataset of several graphs; expected one", counts.rows);
                Err(Error::data(quoted(&path), found, "datasets for the prediction of nodes have one graph"))
            }
        }
    }
}

impl Raw for Text {
    fn nodes(&mut self) -> Result<usize> {
        self.count("num-node-list")
    }

    fn features(&mut self) -> Result<Option<Mat>> {
        let Ok(path) = self.find("node-feat") else { return Ok(None) };
        let (mut cols, mut values, mut bad) = (0, Vec::new(), NotFinite::new(self.nan));
        let rows = self.lines(&path, |lines| {
            let rows = lines.rows(&FLOATS, |line, row| {
                cols = row.len();
                bad.look(line, row);
                values.extend_from_slice(row);
                Ok(())
            })?;
            bad.refuse().map(|()| rows)
        })?;
        Ok(Some(Mat::from_vec(rows, cols, values)))
    }

    fn labels(&mut self) -> Result<Option<Table>> {
        let Ok(path) = self.find("node-label") else { return Ok(None) };
        let columns = Columns { separator: b',', count: None, read: maybe, expected: "a number, or nothing" };
        let mut table = Table { cols: 0, values: Vec::new() };
        self.lines(&path, |lines| {
            lines.rows(&columns, |line, row| {
                table.cols = row.len();
                for (column, &value) in row.iter().enumerate() {
                    let place = || format!("line {line}, column {}", column + 1);
                    let refuse = || format!("label {value}; expected {}", label_expected(row.len()));
                    let id = label_id(value, row.len());
                    table.values.push(id.ok_or_else(|| Error::data(place(), refuse(), "mend the label"))?);
                }
                Ok(())
            })
        })?;
        Ok(Some(table))
    }

    fn edges(&mut self, numbering: Numbering) -> Result<Vec<[u32; 2]>> {
        let path =
            self.find("edge").map_err(|path| missing_part(&path, "it holds the edges; fetch it too"))?;
        let edges = self.lines(&path, |lines| read_edges(lines, numbering))?;
        if self.find("num-edge-list").is_ok() {
            let declared = self.count("num-edge-list")?;
            if declared != edges.len() {
                let found = format!("{} lines, but num-edge-list says {declared}", edges.len());
                return Err(Error::data(quoted(&path), found, "the download was cut short; fetch it again"));
            }
        }
        Ok(edges)
    }

    fn incident(&mut self, n: usize, edges: &[[u32; 2]], how: Gather) -> Result<Option<Mat>> {
        let Ok(path) = self.find("edge-feat") else { return Ok(None) };
        let (mut sums, mut at, mut bad) = (None, 0, NotFinite::new(NanFeatures::Error));
        self.lines(&path, |lines| {
            let rows = lines.rows(&FLOATS, |line, row| {
                bad.look(line, row);
                if sums.is_none() {
                    refuse_too_large(n, row.len(), size_of::<f64>(), self.limits)?;
                }
                if let Some(&edge) = edges.get(at) {
                    sums.get_or_insert_with(|| Incident::new(n, row.len())).add(edge, row);
                }
                at += 1;
                Ok(())
            })?;
            if rows != edges.len() {
                let found = format!("{rows} rows, but there are {} edges", edges.len());
                return Err(Error::data("", found, "one row per edge: fetch both files again"));
            }
            bad.refuse()
        })?;
        Ok(Some(sums.map_or_else(|| Mat::zeros(n, 0), |sums| sums.finish(how))))
    }

    fn places(&self) -> [PathBuf; 2] {
        ["node-label", "node-feat"].map(|stem| self.find(stem).unwrap_or_else(|path| path))
    }
}

const FLOATS: Columns<f32> = Columns {
    separator: b',',
    count: None,
    read: |field| decimal(field).map(|v| v as f32),
    expected: "a number",
};

/// A number, or NaN where the field is empty.
fn maybe(field: &[u8]) -> Option<f64> {
    if field.trim_ascii().is_empty() { Some(f64::NAN) } else { decimal(field) }
}

/// Values that are no features: the first one, and how many more.
struct NotFinite {
    /// NaN will be filled in.
    filled: bool,
    first: Option<(usize, usize, f32)>,
    more: usize,
}

impl NotFinite {
    fn new(nan: NanFeatures) -> Self {
        Self { filled: nan != NanFeatures::Error, first: None, more: 0 }
    }

    fn look(&mut self, line: usize, row: &[f32]) {
        if row.iter().all(|v| v.is_finite()) {
            return;
        }
        let bad = |v: &f32| !(v.is_finite() || self.filled && v.is_nan());
        for (column, &value) in row.iter().enumerate().filter(|(_, v)| bad(v)) {
            match self.first {
                None => self.first = Some((line, column + 1, value)),
                Some(_) => self.more += 1,
            }
        }
    }

    fn refuse(&self) -> Result<()> {
        let Some((line, column, value)) = self.first else { return Ok(()) };
        let others = if self.more > 0 { format!(" (and {} more)", self.more) } else { String::new() };
        let found = format!("{value}{others}; expected a number within the range of float32");
        let fix = match value {
            v if v.is_nan() => "fill such values in: --nan-features zero or mean",
            _ => "replace such values before training",
        };
        Err(Error::data(format!("line {line}, column {column}"), found, fix))
    }
}

fn read_edges(lines: &mut Lines, numbering: Numbering) -> Result<Vec<[u32; 2]>> {
    let columns = Columns { separator: b',', count: Some(2), read: whole, expected: "a node id" };
    let (mut edges, mut first_bad, mut lowest, mut highest) = (Vec::new(), None, i64::MAX, i64::MIN);
    lines.rows(&columns, |line, row| {
        for (column, &id) in row.iter().enumerate() {
            (lowest, highest) = (lowest.min(id), highest.max(id));
            if numbering.node(id).is_none() {
                first_bad = first_bad.or(Some((line, column, id)));
            }
        }
        edges.push([row[0], row[1]].map(|id| numbering.node(id).unwrap_or(0)));
        Ok(())
    })?;
    let Some((line, column, id)) = first_bad else { return Ok(edges) };
    let otherwise = "ids start at 0 and end below the number of nodes; check num-node-list";
    let fix = numbering.fix(lowest, highest, otherwise);
    Err(numbering.refuse(format!("line {line}"), ["source", "target"][column], id, fix))
}
