//! The table of edges: a row per edge, its two ends, perhaps a weight, a kind, a time.

use super::index::{self, Index};
use super::names;
use super::value::{At, Table, Value};
use super::words::Words;
use crate::LoadOptions;
use crate::formats::lines::whole;
use crate::formats::mirror::{self, Mirrored};
use iglu::{EdgeOptions, Error, Graph, Relation, Result};

/// Types of edges whose names start so are neighbourhoods in latent space.
const LATENT: &str = "latent";

/// More kinds than this are none: every kind is a graph of its own.
const MOST_KINDS: usize = 256;

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Source,
    Target,
    Weight,
    Kind,
    Ignored,
}

/// The edges of a table.
#[derive(Debug, Default)]
pub struct Edges {
    /// Both ends of each edge.
    pub pairs: Vec<[u32; 2]>,
    weights: Vec<f32>,
    kinds: Option<Words>,
    /// What people should know.
    pub notes: Vec<String>,
}

/// Whether the first line of a table names the columns of edges.
pub fn is_header(fields: &[String]) -> bool {
    let named = |names| fields.iter().any(|field| names::is(field, names));
    named(names::SOURCE) && named(names::TARGET)
}

/// Whether the first line of a file is one of edges: names of columns, or two numbers.
pub fn is_first_line(fields: &[String]) -> bool {
    let numbers = || fields.iter().take(2).all(|field| whole(field.as_bytes()).is_some());
    fields.len() >= 2 && (is_header(fields) || numbers())
}

/// Reads the edges between nodes that are known.
pub fn read(table: &mut dyn Table, index: &Index) -> Result<Edges> {
    let mut known = Known { index, ends: [const { Vec::new() }; 2], unknown: None };
    let mut edges = take(table, |end, value, at| known.take(end, value, at))?;
    edges.pairs = known.pairs()?;
    Ok(edges)
}

/// Reads the edges of a table that is all there is: its nodes are those that have edges.
pub fn discover(table: &mut dyn Table) -> Result<(Edges, Index)> {
    let mut found = Found::default();
    let mut edges = take(table, |end, value, at| found.take(end, value, at))?;
    let (pairs, index) = found.sorted();
    edges.pairs = pairs;
    Ok((edges, index))
}

/// Reads all columns; ends go to `end`, with 0 for the source and 1 for the target.
fn take(table: &mut dyn Table, mut end: impl FnMut(usize, &Value<'_>, At) -> Result<()>) -> Result<Edges> {
    let mut edges = Edges::default();
    let roles = roles(table, &mut edges.notes)?;
    if roles.contains(&Role::Kind) {
        edges.kinds = Some(Words::default());
    }
    let wanted: Vec<bool> = roles.iter().map(|&role| role != Role::Ignored).collect();
    let rows = table.cells(&wanted, &mut |value, at| match roles[at.column] {
        Role::Source => end(0, value, at),
        Role::Target => end(1, value, at),
        Role::Weight => {
            edges.weights.push(weight(value, at)?);
            Ok(())
        }
        Role::Kind => edges.kinds.as_mut().map_or(Ok(()), |kinds| kinds.take(value, at)),
        Role::Ignored => Ok(()),
    })?;
    if rows == 0 {
        edges.notes.push("there are no edges: the features of a node alone decide".to_string());
    }
    match &edges.kinds {
        Some(kinds) if kinds.len() > MOST_KINDS => {
            let found = format!("{} kinds of edges; at most {MOST_KINDS} are told apart", kinds.len());
            Err(Error::data("header", found, "rename the column if it is no kind, or join rare kinds"))
        }
        _ => Ok(edges),
    }
}

fn roles(table: &dyn Table, notes: &mut Vec<String>) -> Result<Vec<Role>> {
    let Some(header) = table.header() else {
        return match table.width() {
            2 => Ok(vec![Role::Source, Role::Target]),
            other => {
                let found = format!("{other} columns without names; expected 2, the ends of an edge");
                Err(Error::data("line 1", found, "add a first line that names them: source,target,weight"))
            }
        };
    };
    let (source, target) = (
        names::find(header, names::SOURCE, "the source")?,
        names::find(header, names::TARGET, "the target")?,
    );
    let (Some(source), Some(target)) = (source, target) else {
        let found = format!("columns {}; no two of them are the ends of an edge", names::listed(header));
        return Err(Error::data("header", found, "call the columns of the ends `source` and `target`"));
    };
    let weight = names::find(header, names::WEIGHT, "the weight")?;
    let kind = names::find(header, names::KIND, "the kind")?;
    let role = |column: usize| match Some(column) {
        c if c == Some(source) => Role::Source,
        c if c == Some(target) => Role::Target,
        c if c == weight => Role::Weight,
        c if c == kind => Role::Kind,
        _ => Role::Ignored,
    };
    let roles: Vec<Role> = (0..header.len()).map(role).collect();
    for (name, role) in header.iter().zip(&roles) {
        if *role == Role::Ignored && !names::is(name, names::INDEX) {
            let time = if names::is(name, names::TIME) { " (a time)" } else { "" };
            notes.push(format!("column `{name}`{time} of the edges is not used"));
        }
    }
    Ok(roles)
}

fn weight(value: &Value<'_>, at: At) -> Result<f32> {
    match value.number().map(|w| w as f32) {
        Some(w) if w.is_finite() && w >= 0.0 => Ok(w),
        _ => Err(value.refused(at, "a weight: a finite number, 0 or more")),
    }
}

/// Ends of edges, looked up among the nodes.
struct Known<'a> {
    index: &'a Index,
    ends: [Vec<u32>; 2],
    unknown: Option<Unknown>,
}

/// Ends that are no nodes.
struct Unknown {
    at: At,
    first: String,
    more: usize,
    /// All of them are the number of nodes.
    just_behind: bool,
}

impl Known<'_> {
    fn take(&mut self, end: usize, value: &Value<'_>, at: At) -> Result<()> {
        let node = self.index.get(value, at)?;
        self.ends[end].push(node.unwrap_or(0));
        if node.is_none() {
            self.remember(end, value, at)?;
        }
        Ok(())
    }

    #[cold]
    fn remember(&mut self, end: usize, value: &Value<'_>, at: At) -> Result<()> {
        let n = self.index.len();
        let just_behind = value.whole() == Some(n as i64) && matches!(self.index, Index::Rows(_));
        if let Some(unknown) = &mut self.unknown {
            unknown.more += 1;
            unknown.just_behind &= just_behind;
        } else {
            let first = format!("{} {}", ["source", "target"][end], value.text(at)?);
            self.unknown = Some(Unknown { at, first, more: 0, just_behind });
        }
        Ok(())
    }

    fn pairs(self) -> Result<Vec<[u32; 2]>> {
        let n = self.index.len();
        if let Some(Unknown { at, first, more, just_behind }) = self.unknown {
            let among = match self.index {
                Index::Rows(_) => format!(", but there are {n} nodes (0..{})", n.saturating_sub(1)),
                _ => format!(" is none of the {n} nodes of the node table"),
            };
            let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            // The ends that are unknown stand as 0, too.
            let zeros = self.ends.iter().flatten().filter(|&&node| node == 0).count();
            let fix = if just_behind && zeros == more + 1 {
                "the ids seem to start at 1: try --one-based"
            } else {
                "check the edges against the node table"
            };
            return Err(Error::data(at.to_string(), format!("{first}{among}{others}"), fix));
        }
        let [sources, targets] = self.ends;
        Ok(sources.into_iter().zip(targets).map(|(u, v)| [u, v]).collect())
    }
}

/// Ends of edges that name the nodes: all whole numbers, or all words.
#[derive(Default)]
struct Found {
    numbers: [Vec<i64>; 2],
    words: Option<(Index, [Vec<u32>; 2])>,
}

impl Found {
    fn take(&mut self, end: usize, value: &Value<'_>, at: At) -> Result<()> {
        if let Some((index, ends)) = &mut self.words {
            ends[end].push(index.add(value, at)?.0);
            return Ok(());
        }
        match value.whole() {
            Some(id) => self.numbers[end].push(id),
            // The first id decides; a word among numbers is a mistake.
            None if self.numbers.iter().all(Vec::is_empty) && *value != Value::Missing => {
                self.words = Some((Index::Text(std::collections::HashMap::new()), Default::default()));
                return self.take(end, value, at);
            }
            None => return index::whole(value, at).map(|_| ()),
        }
        Ok(())
    }

    fn sorted(self) -> (Vec<[u32; 2]>, Index) {
        if let Some((index, [sources, targets])) = self.words {
            return (sources.into_iter().zip(targets).map(|(u, v)| [u, v]).collect(), index);
        }
        let mut ids: Vec<i64> = self.numbers.iter().flatten().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let node = |id: i64| ids.partition_point(|&other| other < id) as u32;
        let [sources, targets] = &self.numbers;
        let pairs = sources.iter().zip(targets).map(|(&u, &v)| [node(u), node(v)]).collect();
        (pairs, Index::of_sorted(&ids))
    }
}

impl Edges {
    /// The graph of all edges, and one for each kind; a note if some edges lack a direction that others have.
    pub fn graphs(
        self,
        n: usize,
        options: &LoadOptions,
        notes: &mut Vec<String>,
    ) -> Result<(Graph, Vec<Relation>)> {
        let weights = self.weights.iter().any(|&w| w != 1.0).then_some(&self.weights[..]);
        let graph = |pairs: &[[u32; 2]], weights: Option<&[f32]>| {
            if weights.is_none() {
                return mirror::from_entries(n, pairs, options);
            }
            let given = EdgeOptions { weights, ..EdgeOptions::default() };
            Ok(Mirrored { graph: mirror::graph(n, pairs, given, options)?, one_sided: 0 })
        };
        let all = graph(&self.pairs, weights)?;
        notes.extend(all.note("edges"));
        let Some(kinds) = self.kinds else { return Ok((all.graph, Vec::new())) };
        let (codes, names) = kinds.sorted(None);
        let relation = |(name, kind): (&str, u32)| {
            let mine = || (0..self.pairs.len()).filter(|&e| codes[e] == kind);
            let pairs: Vec<[u32; 2]> = mine().map(|e| self.pairs[e]).collect();
            let weights: Option<Vec<f32>> = weights.map(|all| mine().map(|e| all[e]).collect());
            let latent = name.starts_with(LATENT);
            Ok(Relation { name: name.to_string(), graph: graph(&pairs, weights.as_deref())?.graph, latent })
        };
        let relations = names.iter().zip(0..).map(relation).collect::<Result<_>>()?;
        Ok((all.graph, relations))
    }
}
