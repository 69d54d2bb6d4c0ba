//! Tables of edges and of nodes, as text (`csv`, `tsv`, `txt`, packed with gzip or not) or as Parquet files.
//!
//! A dataset is a folder with `edges.*`, `nodes.*` and perhaps `splits.*`, or the file of edges alone, whose node table
//! lies beside it: `x_edges.csv` goes with `x_nodes.*`, `x.csv` with `x_nodes.*`. Columns are found by their names; see
//! `docs/data.md`. Edges are taken as undirected.

pub(super) mod csv;
pub(super) mod edges;
pub(super) mod index;
mod names;
mod nodes;
#[cfg(feature = "parquet")]
mod parquet;
mod split;
pub(super) mod value;
pub(super) mod words;

use super::{
    Place, file_name, folder_name, folder_of, gz, list, looks_like_html, open_file, structure,
    unknown_labels, unreadable, unrecognised,
};
use crate::{LoadOptions, Purpose, quoted};
use csv::Csv;
use edges::Edges;
use iglu::{Dataset, Error, Features, Result, Split};
use index::Index;
use nodes::Nodes;
use std::io::Read;
use std::path::{Path, PathBuf};
use value::Table;

/// How the names of tables end.
const ENDINGS: &[&str] = &["csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz", "parquet"];

/// First bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// The files of a dataset.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    name: String,
    edges: PathBuf,
    nodes: Option<PathBuf>,
    splits: Option<PathBuf>,
}

/// A folder with a table of edges, or such a table.
pub(super) fn detect(place: &Place) -> bool {
    if place.path.is_dir() {
        return ENDINGS.iter().any(|ending| place.has_entry(&format!("edges.{ending}")));
    }
    let text = || csv::first_fields(&gz::peek(&place.head));
    place.head.starts_with(PARQUET) || text().is_some_and(|fields| edges::is_first_line(&fields))
}

/// Reads the tables at `path`; errors name the file.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let files = if path.is_dir() { in_folder(path)? } else { beside(path)? };
    let nodes = files
        .nodes
        .as_deref()
        .map(|path| open(path, options, nodes::is_header, |table| nodes::read(table, options)));
    let nodes = nodes.transpose()?;
    let (edges, nodes) = match nodes {
        Some(nodes) => {
            (open(&files.edges, options, edges::is_header, |t| edges::read(t, &nodes.index))?, nodes)
        }
        None => without_nodes(&files.edges, options)?,
    };
    let splits = files.splits.as_deref().map(|path| {
        open(path, options, nodes::is_header, |table| split::read(table, &nodes.index, options.split))
    });
    let splits = splits.transpose()?;
    let whole = together(edges, nodes, splits, options);
    let mut data = whole.map_err(|e| e.within(&quoted(path)))?;
    data.name = files.name;
    Ok(data)
}

/// Opens a table and reads it; errors name it.
pub(super) fn open<T>(
    path: &Path,
    options: &LoadOptions,
    is_header: fn(&[String]) -> bool,
    read: impl FnOnce(&mut dyn Table) -> Result<T>,
) -> Result<T> {
    let open = || {
        let mut head = Vec::new();
        open_file(path)?.take(Place::HEAD).read_to_end(&mut head).map_err(|e| unreadable(path, &e))?;
        if head.starts_with(PARQUET) {
            return with_parquet(path, options, read);
        }
        if head.is_empty() || looks_like_html(&head) {
            return Err(unrecognised(&head, "a table"));
        }
        read(&mut Csv::open(path, options, is_header)?)
    };
    open().map_err(|e| e.within(&quoted(path)))
}

#[cfg(feature = "parquet")]
fn with_parquet<T>(
    path: &Path,
    options: &LoadOptions,
    read: impl FnOnce(&mut dyn Table) -> Result<T>,
) -> Result<T> {
    read(&mut parquet::Parquet::open(path, options.limits)?)
}

#[cfg(not(feature = "parquet"))]
fn with_parquet<T>(
    _path: &Path,
    _options: &LoadOptions,
    _read: impl FnOnce(&mut dyn Table) -> Result<T>,
) -> Result<T> {
    let found = "this is a Parquet file, and this program was built without them";
    Err(Error::data("", found, "build it with `--features parquet`, or save the table as csv"))
}

/// Edges alone: nodes without labels, good for looking and predicting.
fn without_nodes(edges: &Path, options: &LoadOptions) -> Result<(Edges, Nodes)> {
    if options.purpose == Purpose::Train {
        let found = "there is no node table, so no labels to learn";
        let fix = "put `nodes.csv` beside `edges.csv` (`x_nodes.csv` beside `x_edges.csv`), its columns id, label, ...";
        return Err(Error::data("", found, fix).within(&quoted(edges)));
    }
    let (edges, index) = open(edges, options, edges::is_header, |table| edges::discover(table))?;
    let names = (!matches!(index, Index::Rows(_))).then(|| index.names());
    let nodes = Nodes { index, names, features: None, labels: None, split: None, notes: Vec::new() };
    Ok((edges, nodes))
}

fn together(mut edges: Edges, nodes: Nodes, splits: Option<Split>, options: &LoadOptions) -> Result<Dataset> {
    let n = nodes.index.len();
    let mut notes = nodes.notes;
    notes.append(&mut edges.notes);
    let (graph, relations) = edges.graphs(n, options, &mut notes)?;
    let features = match nodes.features {
        Some(x) => Features::Dense(x),
        None => structure::features(&graph, &mut notes),
    };
    let (labels, class_names) = match nodes.labels {
        Some(labels) => labels,
        None if options.purpose == Purpose::Predict => (unknown_labels(n), None),
        None => {
            let found = "the node table has no column `label`";
            return Err(Error::data("", found, "call the column of the classes `label`"));
        }
    };
    let split = match (nodes.split, splits) {
        (Some(_), Some(_)) => {
            let found = "both the node table and a table of splits say which nodes are for training";
            return Err(Error::data("", found, "keep one of them"));
        }
        (split, splits) => split.or(splits).unwrap_or_default(),
    };
    let mut data = Dataset::new("", graph, features, labels, split);
    (data.relations, data.node_names, data.class_names, data.notes) =
        (relations, nodes.names, class_names, notes);
    data.validate()?;
    Ok(data)
}

/// The files of a folder.
fn in_folder(folder: &Path) -> Result<Files> {
    let there = list(folder)?;
    let file = |stem: &str| only(folder, &there, &[stem.to_string()]);
    let Some(edges) = file("edges")? else {
        return Err(Error::data("", "no table of edges", "call it `edges.csv`").within(&quoted(folder)));
    };
    Ok(Files { name: folder_name(folder), edges, nodes: file("nodes")?, splits: file("splits")? })
}

/// The files that belong to a table of edges.
fn beside(edges: &Path) -> Result<Files> {
    let folder = folder_of(edges);
    let there = list(&folder)?;
    let file = file_name(edges);
    let stem = ENDINGS.iter().find_map(|ending| file.strip_suffix(&format!(".{ending}"))).unwrap_or(&file);
    let name = match stem.replace("edges", "").trim_matches(['_', '-', '.']) {
        "" => folder_name(&folder),
        name => name.to_string(),
    };
    Ok(Files {
        name,
        edges: edges.to_path_buf(),
        nodes: only(&folder, &there, &stems(stem, "nodes"))?,
        splits: only(&folder, &there, &stems(stem, "splits"))?,
    })
}

/// What the table of `what` is called beside a table of edges, without the ending.
fn stems(edges: &str, what: &str) -> Vec<String> {
    match edges.rfind("edges") {
        Some(at) => vec![format!("{}{what}{}", &edges[..at], &edges[at + "edges".len()..])],
        None => vec![format!("{edges}_{what}"), format!("{edges}-{what}")],
    }
}

/// The one file there with such a name and an ending of tables; an error if there are several.
fn only(folder: &Path, there: &[String], stems: &[String]) -> Result<Option<PathBuf>> {
    let wanted = |file: &&String| {
        ENDINGS.iter().any(|ending| stems.iter().any(|stem| **file == format!("{stem}.{ending}")))
    };
    let mut found = there.iter().filter(wanted);
    match (found.next(), found.next()) {
        (Some(one), Some(two)) => {
            let found = format!("both `{one}` and `{two}` are there");
            Err(Error::data("", found, "keep one of them").within(&quoted(folder)))
        }
        (file, _) => Ok(file.map(|file| folder.join(file))),
    }
}
