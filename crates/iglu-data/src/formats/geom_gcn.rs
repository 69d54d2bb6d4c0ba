//! The folders of Geom-GCN (Pei et al.: cornell, texas, wisconsin, chameleon, squirrel, film).
//!
//! | file | lines behind the first, separated by tabs |
//! |---|---|
//! | `out1_graph_edges.txt` | two node ids |
//! | `out1_node_feature_label.txt` | id, features between commas, class |
//! | `NAME_split_0.6_0.2_K.npz` | `train_mask`, `val_mask`, `test_mask` of split K; here, in `splits` or in `../splits` |
//!
//! Features are numbers, one per column; where rows differ in length (film) they are the columns that are 1, and there
//! are at least 932. [`LoadOptions::split`] picks K. Edges are taken as undirected: the authors' code keeps their
//! direction, most code after it does not.

use super::lines::{self, Columns, Line, Lines, decimal, whole};
use super::npz::Npz;
use super::plain::split;
use super::table::index::Index;
use super::table::value::{At, Value};
use super::table::words::Words;
use super::{Place, file_name, folder_name, folder_of, list, mirror};
use crate::{Limits, LoadOptions, quoted};
use iglu::config::NanFeatures;
use iglu::{Dataset, Error, Features, Labels, Mat, Names, Result, SparseMat, Split};
use std::path::{Path, PathBuf};

const EDGES: &str = "out1_graph_edges.txt";
const NODES: &str = "out1_node_feature_label.txt";
/// Columns of film, whatever its largest number is.
const FILM: usize = 932;
/// Column numbers beyond this are no column numbers.
const MOST_COLUMNS: usize = 1 << 24;

/// A folder with the two files, or one of them.
pub(super) fn detect(place: &Place) -> bool {
    let named = [EDGES, NODES].contains(&file_name(&place.path).as_str());
    (place.has_entry(EDGES) && place.has_entry(NODES)) || (named && !place.head.is_empty())
}

/// Reads the folder at `path`; errors name the file.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let folder = folder_of(path);
    let limits = options.limits;
    let (nodes, class_names) =
        lines::in_file(&folder.join(NODES), limits, |lines| Nodes::read(lines, options.nan_features))?;
    let edges = lines::in_file(&folder.join(EDGES), limits, |lines| read_edges(lines, &nodes.index))?;
    let mirrored = mirror::from_entries(nodes.index.len(), &edges, options);
    let mirrored = mirrored.map_err(|e| e.within(&quoted(&folder.join(EDGES))))?;
    let note = mirrored.note(EDGES);
    let split = read_split(&folder, nodes.index.len(), options.split, limits)?;
    let mut data = Dataset::new(&folder_name(&folder), mirrored.graph, nodes.features, nodes.labels, split);
    data.node_names = (!matches!(nodes.index, Index::Rows(_))).then(|| nodes.index.names());
    data.class_names = class_names;
    data.notes.extend(note);
    data.validate().map_err(|e| e.within(&quoted(path)))?;
    Ok(data)
}

/// The nodes, in the order of their ids.
struct Nodes {
    index: Index,
    features: Features,
    labels: Labels,
}

/// Rows of the node file, as they come.
#[derive(Default)]
struct Rows {
    /// Id and line of each.
    ids: Vec<(i64, usize)>,
    classes: Words,
    /// Numbers of all rows, and where those of each row end.
    values: Vec<f32>,
    ends: Vec<usize>,
    /// NaN will be filled in.
    filled: bool,
}

impl Nodes {
    fn read(lines: &mut Lines, nan: NanFeatures) -> Result<(Self, Option<Names>)> {
        let mut rows = Rows { filled: nan != NanFeatures::Error, ..Rows::default() };
        // The first line names the columns.
        lines.next()?;
        while let Some(line) = lines.next()? {
            rows.take(&line)?;
        }
        let order = rows.order()?;
        let ids: Vec<i64> = order.iter().map(|&row| rows.ids[row].0).collect();
        let features = rows.features(&order)?;
        rows.classes.codes = order.iter().map(|&row| rows.classes.codes[row]).collect();
        let (labels, class_names) = rows.classes.classes("label")?;
        Ok((Self { index: Index::of_sorted(&ids), features, labels }, class_names))
    }
}

impl Rows {
    fn take(&mut self, line: &Line<'_>) -> Result<()> {
        let fields: Vec<&[u8]> = line.fields(b'\t').collect();
        let &[id, features, class] = &fields[..] else {
            return Err(lines::wrong_width(line, fields.len(), 3));
        };
        let id = whole(id).ok_or_else(|| lines::refused(line, 0, id, "a node id"))?;
        self.ids.push((id, line.number));
        self.classes.take(&Value::Text(class), At { unit: "line", row: line.number, column: 2 })?;
        for field in features.split(|&b| b == b',') {
            match decimal(field).map(|v| v as f32) {
                Some(value) if value.is_finite() || self.filled && value.is_nan() => self.values.push(value),
                Some(value) if value.is_nan() => return Err(nan(line)),
                _ => return Err(lines::refused(line, 1, field, "finite numbers between commas")),
            }
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    /// The rows in the order of their ids; an error if two have the same.
    fn order(&self) -> Result<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_by_key(|&row| self.ids[row]);
        match order.windows(2).find(|pair| self.ids[pair[0]].0 == self.ids[pair[1]].0) {
            None => Ok(order),
            Some(pair) => {
                let (id, line) = self.ids[pair[1]];
                let found = format!("node {id} stands there twice");
                Err(Error::data(format!("line {line}"), found, "give every node one line"))
            }
        }
    }

    fn row(&self, row: usize) -> &[f32] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.values[start..self.ends[row]]
    }

    fn features(&self, order: &[usize]) -> Result<Features> {
        let width = self.ends.first().copied().unwrap_or(0);
        if order.iter().any(|&row| self.row(row).len() != width) {
            return self.listed(order).map(Features::Sparse);
        }
        let values = order.iter().flat_map(|&row| self.row(row)).copied().collect();
        let dense = Mat::from_vec(order.len(), width, values);
        let filled = self.values.iter().filter(|&&v| v != 0.0).count();
        // Words that occur: mostly zeros.
        if filled < self.values.len() / 4 {
            Ok(Features::Sparse(sparse(&dense)))
        } else {
            Ok(Features::Dense(dense))
        }
    }

    /// Rows that list the columns that are 1.
    fn listed(&self, order: &[usize]) -> Result<SparseMat> {
        let (mut offsets, mut indices, mut cols) = (vec![0], Vec::new(), FILM);
        for &row in order {
            let mut columns = Vec::new();
            for &value in self.row(row) {
                if value.fract() != 0.0 || !(0.0..MOST_COLUMNS as f32).contains(&value) {
                    let found =
                        format!("feature {value} in rows of different lengths; expected column numbers");
                    let fix = "list the columns that are 1, or give every node as many numbers";
                    return Err(Error::data(format!("line {}", self.ids[row].1), found, fix));
                }
                columns.push(value as u32);
            }
            columns.sort_unstable();
            columns.dedup();
            cols = cols.max(columns.last().map_or(0, |&top| top as usize + 1));
            indices.append(&mut columns);
            offsets.push(indices.len() as u64);
        }
        let ones = vec![1.0; indices.len()];
        Ok(SparseMat::from_parts(cols, offsets, indices, ones))
    }
}

fn nan(line: &Line<'_>) -> Error {
    let place = format!("line {}, column 2", line.number);
    Error::data(place, "NaN; expected a number", "fill such values in: --nan-features zero or mean")
}

fn sparse(dense: &Mat) -> SparseMat {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..dense.rows() {
        for (column, &value) in dense.row(row).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(column as u32);
            values.push(value);
        }
        offsets.push(indices.len() as u64);
    }
    SparseMat::from_parts(dense.cols(), offsets, indices, values)
}

fn read_edges(lines: &mut Lines, index: &Index) -> Result<Vec<[u32; 2]>> {
    let columns = Columns { separator: b'\t', count: Some(2), read: whole, expected: "a node id" };
    let mut edges = Vec::new();
    lines.next()?;
    lines.rows(&columns, |line, ends| {
        let node = |column: usize| {
            index.number(ends[column]).ok_or_else(|| {
                let found = format!("node {} is none of the {} nodes of {NODES}", ends[column], index.len());
                Error::data(format!("line {line}, column {}", column + 1), found, "check both files together")
            })
        };
        edges.push([node(0)?, node(1)?]);
        Ok(())
    })?;
    Ok(edges)
}

/// Split `number`, or an empty one if there are no splits at all.
fn read_split(folder: &Path, n: usize, number: usize, limits: Limits) -> Result<Split> {
    let files = split_files(folder);
    if files.is_empty() {
        return Ok(Split::default());
    }
    let Some((_, file)) = files.iter().find(|(k, _)| *k == number) else {
        let of = |e: Error| e.within(&quoted(folder));
        return Err(of(split::out_of_range("splits", number, files.len())));
    };
    let mut npz = Npz::open(file, limits)?;
    let mut part = |key: &str| split::mask(key, &npz.array(key, "save the mask under this name")?, n);
    let mut read =
        || Ok(Split { train: part("train_mask")?, val: part("val_mask")?, test: part("test_mask")? });
    read().map_err(|e: Error| e.within(&quoted(file)))
}

/// The split files of a folder with their numbers: those in it, else in `splits`, else in `../splits`.
fn split_files(folder: &Path) -> Vec<(usize, PathBuf)> {
    let prefix = format!("{}_split_", folder_name(folder));
    let number = |file: &String| {
        let stem = file.strip_suffix(".npz")?.strip_prefix(&prefix)?;
        stem.rsplit('_').next()?.parse().ok()
    };
    let places = [folder.to_path_buf(), folder.join("splits"), folder.join("../splits")];
    let in_place = |place: &PathBuf| -> Vec<(usize, PathBuf)> {
        let there = list(place).unwrap_or_default();
        there.iter().filter_map(|file| Some((number(file)?, place.join(file)))).collect()
    };
    places.iter().map(in_place).find(|files| !files.is_empty()).unwrap_or_default()
}
