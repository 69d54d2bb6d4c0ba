//! Graphs as networkx's `node_link_data` writes them: `{"nodes": [{"id": ...}, ...], "links": [{"source": ..., "target":
//! ...}, ...]}`; newer versions say `edges` for `links`.
//!
//! networkx 1 names the ends of a link by position, later versions by id. Where both could be meant and differ, the graph
//! is refused. Attributes other than those below are not read, nor is `directed`: edges are used in both directions.

use iglu::{Error, Result};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Unexpected, Visitor};
use std::collections::HashMap;
use std::fmt;

/// A graph.
#[derive(Debug, Deserialize)]
pub(super) struct NodeLink {
    pub nodes: Vec<Node>,
    #[serde(alias = "edges")]
    links: Links,
}

/// A node; the marks are GraphSAGE's.
#[derive(Debug, Deserialize)]
pub(super) struct Node {
    pub id: Id,
    pub val: Option<bool>,
    pub test: Option<bool>,
}

/// What a node is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Id {
    Number(i64),
    Text(String),
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or text")
    }

    fn visit_i64<E: serde::de::Error>(self, v: i64) -> std::result::Result<Id, E> {
        Ok(Id::Number(v))
    }

    fn visit_u64<E: serde::de::Error>(self, v: u64) -> std::result::Result<Id, E> {
        i64::try_from(v).map(Id::Number).map_err(|_| E::invalid_value(Unexpected::Unsigned(v), &self))
    }

    fn visit_str<E: serde::de::Error>(self, v: &str) -> std::result::Result<Id, E> {
        Ok(Id::Text(v.to_string()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The two ends of each link: numbers where they are, so that millions of links take 16 bytes each.
#[derive(Debug, Default)]
struct Links {
    numbers: Vec<[i64; 2]>,
    names: Vec<[String; 2]>,
}

#[derive(Deserialize)]
struct Link {
    source: Id,
    target: Id,
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_seq(LinksVisitor)
    }
}

struct LinksVisitor;

impl<'de> Visitor<'de> for LinksVisitor {
    type Value = Links;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of links")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Links, A::Error> {
        let mut links = Links::default();
        while let Some(Link { source, target }) = seq.next_element()? {
            match (source, target) {
                (Id::Number(u), Id::Number(v)) => links.numbers.push([u, v]),
                (Id::Text(u), Id::Text(v)) => links.names.push([u, v]),
                (u, v) => {
                    let found = format_args!("a link from \"{u}\" to \"{v}\", one a number and one text");
                    return Err(A::Error::custom(found));
                }
            }
        }
        Ok(links)
    }
}

impl NodeLink {
    /// Links as positions of nodes.
    pub(super) fn edges(&self) -> Result<Vec<[u32; 2]>> {
        let n = self.nodes.len();
        if n > u32::MAX as usize {
            return Err(Error::data("nodes", format!("{n} nodes"), "at most 4294967295 are possible"));
        }
        match (self.links.names.is_empty(), self.links.numbers.is_empty()) {
            (true, _) => self.numbered(),
            (false, true) => {
                let ids = self.positions()?;
                let id = |name: &String| ids.get(&Id::Text(name.clone())).copied();
                resolved(&self.links.names, id, n)
            }
            (false, false) => {
                let found = "some links have numbers, others text";
                Err(Error::data("links", found, "write all ends of links as ids"))
            }
        }
    }

    /// Links whose ends are numbers: positions, or ids where these are numbers too.
    fn numbered(&self) -> Result<Vec<[u32; 2]>> {
        let (n, links) = (self.nodes.len(), &self.links.numbers);
        let in_order = (0..).zip(&self.nodes).all(|(at, node)| node.id == Id::Number(at));
        let position = |&end: &i64| (0..n as i64).contains(&end).then_some(end as u32);
        if in_order || self.nodes.iter().all(|node| matches!(node.id, Id::Text(_))) {
            return resolved(links, position, n);
        }
        let ids = self.positions()?;
        let by_id = resolved(links, |&end| ids.get(&Id::Number(end)).copied(), n);
        match (&by_id, resolved(links, position, n)) {
            (Ok(by_id), Ok(by_position)) if *by_id != by_position => {
                let found = "the ends of links could be ids of nodes or their positions, and these differ";
                let fix = "renumber the nodes 0, 1, 2, ... in their order: networkx.convert_node_labels_to_integers";
                Err(Error::data("links", found, fix))
            }
            (Err(_), Ok(by_position)) => Ok(by_position),
            _ => by_id,
        }
    }

    fn positions(&self) -> Result<HashMap<Id, u32>> {
        let mut positions = HashMap::with_capacity(self.nodes.len());
        for (at, node) in (0..).zip(&self.nodes) {
            if let Some(before) = positions.insert(node.id.clone(), at) {
                let found = format!("the id \"{}\" belongs to nodes {before} and {at}", node.id);
                return Err(Error::data("nodes", found, "give every node an id of its own"));
            }
        }
        Ok(positions)
    }
}

/// Both ends of each link through `position`.
fn resolved<T: fmt::Display>(
    links: &[[T; 2]],
    position: impl Fn(&T) -> Option<u32>,
    n: usize,
) -> Result<Vec<[u32; 2]>> {
    let end = |at: usize, which: &str, id: &T| {
        position(id).ok_or_else(|| {
            let found = format!("{which} {id}, but there is no such node among {n}");
            Error::data(format!("links: entry {at}"), found, "links name nodes by id or by position from 0")
        })
    };
    let link = |(at, [u, v]): (usize, &[T; 2])| Ok([end(at, "source", u)?, end(at, "target", v)?]);
    links.iter().enumerate().map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::super::json::parse;
    use super::*;

    fn edges(nodes: &str, links: &str) -> Result<Vec<[u32; 2]>> {
        let list = |text: &str, of: &dyn Fn(&str) -> String| {
            text.split_whitespace().map(of).collect::<Vec<_>>().join(",")
        };
        let nodes = list(nodes, &|id| format!("{{\"id\": {id}, \"extra\": [1]}}"));
        let links = list(links, &|link| {
            let (u, v) = link.split_once('-').unwrap();
            format!("{{\"source\": {u}, \"target\": {v}}}")
        });
        parse::<NodeLink>(
            format!("{{\"directed\": false, \"nodes\": [{nodes}], \"links\": [{links}]}}").as_bytes(),
        )?
        .edges()
    }

    #[test]
    fn links_by_position_and_by_id() {
        assert_eq!(edges("0 1 2", "0-1 2-1").unwrap(), [[0, 1], [2, 1]]);
        assert_eq!(edges("10 11 12", "10-11 12-11").unwrap(), [[0, 1], [2, 1]]);
        assert_eq!(edges("10 11 12", "0-1 2-1").unwrap(), [[0, 1], [2, 1]]);
        assert_eq!(edges("\"a\" \"b\"", "\"b\"-\"a\"").unwrap(), [[1, 0]]);
        assert_eq!(edges("\"a\" \"b\"", "1-0").unwrap(), [[1, 0]]);
        // Turned ids that mean the same either way are no riddle.
        assert_eq!(edges("1 0 2", "2-2").unwrap(), [[2, 2]]);
        assert_eq!(edges("0 1", "").unwrap(), [[0; 2]; 0]);
    }

    #[test]
    fn bad_links_are_named() {
        for (nodes, links, expect) in [
            ("1 0 2", "0-2", "could be ids of nodes or their positions"),
            ("0 1", "0-2", "links: entry 0: target 2, but there is no such node among 2"),
            ("\"a\" \"b\"", "\"a\"-\"c\"", "links: entry 0: target c"),
            ("\"a\" \"b\"", "\"a\"-1", "one a number and one text"),
            ("\"a\" \"a\"", "\"a\"-\"a\"", "nodes: the id \"a\" belongs to nodes 0 and 1"),
            ("\"a\" 5", "\"a\"-\"a\" 0-1", "some links have numbers, others text"),
            ("1.5", "", "invalid type: floating point `1.5`, expected a whole number or text"),
        ] {
            let e = edges(nodes, links).unwrap_err();
            assert!(e.to_string().contains(expect), "expected `{expect}` in:\n{e}");
        }
    }
}
