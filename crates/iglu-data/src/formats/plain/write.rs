//! Writes a dataset in the plain npz form, readable by NumPy and by this crate. Same dataset, same bytes.

use super::super::npy::{write_all, write_header};
use crate::output::{self, Sink};
use iglu::{Dataset, Features, Graph, Labels, Result, SparseMat};
use std::io;
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Element type of a member, and how its bytes are kept: noise as it is, repeated values deflated (fast).
struct Layout {
    descr: &'static str,
    method: CompressionMethod,
}

const NOISE: Layout = Layout { descr: "<f4", method: CompressionMethod::Stored };
const FLOATS: Layout = Layout { descr: "<f4", method: CompressionMethod::Deflated };
const INTS: Layout = Layout { descr: "<i8", method: CompressionMethod::Deflated };
const BYTES: Layout = Layout { descr: "|i1", method: CompressionMethod::Deflated };

/// Writes `data` to the .npz file `path`, replacing an old file only when all is on disk.
///
/// Undirected edges are written once, features as float32, classes as int64, label matrices as int8.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("iglu-doc-{}.npz", std::process::id()));
/// let village = iglu_data::load("synth:village", &Default::default())?;
/// iglu_data::write_plain(&path, &village)?;
/// let back = iglu_data::load(path.to_str().unwrap(), &Default::default())?;
/// assert_eq!(back.graph, village.graph);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn write_plain(path: &Path, data: &Dataset) -> Result<()> {
    if data.order.is_some() {
        return write_plain(path, &data.clone().in_file_order());
    }
    output::replace(path, |sink| {
        let mut out = Members { zip: ZipWriter::new(sink) };
        out.graph(&data.graph)?;
        match &data.features {
            Features::Dense(x) => {
                let values = x.data().iter().map(|v| v.to_le_bytes());
                out.member("x", &NOISE, &[x.rows(), x.cols()], values)?;
            }
            Features::Sparse(x) => out.sparse(x)?,
        }
        out.labels(&data.labels)?;
        let parts = [("train", &data.split.train), ("val", &data.split.val), ("test", &data.split.test)];
        for (key, ids) in parts {
            out.ints(key, ids.iter().map(|&id| i64::from(id)), ids.len())?;
        }
        out.zip.finish().map(|_| ()).map_err(io::Error::from)
    })
}

struct Members<'a> {
    zip: ZipWriter<&'a mut Sink>,
}

impl Members<'_> {
    fn member<const N: usize>(
        &mut self,
        key: &str,
        layout: &Layout,
        shape: &[usize],
        values: impl Iterator<Item = [u8; N]>,
    ) -> io::Result<()> {
        let level = (layout.method == CompressionMethod::Deflated).then_some(1);
        // The 64-bit form always, as NumPy does: sizes are known only at the end.
        let options = SimpleFileOptions::default().large_file(true);
        let options = options.compression_method(layout.method).compression_level(level);
        self.zip.start_file(format!("{key}.npy"), options)?;
        write_header(&mut self.zip, layout.descr, shape)?;
        write_all(&mut self.zip, values)
    }

    fn ints(&mut self, key: &str, values: impl Iterator<Item = i64>, length: usize) -> io::Result<()> {
        self.member(key, &INTS, &[length], values.map(i64::to_le_bytes))
    }

    fn graph(&mut self, graph: &Graph) -> io::Result<()> {
        let count = kept(graph).count();
        let ids = kept(graph).flat_map(|(u, v, _)| [u, v]).map(|id| i64::from(id).to_le_bytes());
        self.member("edges", &INTS, &[count, 2], ids)?;
        self.ints("directed", [i64::from(graph.directed())].into_iter(), 1)?;
        match graph.all_weights() {
            None => Ok(()),
            Some(w) => {
                let weights = kept(graph).map(|(_, _, at)| w[at].to_le_bytes());
                self.member("edge_weight", &FLOATS, &[count], weights)
            }
        }
    }

    fn sparse(&mut self, x: &SparseMat) -> io::Result<()> {
        let rows = || (0..x.rows()).map(|i| x.row(i));
        let ends = rows().scan(0, |end, (columns, _)| {
            *end += columns.len() as i64;
            Some(*end)
        });
        self.ints("x_shape", [x.rows() as i64, x.cols() as i64].into_iter(), 2)?;
        self.ints("x_indptr", std::iter::once(0).chain(ends), x.rows() + 1)?;
        self.ints("x_indices", rows().flat_map(|(columns, _)| columns).map(|&c| i64::from(c)), x.nnz())?;
        let values = rows().flat_map(|(_, values)| values).map(|v| v.to_le_bytes());
        self.member("x_data", &FLOATS, &[x.nnz()], values)
    }

    fn labels(&mut self, labels: &Labels) -> io::Result<()> {
        match labels {
            Labels::Classes { ids, .. } => self.ints("y", ids.iter().map(|&id| i64::from(id)), ids.len()),
            Labels::Multi { values, classes } => {
                let bytes = values.iter().map(|v| v.to_le_bytes());
                self.member("y", &BYTES, &[labels.len(), *classes], bytes)
            }
        }
    }
}

/// Edges to write, as sender, receiver and place among the stored entries; of an undirected edge only one side.
fn kept(graph: &Graph) -> impl Iterator<Item = (u32, u32, usize)> + '_ {
    (0..graph.nodes() as u32).flat_map(move |v| {
        let first = graph.offsets()[v as usize] as usize;
        let row = graph.neighbours(v as usize).iter().enumerate();
        row.filter(move |&(_, &u)| graph.directed() || u <= v).map(move |(at, &u)| (u, v, first + at))
    })
}
