//! Writes a dataset as a store. Same dataset, same bytes.

use super::header::{self, Kind, Section};
use super::{About, AboutGraph};
use crate::output::{self, Sink};
use iglu::{Dataset, Error, Features, Graph, Labels, Names, Result, Split};
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// Writes `data` to the store `path`, replacing an old file only when all is on disk.
///
/// All splits the data came with are written if the one in use is among them, else the one in use alone.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("iglu-doc-{}.iglu", std::process::id()));
/// let village = iglu_data::load("synth:village", &Default::default())?;
/// iglu_data::write_store(&path, &village)?;
/// let back = iglu_data::load(path.to_str().unwrap(), &Default::default())?;
/// assert_eq!(back, village);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn write_store(path: &Path, data: &Dataset) -> Result<()> {
    let splits = splits(data);
    let about = serde_json::to_vec(&about(data, &splits)).map_err(|e| {
        Error::output(crate::quoted(path), format!("the data cannot be described: {e}"), "report this")
    })?;
    let mut arrays = vec![(Kind::About, 0, Numbers::Bytes(about.into()))];
    graph(0, &data.graph, &mut arrays);
    (1..).zip(&data.relations).for_each(|(number, relation)| graph(number, &relation.graph, &mut arrays));
    features(&data.features, &mut arrays);
    arrays.push(match &data.labels {
        Labels::Classes { ids, .. } => (Kind::Classes, 0, Numbers::I32(ids)),
        Labels::Multi { values, .. } => (Kind::Labels, 0, Numbers::I8(values)),
    });
    let flat = splits.iter().flat_map(|s| [&s.train, &s.val, &s.test]).flatten().copied().collect();
    arrays.push((Kind::Splits, 0, Numbers::U32(Cow::Owned(flat))));
    names(data.node_names.as_ref(), [Kind::NodeLetters, Kind::NodeEnds], &mut arrays);
    names(data.class_names.as_ref(), [Kind::ClassLetters, Kind::ClassEnds], &mut arrays);
    arrays.extend(data.order.as_ref().map(|order| (Kind::Order, 0, Numbers::U32(order.old().into()))));
    output::replace(path, |sink| write(sink, &arrays))
}

/// The splits to keep.
fn splits(data: &Dataset) -> Vec<&Split> {
    match &data.splits[..] {
        stored if stored.contains(&data.split) => stored.iter().collect(),
        _ if data.split.is_empty() => data.splits.iter().collect(),
        _ => vec![&data.split],
    }
}

fn about(data: &Dataset, splits: &[&Split]) -> About {
    let sizes = |s: &&Split| [&s.train, &s.val, &s.test].map(|ids| ids.len() as u64);
    About {
        name: data.name.clone(),
        nodes: data.graph.nodes() as u64,
        features: data.features.cols() as u64,
        classes: data.labels.classes() as u64,
        graph: about_graph(&data.graph),
        relations: data.relations.iter().map(|r| (r.name.clone(), about_graph(&r.graph))).collect(),
        latent: (0..data.relations.len()).filter(|&i| data.relations[i].latent).collect(),
        splits: splits.iter().map(sizes).collect(),
        notes: data.notes.clone(),
        source: data.source.clone(),
        licence: data.licence.clone(),
    }
}

fn about_graph(graph: &Graph) -> AboutGraph {
    let counts = graph.counts();
    let has_loop = |v: usize| graph.neighbours(v).binary_search(&(v as u32)).is_ok();
    AboutGraph {
        directed: graph.directed(),
        loops: (0..graph.nodes()).into_par_iter().any(has_loop),
        edges: counts.edges,
        self_loops: counts.self_loops,
        duplicates: counts.duplicates,
    }
}

/// An array to write: its kind, its number, its values.
type Array<'a> = (Kind, u32, Numbers<'a>);

fn graph<'a>(number: u32, graph: &'a Graph, out: &mut Vec<Array<'a>>) {
    out.push((Kind::Offsets, number, Numbers::U64(graph.offsets())));
    out.push((Kind::Neighbours, number, Numbers::U32(graph.columns().into())));
    out.extend(graph.all_weights().map(|weights| (Kind::Weights, number, Numbers::F32(weights))));
}

fn features<'a>(features: &'a Features, out: &mut Vec<Array<'a>>) {
    match features {
        Features::Dense(x) => out.push((Kind::Dense, 0, Numbers::F32(x.data()))),
        Features::Sparse(x) => {
            out.push((Kind::SparseOffsets, 0, Numbers::U64(x.offsets())));
            out.push((Kind::SparseIndices, 0, Numbers::U32(x.indices().into())));
            out.push((Kind::SparseValues, 0, Numbers::F32(x.values())));
        }
    }
}

fn names<'a>(names: Option<&'a Names>, [letters, ends]: [Kind; 2], out: &mut Vec<Array<'a>>) {
    if let Some((text, places)) = names.map(Names::parts) {
        out.push((letters, 0, Numbers::Bytes(text.as_bytes().into())));
        out.push((ends, 0, Numbers::U64(places)));
    }
}

/// The values of an array.
enum Numbers<'a> {
    Bytes(Cow<'a, [u8]>),
    I8(&'a [i8]),
    I32(&'a [i32]),
    U32(Cow<'a, [u32]>),
    U64(&'a [u64]),
    F32(&'a [f32]),
}

impl Numbers<'_> {
    /// Bytes they take.
    fn length(&self) -> u64 {
        let length = match self {
            Self::Bytes(v) => v.len(),
            Self::I8(v) => v.len(),
            Self::I32(v) => size_of_val(*v),
            Self::U32(v) => size_of_val(v.as_ref()),
            Self::U64(v) => size_of_val(*v),
            Self::F32(v) => size_of_val(*v),
        };
        length as u64
    }

    fn write(&self, out: &mut Summed<'_>) -> io::Result<()> {
        match self {
            Self::Bytes(v) => out.write_all(v),
            Self::I8(v) => pieces(out, v, i8::to_le_bytes),
            Self::I32(v) => pieces(out, v, i32::to_le_bytes),
            Self::U32(v) => pieces(out, v, u32::to_le_bytes),
            Self::U64(v) => pieces(out, v, u64::to_le_bytes),
            Self::F32(v) => pieces(out, v, f32::to_le_bytes),
        }
    }
}

/// Writes values a piece at a time.
fn pieces<T: Copy, const N: usize>(
    out: &mut Summed<'_>,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
) -> io::Result<()> {
    const PIECE: usize = 16 << 10;
    let mut buffer = Vec::with_capacity(PIECE * N);
    for piece in values.chunks(PIECE) {
        buffer.clear();
        buffer.extend(piece.iter().flat_map(|&v| bytes(v)));
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Passes bytes on and sums them up.
struct Summed<'a> {
    sink: &'a mut Sink,
    hasher: crc32fast::Hasher,
}

impl Summed<'_> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.sink.write_all(bytes)
    }
}

/// Writes the arrays, then header and table, whose checksums are known only then, before them.
fn write(sink: &mut Sink, arrays: &[Array<'_>]) -> io::Result<()> {
    let mut start = header::first_section(arrays.len());
    sink.seek(SeekFrom::Start(start))?;
    let mut sections = Vec::with_capacity(arrays.len());
    for (kind, number, numbers) in arrays {
        let mut section =
            Section { kind: *kind, number: *number, start, length: numbers.length(), checksum: 0 };
        let mut out = Summed { sink, hasher: crc32fast::Hasher::new() };
        numbers.write(&mut out)?;
        let padding = section.padded().len() - section.bytes().len();
        out.write_all(&vec![0; padding])?;
        section.checksum = out.hasher.finalize();
        start = section.end();
        sections.push(section);
    }
    sink.seek(SeekFrom::Start(0))?;
    sink.write_all(&header::write(&sections))
}
