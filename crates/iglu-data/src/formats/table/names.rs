//! What columns are called, and the role that follows from it. Capitals do not count.

use iglu::{Error, Result};

/// One end of an edge.
pub const SOURCE: &[&str] =
    &["source", "src", "from", "sender", "u", "source_id", "from_id", "id_1", "id1", "node_1", "node1"];
/// The other end.
pub const TARGET: &[&str] = &[
    "target",
    "dst",
    "dest",
    "destination",
    "to",
    "receiver",
    "v",
    "target_id",
    "to_id",
    "id_2",
    "id2",
    "node_2",
    "node2",
];
/// Weight of an edge.
pub const WEIGHT: &[&str] = &["weight", "edge_weight", "w"];
/// Kind of an edge.
pub const KIND: &[&str] = &["type", "relation", "kind", "edge_type", "rel"];
/// Time of an edge.
pub const TIME: &[&str] = &["timestamp", "time", "year", "date"];
/// What edges and splits call a node.
pub const ID: &[&str] = &["id", "node_id", "node", "nodeid"];
/// What people call a node.
pub const NAME: &[&str] = &["name", "node_name"];
/// Class of a node.
pub const LABEL: &[&str] = &["label", "class", "y", "target", "category"];
/// Columns that `pandas` adds, and the like.
pub const INDEX: &[&str] = &["", "unnamed: 0"];

/// Whether a column is called so.
pub fn is(column: &str, names: &[&str]) -> bool {
    names.iter().any(|name| column.eq_ignore_ascii_case(name))
}

/// The one column called so; an error if there are two.
pub fn find(header: &[String], names: &[&str], role: &str) -> Result<Option<usize>> {
    let mut found = (0..header.len()).filter(|&c| is(&header[c], names));
    let (first, second) = (found.next(), found.next());
    if let (Some(first), Some(second)) = (first, second) {
        let found = format!("columns `{}` and `{}` could both be {role}", header[first], header[second]);
        return Err(Error::data("header", found, "rename or remove one of them"));
    }
    Ok(first)
}

/// Columns as messages list them.
pub fn listed(header: &[String]) -> String {
    const MOST: usize = 20;
    let mut names: Vec<String> = header.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    if header.len() > MOST {
        names.push(format!("and {} more", header.len() - MOST));
    }
    names.join(", ")
}
