//! Opens a store: checks what is small, maps what is large.

use super::header::{self, HEADER, Kind, Section};
use super::mapped::{self, Map, Plain};
use super::{About, AboutGraph};
use crate::formats::mirror::repeats;
use crate::formats::{Place, open_file, unreadable};
use crate::{Layout, LoadOptions, Purpose, Verify, quoted};
use iglu::config::Duplicates;
use iglu::network::ModelShape;
use iglu::run::Outline;
use iglu::{
    Buffer, Dataset, Error, Features, Graph, GraphParts, Labels, Mat, Names, Permutation, Relation, Result,
    SelfLoops, SparseMat, Split,
};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const MISFIT: &str = "the file is damaged, or was not made by iglu: convert the data again";

/// Files that begin like a store, even if a transfer as text has damaged the rest of the magic.
pub(in crate::formats) fn detect(place: &Place) -> bool {
    place.head.starts_with(&header::MAGIC[..5])
}

/// Opens the store at `path`; errors name it.
pub(in crate::formats) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    open(path, options).map_err(|e| e.within(&quoted(path)))
}

/// Counts of the store: all of them are in its table and its description.
pub(in crate::formats) fn outline(path: &Path, options: &LoadOptions) -> Option<Outline> {
    let mut store = Store::open(path).ok()?;
    let about = store.about().ok()?;
    Some(store.outline(&about, options))
}

fn open(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let mut store = Store::open(path)?;
    if options.verify == Verify::Everything {
        store.sections.iter().try_for_each(|section| section.verify(store.map.bytes()))?;
    }
    let about = store.about()?;
    let data = store.dataset(about, options)?;
    data.validate()?;
    let moved = data.order.is_some() && options.layout == Layout::File;
    if options.verify != Verify::Header || moved {
        check(&data)?;
    }
    Ok(if moved { data.in_file_order() } else { data })
}

/// Reads all rows and features: nothing in them is out of place.
fn check(data: &Dataset) -> Result<()> {
    data.graph.check().map_err(|e| e.within("graph"))?;
    for relation in &data.relations {
        relation.graph.check().map_err(|e| e.within(&relation.name))?;
    }
    if let Features::Sparse(x) = &data.features {
        x.check().map_err(|e| e.within("features"))?;
    }
    let values = data.features.values();
    match iglu::first_where(values, |v| !v.is_finite()) {
        Some(at) => Err(misfit("features", format!("value {at} is {}", values[at]))),
        None => Ok(()),
    }
}

fn misfit(place: &str, found: String) -> Error {
    Error::data(place, found, MISFIT)
}

/// An open store, and the sections nobody has asked for yet.
struct Store {
    map: Arc<Map>,
    sections: Vec<Section>,
}

impl Store {
    fn open(path: &Path) -> Result<Self> {
        let mut file = open_file(path)?;
        let length = file.metadata().map_err(|e| unreadable(path, &e))?.len();
        let mut start = [0; HEADER];
        if length < HEADER as u64 {
            return Err(misfit("header", format!("the file ends after {length} bytes")));
        }
        file.read_exact(&mut start).map_err(|e| unreadable(path, &e))?;
        let head = header::parse_header(&start, length)?;
        let map = Arc::new(Map::new(&file).map_err(|e| unreadable(path, &e))?);
        let sections = head.parse_table(map.bytes())?;
        Ok(Self { map, sections })
    }

    fn about(&mut self) -> Result<About> {
        let bytes = self.copied::<1>(Kind::About)?.unwrap_or_default();
        serde_json::from_slice(bytes.as_flattened()).map_err(|e| misfit("about", e.to_string()))
    }

    fn outline(&self, about: &About, options: &LoadOptions) -> Outline {
        let length = |kind: Kind, number: usize| {
            let found = self.sections.iter().find(|s| (s.kind, s.number as usize) == (kind, number));
            found.map_or(0, |section| section.length)
        };
        let sum = |kinds: &[Kind], number: usize| kinds.iter().map(|&kind| length(kind, number)).sum::<u64>();
        let graphs = std::iter::once(&about.graph).chain(about.relations.iter().map(|(_, graph)| graph));
        let turned = |(number, graph): (usize, &AboutGraph)| {
            (1 + u64::from(graph.directed)) * sum(&[Kind::Offsets, Kind::Neighbours, Kind::Weights], number)
        };
        let sparse = [Kind::SparseOffsets, Kind::SparseIndices, Kind::SparseValues];
        let [train, val, _] = about.splits.get(options.split).copied().unwrap_or_default();
        Outline {
            nodes: about.nodes as usize,
            entries: length(Kind::Neighbours, 0) as usize / size_of::<u32>(),
            graph_bytes: graphs.enumerate().map(turned).sum(),
            feature_bytes: length(Kind::Dense, 0) + sum(&sparse, 0),
            sparse: length(Kind::SparseOffsets, 0) > 0,
            features_rest: length(Kind::Dense, 0) > 0 && cfg!(all(unix, target_endian = "little")),
            label_bytes: sum(&[Kind::Classes, Kind::Labels], 0),
            shape: ModelShape {
                features: about.features as usize,
                classes: about.classes as usize,
                multi_label: self.sections.iter().any(|section| section.kind == Kind::Labels),
                relations: about.relations.len() - about.latent.len().min(about.relations.len()),
                latent: about.latent.len(),
            },
            train: train as usize,
            val: val as usize,
            ordered: self.sections.iter().any(|section| section.kind == Kind::Order),
        }
    }

    fn dataset(mut self, about: About, options: &LoadOptions) -> Result<Dataset> {
        let graph = self.graph(0, about.graph, about.nodes)?;
        let features = self.features(about.nodes, about.features)?;
        let labels = self.labels(about.nodes, about.classes)?;
        let splits = self.splits(&about.splits, about.nodes)?;
        let split = in_use(&splits, options)?;
        let mut data = Dataset::new(&about.name, graph, features, labels, split);
        for (number, (name, graph)) in (1..).zip(about.relations) {
            let latent = about.latent.contains(&data.relations.len());
            let graph = self.graph(number, graph, about.nodes).map_err(|e| e.within(&name))?;
            data.relations.push(Relation { name, graph, latent });
        }
        data.node_names = self.names([Kind::NodeLetters, Kind::NodeEnds])?;
        data.class_names = self.names([Kind::ClassLetters, Kind::ClassEnds])?;
        data.order = self.order()?;
        (data.splits, data.notes) = (splits, about.notes);
        (data.source, data.licence) = (about.source, about.licence);
        data.notes.extend(loops_note(about.graph, options.self_loops)?);
        if options.duplicates == Duplicates::Error && about.graph.duplicates > 0 {
            return Err(repeats("graph", about.graph.duplicates));
        }
        match self.sections.first() {
            Some(section) => Err(misfit(&section.name(), "nobody asked for it".to_string())),
            None => Ok(data),
        }
    }

    /// The section of a kind, once.
    fn take(&mut self, kind: Kind, number: u32) -> Option<Section> {
        let at = self.sections.iter().position(|s| (s.kind, s.number) == (kind, number))?;
        Some(self.sections.remove(at))
    }

    /// Numbers in place, if the section is there; it must have `count` of them, where that is known.
    fn mapped<T: Plain>(&mut self, kind: Kind, number: u32, count: Option<u64>) -> Result<Option<Buffer<T>>> {
        let Some(section) = self.take(kind, number) else { return Ok(None) };
        let Some(numbers) = mapped::array::<T>(&self.map, section.bytes()) else {
            let found = format!("{} bytes cannot be seen as numbers here", section.length);
            return Err(misfit(&section.name(), found));
        };
        match count {
            Some(count) if count != numbers.len() as u64 => {
                Err(misfit(&section.name(), format!("{} numbers; expected {count}", numbers.len())))
            }
            _ => Ok(Some(numbers)),
        }
    }

    /// The items of a section that must be there.
    fn needed<T: Plain>(&mut self, kind: Kind, number: u32, count: Option<u64>) -> Result<Buffer<T>> {
        let found = self.mapped(kind, number, count)?;
        found.ok_or_else(|| misfit("table", format!("no section {kind:?}")))
    }

    /// Items of `N` bytes, verified, if the section is there.
    fn copied<const N: usize>(&mut self, kind: Kind) -> Result<Option<Vec<[u8; N]>>> {
        let Some(section) = self.take(kind, 0) else { return Ok(None) };
        section.verify(self.map.bytes())?;
        match self.map.bytes()[section.bytes()].as_chunks() {
            (items, []) => Ok(Some(items.to_vec())),
            _ => Err(misfit(&section.name(), format!("{} bytes are no whole items", section.length))),
        }
    }

    fn graph(&mut self, number: u32, about: AboutGraph, nodes: u64) -> Result<Graph> {
        let neighbours = self.needed(Kind::Neighbours, number, None)?;
        Graph::from_parts(GraphParts {
            offsets: self.needed(Kind::Offsets, number, Some(nodes.saturating_add(1)))?,
            weights: self.mapped(Kind::Weights, number, Some(neighbours.len() as u64))?,
            neighbours,
            directed: about.directed,
            counts: about.counts(),
        })
    }

    fn features(&mut self, nodes: u64, cols: u64) -> Result<Features> {
        let width = usize::try_from(cols).map_err(|_| misfit("about", format!("{cols} features")))?;
        let all = nodes.checked_mul(cols);
        if let Some(values) = all.map(|all| self.mapped(Kind::Dense, 0, Some(all))).transpose()?.flatten() {
            return Ok(Features::Dense(Mat::from_buffer(nodes as usize, width, values)));
        }
        let offsets: Buffer<u64> = self.needed(Kind::SparseOffsets, 0, Some(nodes.saturating_add(1)))?;
        let end = offsets.last().copied();
        let indices = self.needed(Kind::SparseIndices, 0, end)?;
        let values = self.needed(Kind::SparseValues, 0, end)?;
        Ok(Features::Sparse(SparseMat::from_buffers(width, offsets, indices, values)))
    }

    fn labels(&mut self, nodes: u64, classes: u64) -> Result<Labels> {
        let wrong = |found: String| Err(misfit("labels", found));
        let Ok(classes) = usize::try_from(classes) else { return wrong(format!("{classes} classes")) };
        if let Some(values) = self.copied(Kind::Labels)? {
            let values: Vec<i8> = values.into_iter().map(i8::from_le_bytes).collect();
            let expected = (nodes as usize).checked_mul(classes);
            return match values.iter().find(|v| !(-1..=1).contains(*v)) {
                Some(bad) => wrong(format!("value {bad}")),
                None if expected != Some(values.len()) => wrong(format!("{} values", values.len())),
                None => Ok(Labels::Multi { values, classes }),
            };
        }
        let Some(ids) = self.copied(Kind::Classes)? else { return wrong("there are none".to_string()) };
        let ids: Vec<i32> = ids.into_iter().map(i32::from_le_bytes).collect();
        match ids.iter().find(|id| **id < -1 || **id >= 0 && **id as usize >= classes) {
            Some(bad) => wrong(format!("class {bad} of {classes}")),
            None => Ok(Labels::Classes { ids, classes }),
        }
    }

    /// All splits, also those that nobody asks for now: putting nodes back in their order goes through every one.
    fn splits(&mut self, sizes: &[[u64; 3]], nodes: u64) -> Result<Vec<Split>> {
        let ids = self.copied(Kind::Splits)?.unwrap_or_default();
        let ids: Vec<u32> = ids.into_iter().map(u32::from_le_bytes).collect();
        let mut rest = &ids[..];
        let mut part = |name: &str, size: u64| {
            let found = usize::try_from(size).ok().and_then(|size| rest.split_off(..size));
            let ids = found.ok_or_else(|| misfit("splits", format!("{size} nodes beyond the end")))?;
            match ids.iter().position(|&id| u64::from(id) >= nodes) {
                None => Ok(ids.to_vec()),
                Some(at) => {
                    let found = format!("node {}, but there are {nodes} nodes", ids[at]);
                    Err(misfit(&format!("{name}: entry {at}"), found))
                }
            }
        };
        let mut one = |[train, val, test]: &[u64; 3]| {
            Ok(Split { train: part("train", *train)?, val: part("val", *val)?, test: part("test", *test)? })
        };
        let splits = sizes.iter().map(&mut one).collect::<Result<Vec<Split>>>()?;
        if rest.is_empty() { Ok(splits) } else { Err(misfit("splits", format!("{} nodes more", rest.len()))) }
    }

    fn order(&mut self) -> Result<Option<Permutation>> {
        let numbers = self.copied(Kind::Order)?;
        let order = numbers.map(|n| Permutation::new(n.into_iter().map(u32::from_le_bytes).collect()));
        order.transpose()
    }

    fn names(&mut self, [letters, ends]: [Kind; 2]) -> Result<Option<Names>> {
        let (Some(letters), Some(ends)) = (self.copied::<1>(letters)?, self.copied(ends)?) else {
            return Ok(None);
        };
        let letters = String::from_utf8(letters.into_flattened());
        let letters = letters.map_err(|e| misfit("names", format!("not UTF-8: {}", e.utf8_error())))?;
        Names::from_parts(letters, ends.into_iter().map(u64::from_le_bytes).collect()).map(Some)
    }
}

/// The split asked for; nothing where there is none and nobody needs a stored one.
fn in_use(splits: &[Split], options: &LoadOptions) -> Result<Split> {
    let free = options.split == 0 || options.purpose == Purpose::Predict;
    if splits.is_empty() && free {
        return Ok(Split::default());
    }
    crate::formats::plain::split::pick(splits, options.split, "split")
}

/// Self loops were kept or dropped when the store was made; says so where somebody asks for the other.
fn loops_note(graph: AboutGraph, wanted: SelfLoops) -> Result<Option<String>> {
    let (kept, count) = (graph.loops, graph.self_loops);
    match wanted {
        SelfLoops::Error if count > 0 => {
            let found = format!("{count} edges from a node to itself");
            Err(Error::data("graph", found, "remove them, or set data.self_loops to drop or keep"))
        }
        SelfLoops::Keep if count > 0 && !kept => {
            Ok(Some(format!("{count} self loops were dropped when this file was converted")))
        }
        SelfLoops::Drop if kept => {
            Ok(Some(format!("{count} self loops were kept when this file was converted")))
        }
        _ => Ok(None),
    }
}
