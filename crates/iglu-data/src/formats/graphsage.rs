//! GraphSAGE's files: `PREFIX-G.json` (networkx node-link), `PREFIX-class_map.json`, `PREFIX-id_map.json` and
//! `PREFIX-feats.npy`.
//!
//! A node of the graph is row `id_map[id]` of the features; without an id map, rows are in the order of the graph. Nodes
//! marked `val` or `test` are for these, all others with marks for training. Without features every node has its own: a
//! one-hot row.

use super::class_map::{self, Class};
use super::json::{self, Entries};
use super::node_link::NodeLink;
use super::npy::read_npy;
use super::plain::features::dense;
use super::{
    Place, checked, file_name, folder_of, left_out, mirror, missing_part, only_split, unknown_labels,
};
use crate::{LoadOptions, quoted};
use iglu::config::NanFeatures;
use iglu::{Dataset, Error, Features, Labels, Names, Result, SparseMat, Split};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const GRAPH: &str = "-G.json";

/// A folder with such a graph, or the graph itself.
pub(super) fn detect(place: &Place) -> bool {
    place.entries.iter().any(|entry| entry.ends_with(GRAPH))
        || (!place.head.is_empty() && file_name(&place.path).ends_with(GRAPH))
}

/// Reads the files.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    only_split(options.split)?;
    let files = Files::find(path)?;
    let graph_path = files.path("G.json");
    let graph: NodeLink = json::read(&graph_path, options.limits)?;
    let within = |e: Error| e.within(&quoted(&graph_path));
    let mut edges = graph.edges().map_err(within)?;
    let rows = Rows::read(&files, &graph, options)?;
    for end in edges.iter_mut().flatten() {
        *end = rows.row_of[*end as usize];
    }
    let n = rows.names.len();
    let mirrored = mirror::from_entries(n, &edges, options).map_err(within)?;
    drop(edges);
    let labels = labels(&files, &rows, options)?;
    let (features, no_features) = features(&files.path("feats.npy"), n, options.nan_features)?;
    let (split, unmarked) = split(&graph, &rows);
    let one_way = mirrored.note(&file_name(&graph_path));
    let mut data = Dataset::new(&files.prefix, mirrored.graph, features, labels, split);
    data.notes.extend([one_way, no_features, unmarked].into_iter().flatten());
    data.node_names = rows.own_names();
    checked(data, path, options)
}

/// Files of one prefix.
struct Files {
    folder: PathBuf,
    prefix: String,
}

impl Files {
    fn find(path: &Path) -> Result<Self> {
        let folder = folder_of(path);
        let graphs = if path.is_dir() { super::list(path)? } else { vec![file_name(path)] };
        let prefixes: Vec<&str> = graphs.iter().filter_map(|name| name.strip_suffix(GRAPH)).collect();
        if let [prefix] = prefixes[..] {
            return Ok(Self { folder, prefix: prefix.to_string() });
        }
        let found = format!("{} graphs: {}", prefixes.len(), prefixes.join(", "));
        Err(Error::data(quoted(path), found, format!("name one of them: {}{GRAPH}", prefixes[0])))
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.folder.join(format!("{}-{rest}", self.prefix))
    }
}

/// Which row of the features each node of the graph has.
struct Rows {
    /// By position in the graph.
    row_of: Vec<u32>,
    /// Ids by row.
    names: Vec<String>,
}

impl Rows {
    fn read(files: &Files, graph: &NodeLink, options: &LoadOptions) -> Result<Self> {
        let path = files.path("id_map.json");
        let ids: Vec<String> = graph.nodes.iter().map(|node| node.id.to_string()).collect();
        if !path.exists() {
            return Ok(Self { row_of: (0..ids.len() as u32).collect(), names: ids });
        }
        let map: Entries<i64> = json::read(&path, options.limits)?;
        Self::mapped(&ids, &map).map_err(|e| e.within(&quoted(&path)))
    }

    fn mapped(ids: &[String], map: &Entries<i64>) -> Result<Self> {
        let n = map.0.len();
        let mut names = vec![None; n];
        for (id, row) in &map.0 {
            let place = || format!("key \"{id}\"");
            let Some(slot) = usize::try_from(*row).ok().and_then(|row| names.get_mut(row)) else {
                let found = format!("row {row}; expected 0 to {}", n as i64 - 1);
                return Err(Error::data(place(), found, "rows are numbered without gaps"));
            };
            if let Some(other) = slot.replace(id.clone()) {
                let found = format!("row {row}, which belongs to \"{other}\" already");
                return Err(Error::data(place(), found, "give every node a row of its own"));
            }
        }
        let rows: HashMap<&str, i64> = map.0.iter().map(|(id, row)| (id.as_str(), *row)).collect();
        let row = |id: &String| {
            let missing =
                || Error::data(format!("key \"{id}\""), "no entry for this node of the graph", "add it");
            rows.get(id.as_str()).map(|&row| row as u32).ok_or_else(missing)
        };
        let row_of = ids.iter().map(row).collect::<Result<Vec<u32>>>()?;
        Ok(Self { row_of, names: names.into_iter().flatten().collect() })
    }

    /// The ids, unless they are the rows themselves.
    fn own_names(&self) -> Option<Names> {
        let plain = self.names.iter().enumerate().all(|(row, name)| *name == row.to_string());
        (!plain).then(|| self.names.iter().collect())
    }
}

fn labels(files: &Files, rows: &Rows, options: &LoadOptions) -> Result<Labels> {
    let path = files.path("class_map.json");
    let n = rows.names.len();
    if !path.exists() {
        let fix = "training needs the class of each node in it";
        return if left_out(&path, options) { Ok(unknown_labels(n)) } else { Err(missing_part(&path, fix)) };
    }
    let entries: Entries<Class> = json::read(&path, options.limits)?;
    let row_of: HashMap<&str, usize> =
        rows.names.iter().enumerate().map(|(row, name)| (name.as_str(), row)).collect();
    class_map::labels(&entries, n, options.limits, |key| row_of.get(key).copied())
        .map_err(|e| e.within(&quoted(&path)))
}

fn features(path: &Path, n: usize, nan: NanFeatures) -> Result<(Features, Option<String>)> {
    if path.exists() {
        return Ok((Features::Dense(dense(&quoted(path), &read_npy(path)?, nan)?), None));
    }
    let ids = (0..n as u32).collect();
    let own = SparseMat::from_parts(n, (0..=n as u64).collect(), ids, vec![1.0; n]);
    let note = format!("{} is not there: every node gets a feature of its own", file_name(path));
    Ok((Features::Sparse(own), Some(note)))
}

fn split(graph: &NodeLink, rows: &Rows) -> (Split, Option<String>) {
    let (mut split, mut unmarked) = (Split::default(), 0);
    for (node, &row) in graph.nodes.iter().zip(&rows.row_of) {
        match (node.val, node.test) {
            (Some(true), _) => split.val.push(row),
            (_, Some(true)) => split.test.push(row),
            (Some(false), Some(false)) => split.train.push(row),
            _ => unmarked += 1,
        }
    }
    for part in [&mut split.train, &mut split.val, &mut split.test] {
        part.sort_unstable();
    }
    let note = format!("{unmarked} nodes have no marks `val` and `test`: they are in no part of the split");
    (split, (unmarked > 0).then_some(note))
}
