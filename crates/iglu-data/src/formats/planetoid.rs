//! The Planetoid files of Cora, Citeseer and Pubmed: `ind.NAME.x`, `y`, `tx`, `ty`, `allx`, `ally`, `graph` and
//! `test.index`, seven pickles and a text.
//!
//! Row `i` of `allx` and `ally` is node `i`; row `i` of `tx` and `ty` is the node in line `i` of `test.index`. The public
//! split trains on the first nodes, as many as `y` has rows, chooses on the next 500 and tests on those of `test.index`.
//! Nodes that only the graph knows (Citeseer has 15) get no features and no label.

use super::lines::{self, Columns};
use super::mirror;
use super::pickle::{Pickle, Value, whole};
use super::scipy_npz::{Csr, Keys};
use super::{Place, checked, file_name, folder_of, missing_part, only_split, read_whole};
use crate::{LoadOptions, quoted};
use iglu::config::NanFeatures;
use iglu::{Dataset, Error, Features, Labels, Result, SparseMat, Split};
use std::path::{Path, PathBuf};

const PARTS: [&str; 8] = ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"];
/// Nodes the public split chooses models on.
const VALIDATION: usize = 500;
const FETCH: &str = "the files belong together; fetch all of them again";

/// A folder with such files, or one of them.
pub(super) fn detect(place: &Place) -> bool {
    place.entries.iter().any(|entry| name_in(entry).is_some())
        || (!place.head.is_empty() && name_in(&file_name(&place.path)).is_some())
}

/// The name in `ind.NAME.PART`.
fn name_in(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("ind.")?;
    PARTS.iter().find_map(|part| rest.strip_suffix(part)?.strip_suffix('.')).filter(|name| !name.is_empty())
}

/// Reads all eight files.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    only_split(options.split)?;
    let files = Files::find(path)?;
    let known = Block::read(&files, "allx", "ally", options.nan_features)?;
    let tested = Block::read(&files, "tx", "ty", options.nan_features)?;
    let train = Block::read(&files, "x", "y", options.nan_features)?;
    for block in [&tested, &train] {
        block.must_match(&files, &known)?;
    }
    if train.x.rows() > known.x.rows() {
        let found = format!("{} rows, more than the {} of allx", train.x.rows(), known.x.rows());
        return Err(files.error("x", found));
    }
    let adjacency = Adjacency::read(&files)?;
    let nodes = adjacency.keys.max(known.x.rows() + tested.x.rows());
    let edges = adjacency.edges(&files, nodes)?;
    let mirrored =
        mirror::from_entries(nodes, &edges, options).map_err(|e| e.within(&quoted(&files.path("graph"))))?;
    let test = test_nodes(&files, &known, &tested, nodes)?;
    let split = Split {
        train: (0..train.x.rows() as u32).collect(),
        val: (train.x.rows() as u32..known.x.rows() as u32).take(VALIDATION).collect(),
        test,
    };
    let (features, labels) = joined(nodes, &known, &tested, &split.test);
    let one_way = mirrored.note(&format!("ind.{}.graph", files.name));
    let unknown = unknown_note(nodes - known.x.rows() - tested.x.rows());
    let mut data = Dataset::new(&files.name, mirrored.graph, features, labels, split);
    data.notes.extend([one_way, unknown].into_iter().flatten());
    checked(data, path, options)
}

fn unknown_note(nodes: usize) -> Option<String> {
    (nodes > 0)
        .then(|| format!("{nodes} nodes of the graph have no row in allx or tx: no features, no label"))
}

/// The eight files.
struct Files {
    folder: PathBuf,
    name: String,
}

impl Files {
    fn find(path: &Path) -> Result<Self> {
        let name = if path.is_dir() {
            only_name(&Place::look(path)?)?
        } else {
            name_in(&file_name(path)).unwrap_or_default().to_string()
        };
        let files = Self { folder: folder_of(path), name };
        let fix = "a Planetoid dataset is eight files: x, y, tx, ty, allx, ally, graph, test.index";
        match PARTS.iter().find(|part| !files.path(part).exists()) {
            Some(part) => Err(missing_part(&files.path(part), fix)),
            None => Ok(files),
        }
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.join(format!("ind.{}.{part}", self.name))
    }

    fn pickle(&self, part: &str) -> Result<Pickle> {
        Pickle::parse(read_whole(&self.path(part))?)
    }

    /// Reads one part; errors name its file.
    fn within<T>(&self, part: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
        read().map_err(|e| e.within(&quoted(&self.path(part))))
    }

    fn error(&self, part: &str, found: String) -> Error {
        Error::data(quoted(&self.path(part)), found, FETCH)
    }
}

/// The one dataset in a folder.
fn only_name(place: &Place) -> Result<String> {
    let mut names: Vec<&str> = place.entries.iter().filter_map(|entry| name_in(entry)).collect();
    names.sort_unstable();
    names.dedup();
    if let [name] = names[..] {
        return Ok(name.to_string());
    }
    let found = format!("files of {} datasets: {}", names.len(), names.join(", "));
    let fix = format!("name a file of one of them: {}/ind.{}.x", place.path.display(), names[0]);
    Err(Error::data(quoted(&place.path), found, fix))
}

/// Features and labels of some nodes.
struct Block {
    part: &'static str,
    x: Csr,
    ids: Vec<i32>,
    classes: usize,
}

impl Block {
    fn read(files: &Files, x: &'static str, y: &str, nan: NanFeatures) -> Result<Self> {
        let keys = Keys { words: ["row", "feature"], nan, ..Keys::SCIPY };
        let matrix = files.within(x, || {
            let pickle = files.pickle(x)?;
            Csr::check(&pickle.csr(pickle.root())?, &keys)
        })?;
        let (ids, classes) = files.within(y, || one_hot(&files.pickle(y)?))?;
        if ids.len() != matrix.rows() {
            return Err(files.error(y, format!("{} rows, but {x} has {}", ids.len(), matrix.rows())));
        }
        Ok(Self { part: x, x: matrix, ids, classes })
    }

    fn must_match(&self, files: &Files, known: &Self) -> Result<()> {
        let both = [("features", self.x.cols, known.x.cols), ("classes", self.classes, known.classes)];
        match both.into_iter().find(|(_, mine, theirs)| mine != theirs) {
            Some((what, mine, theirs)) => {
                Err(files.error(self.part, format!("{mine} {what}, but {} has {theirs}", known.part)))
            }
            None => Ok(()),
        }
    }
}

/// The class of each row of a 0/1 matrix, -1 where a row is all zeros; and the number of columns.
fn one_hot(pickle: &Pickle) -> Result<(Vec<i32>, usize)> {
    let array = pickle.array(pickle.root())?;
    let &[_, cols] = array.shape() else {
        let found = format!("{}; expected one column per class", array.describe());
        return Err(Error::data("", found, FETCH));
    };
    let bit = |v: f64| if v == 0.0 { Some(false) } else { (v == 1.0).then_some(true) };
    let bits = array.numbers(bit).map_err(|bad| {
        let place = format!("row {}, column {}", bad.index / cols, bad.index % cols);
        Error::data(place, format!("{}; expected 0 or 1", bad.value), FETCH)
    })?;
    let class = |(row, bits): (usize, &[bool])| {
        let mut ones = (0..).zip(bits).filter(|(_, b)| **b).map(|(class, _)| class);
        match (ones.next(), ones.next()) {
            (Some(first), Some(second)) => {
                let found = format!("classes {first} and {second}; expected one class");
                Err(Error::data(format!("row {row}"), found, FETCH))
            }
            (class, _) => Ok(class.unwrap_or(-1)),
        }
    };
    let ids: Result<Vec<i32>> = bits.chunks_exact(cols.max(1)).enumerate().map(class).collect();
    Ok((ids?, cols))
}

/// The graph as it is pickled: a dictionary from node to list of neighbours.
struct Adjacency {
    keys: usize,
    entries: Vec<[Value; 2]>,
}

impl Adjacency {
    fn read(files: &Files) -> Result<Self> {
        files.within("graph", || {
            let file = read_whole(&files.path("graph"))?;
            // A neighbour takes at least two bytes; more of them come from lists that are used again and again.
            let most = file.len();
            let pickle = Pickle::parse(file)?;
            let lists = pickle.dict(pickle.root())?;
            let mut entries = Vec::new();
            for &(node, list) in lists {
                let neighbours = pickle.items(list)?;
                if entries.len() + neighbours.len() > most {
                    let found = format!("more neighbours than the {most} bytes of the file can name");
                    return Err(Error::data("", found, FETCH));
                }
                entries.extend(neighbours.iter().map(|&other| [node, other]));
            }
            Ok(Self { keys: lists.len(), entries })
        })
    }

    fn edges(&self, files: &Files, nodes: usize) -> Result<Vec<[u32; 2]>> {
        let id = |value: Value| match whole(value) {
            Some(id) if (0..nodes as i64).contains(&id) => Ok(id as u32),
            Some(id) => {
                Err(format!("node {id}, but there are {nodes} nodes (0..{})", nodes.saturating_sub(1)))
            }
            None => Err("a node that is no whole number".to_string()),
        };
        let edge = |&[u, v]: &[Value; 2]| Ok([id(u)?, id(v)?]);
        let edges: std::result::Result<_, String> = self.entries.iter().map(edge).collect();
        edges.map_err(|found| files.error("graph", found))
    }
}

/// The node of each row of `tx`.
fn test_nodes(files: &Files, known: &Block, tested: &Block, nodes: usize) -> Result<Vec<u32>> {
    let path = files.path("test.index");
    let (first, rows) = (known.x.rows() as i64, tested.x.rows());
    let columns = Columns { separator: b',', count: Some(1), read: lines::whole, expected: "a node id" };
    let mut seen = vec![false; nodes];
    let mut ids = Vec::new();
    lines::in_file(&path, crate::Limits::default(), |lines| {
        lines.rows(&columns, |line, row| {
            let refuse = |found: String| Err(Error::data(format!("line {line}"), found, FETCH));
            let id = row[0];
            if id < first || id >= nodes as i64 {
                return refuse(format!("node {id}; expected {first} to {}", nodes as i64 - 1));
            }
            if std::mem::replace(&mut seen[id as usize], true) {
                return refuse(format!("node {id} stands there twice"));
            }
            ids.push(id as u32);
            Ok(())
        })
    })?;
    if ids.len() != rows {
        return Err(files.error("test.index", format!("{} nodes, but tx has {rows} rows", ids.len())));
    }
    Ok(ids)
}

/// Features and labels of all nodes, in their order.
fn joined(nodes: usize, known: &Block, tested: &Block, test: &[u32]) -> (Features, Labels) {
    let mut row_of: Vec<Option<(&Block, usize)>> = vec![None; nodes];
    for row in 0..known.x.rows() {
        row_of[row] = Some((known, row));
    }
    for (row, &node) in test.iter().enumerate() {
        row_of[node as usize] = Some((tested, row));
    }
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for place in &row_of {
        if let Some((block, row)) = place {
            indices.extend_from_slice(&block.x.indices[block.x.span(*row)]);
            values.extend_from_slice(&block.x.values[block.x.span(*row)]);
        }
        offsets.push(indices.len() as u64);
    }
    let x = SparseMat::from_parts(known.x.cols, offsets, indices, values);
    let ids = row_of.iter().map(|place| place.map_or(-1, |(block, row)| block.ids[row])).collect();
    (Features::Sparse(x), Labels::Classes { ids, classes: known.classes })
}
