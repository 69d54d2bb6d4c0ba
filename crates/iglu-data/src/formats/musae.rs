//! The folders of the MUSAE collection (Rozemberczki et al.: Facebook pages, GitHub, Twitch, LastFM, Deezer, Wikipedia).
//!
//! | file | meaning |
//! |---|---|
//! | `NAME_edges.csv` | two columns, the ends of undirected edges |
//! | `NAME_features.json` or `NAME.json` | for each node the list of the features it has |
//! | `NAME_target.csv` | a row per node: id, class and more |
//!
//! The id is the column `new_id`, else `id`. The class is the first of `page_type`, `ml_target`, `mature` and `target`
//! that is there, else the one column that is neither id nor name. Names come from `page_name` or `name`. Of several
//! rows with one id the first counts. There is no split.

use super::json::{self, Entries};
use super::lines::whole;
use super::table::index::{self, Index};
use super::table::value::{Table, Value};
use super::table::words::Words;
use super::table::{self, edges};
use super::{Place, folder_name, folder_of, list};
use crate::{LoadOptions, quoted};
use iglu::{Dataset, Error, Features, Labels, Names, Result, SparseMat, Split};
use std::path::{Path, PathBuf};

/// Columns that hold the class, the most telling first.
const CLASS: [&str; 4] = ["page_type", "ml_target", "mature", "target"];
/// Columns that hold ids, those of the edges first.
const ID: [&str; 2] = ["new_id", "id"];
/// Columns that hold names.
const NAME: [&str; 2] = ["page_name", "name"];
/// Columns that are neither.
const OTHER: [&str; 1] = ["facebook_id"];
/// Feature numbers beyond this are no feature numbers: the network would have a row of weights for each.
const MOST_FEATURES: u32 = 1 << 24;

/// The three files.
struct Files {
    edges: PathBuf,
    features: PathBuf,
    target: PathBuf,
}

impl Files {
    /// The files at `path`, a folder or one of them; `None` if they are not there.
    fn find(path: &Path, there: &[String]) -> Option<Self> {
        let mut names = there.iter().filter_map(|file| file.strip_suffix("_edges.csv"));
        let (name, None) = (names.next()?, names.next()) else { return None };
        let folder = folder_of(path);
        let existing = |file: String| there.contains(&file).then(|| folder.join(file));
        let files = Self {
            edges: existing(format!("{name}_edges.csv"))?,
            features: existing(format!("{name}_features.json"))
                .or_else(|| existing(format!("{name}.json")))?,
            target: existing(format!("{name}_target.csv"))?,
        };
        let all = [&files.edges, &files.features, &files.target];
        let own = path.is_dir() || all.iter().any(|file| file.file_name() == path.file_name());
        own.then_some(files)
    }
}

/// A folder with the three files, or one of them.
pub(super) fn detect(place: &Place) -> bool {
    if place.path.is_dir() {
        return Files::find(&place.path, &place.entries).is_some();
    }
    let ending = ["_edges.csv", "_target.csv", ".json"];
    let named = ending.iter().any(|ending| place.path.to_string_lossy().ends_with(ending));
    named && list(&folder_of(&place.path)).is_ok_and(|there| Files::find(&place.path, &there).is_some())
}

/// Reads the folder at `path`; errors name the file.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let folder = folder_of(path);
    let Some(files) = Files::find(path, &list(&folder)?) else {
        let found = "the files NAME_edges.csv, NAME_features.json and NAME_target.csv are not all there";
        return Err(Error::data("", found, "put them into one folder").within(&quoted(path)));
    };
    let mut nodes = table::open(&files.target, options, |_| true, Nodes::read)?;
    let edges = table::open(&files.edges, options, edges::is_header, |t| edges::read(t, &nodes.index))?;
    let lists: Entries<Vec<u32>> = json::read(&files.features, options.limits)?;
    let features = features(&lists, &nodes.index, &mut nodes.notes);
    let features = features.map_err(|e| e.within(&quoted(&files.features)))?;
    let (graph, _) = edges.graphs(nodes.index.len(), options, &mut nodes.notes)?;
    let mut data = Dataset::new(&folder_name(&folder), graph, features, nodes.labels, Split::default());
    (data.node_names, data.class_names, data.notes) = (nodes.names, nodes.class_names, nodes.notes);
    data.validate().map_err(|e| e.within(&quoted(path)))?;
    Ok(data)
}

/// The nodes, in the order of their ids.
struct Nodes {
    index: Index,
    names: Option<Names>,
    labels: Labels,
    class_names: Option<Names>,
    notes: Vec<String>,
}

impl Nodes {
    /// Reads the table of targets.
    fn read(table: &mut dyn Table) -> Result<Self> {
        let header = table.header().unwrap_or_default().to_vec();
        let (id, class, name) = columns(&header)?;
        let (mut ids, mut classes, mut names) = (Vec::new(), Words::default(), Vec::new());
        let wanted: Vec<bool> = (0..header.len()).map(|c| c == id || c == class || Some(c) == name).collect();
        table.cells(&wanted, &mut |value, at| {
            match at.column {
                c if c == id => ids.push(index::whole(value, at)?),
                c if c == class => classes.take(value, at)?,
                _ if *value == Value::Missing => names.push(String::new()),
                _ => names.push(value.text(at)?.into_owned()),
            }
            Ok(())
        })?;
        let rows = first_rows(&ids);
        let mut notes = Vec::new();
        if rows.len() < ids.len() {
            let more = ids.len() - rows.len();
            notes.push(format!("{more} rows of the target table repeat an id; the first row of each counts"));
        }
        classes.codes = rows.iter().map(|&row| classes.codes[row]).collect();
        let (labels, class_names) = classes.classes(&header[class])?;
        let ids: Vec<i64> = rows.iter().map(|&row| ids[row]).collect();
        let index = Index::of_sorted(&ids);
        let own = || (!matches!(index, Index::Rows(_))).then(|| index.names());
        let names = name.map_or_else(own, |_| Some(rows.iter().map(|&row| &names[row]).collect()));
        Ok(Self { index, names, labels, class_names, notes })
    }
}

/// The columns of id, class and name.
fn columns(header: &[String]) -> Result<(usize, usize, Option<usize>)> {
    let first = |names: &[&str]| names.iter().find_map(|name| header.iter().position(|h| h == name));
    let name = first(&NAME);
    let rest = || {
        let known = [&ID[..], &NAME, &OTHER].concat();
        let mut rest = (0..header.len()).filter(|&c| !known.contains(&header[c].as_str()));
        rest.next().filter(|_| rest.next().is_none())
    };
    let listed: Vec<String> = header.iter().map(|name| format!("`{name}`")).collect();
    let missing = |what: &str, fix: String| {
        Error::data("header", format!("columns {}; none of them is {what}", listed.join(", ")), fix)
    };
    let id = first(&ID).ok_or_else(|| missing("the id", "call it `id`".to_string()))?;
    let class = first(&CLASS).or_else(rest);
    let class = class.ok_or_else(|| missing("the class", format!("call it one of {}", CLASS.join(", "))))?;
    Ok((id, class, name))
}

/// The first row of each id, in the order of the ids.
fn first_rows(ids: &[i64]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..ids.len()).collect();
    rows.sort_by_key(|&row| ids[row]);
    rows.dedup_by_key(|row| ids[*row]);
    rows
}

/// A one for each feature that a node has.
fn features(lists: &Entries<Vec<u32>>, index: &Index, notes: &mut Vec<String>) -> Result<Features> {
    let n = index.len();
    let mut of_node: Vec<Option<&[u32]>> = vec![None; n];
    for (key, list) in &lists.0 {
        let id = whole(key.as_bytes());
        let Some(node) = id.and_then(|id| index.number(id)) else {
            let found = format!("key \"{key}\" is none of the {n} nodes of the target table");
            return Err(Error::data("", found, "keys are ids of nodes"));
        };
        if let Some(&beyond) = list.iter().find(|&&feature| feature >= MOST_FEATURES) {
            let found = format!("key \"{key}\": feature {beyond}; at most {MOST_FEATURES} are possible");
            return Err(Error::data("", found, "number the features 0, 1, 2, ..."));
        }
        of_node[node as usize] = Some(list);
    }
    let without = of_node.iter().filter(|list| list.is_none()).count();
    if without > 0 {
        notes.push(format!("{without} nodes have no list of features: all theirs are 0"));
    }
    Ok(Features::Sparse(ones(&of_node)))
}

fn ones(lists: &[Option<&[u32]>]) -> SparseMat {
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for list in lists {
        let mut row = list.unwrap_or_default().to_vec();
        row.sort_unstable();
        row.dedup();
        indices.append(&mut row);
        offsets.push(indices.len() as u64);
    }
    let cols = indices.iter().max().map_or(0, |&top| top as usize + 1);
    let values = vec![1.0; indices.len()];
    SparseMat::from_parts(cols, offsets, indices, values)
}
