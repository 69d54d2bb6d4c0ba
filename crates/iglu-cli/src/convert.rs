//! `iglu convert`: a dataset in any form as one file that opens at once.

use crate::progress;
use crate::settings::DataArgs;
use crate::text;
use crate::train::load_options;
use iglu::config::{Auto, SplitChoice};
use iglu::{Error, Result, communities};
use iglu_data::formats::store::EXTENSION;
use iglu_data::{LoadOptions, Purpose};
use iglu_report::numbers::{bytes, grouped};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  iglu convert graph.npz graph.iglu
  iglu convert synth:products products.iglu
  iglu convert graph.npz graph.iglu --split per-class:20,500,1000 --self-loops keep
  iglu convert graph.npz graph.iglu --reorder

A .iglu file is mapped into memory, not read: it opens at once whatever its size. All splits of the
data are kept, or with --split only that one. `iglu inspect FILE --verify` reads all of it and
compares its checksums. A name that ends in .npz gives the plain npz form instead.

With --reorder the nodes of a community lie next to each other in the file, which large graphs are
trained on faster, and the file has their numbers in DATA: predictions come in that order.";

/// Arguments of `iglu convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ConvertArgs {
    /// Dataset: a file or folder in any form of docs/data.md, or `synth:NAME[@scale][#seed]`
    data: String,
    /// File to write
    #[arg(value_name = "OUT.iglu")]
    out: PathBuf,
    #[command(flatten)]
    how: DataArgs,
}

/// Reads and writes.
pub fn run(args: &ConvertArgs) -> Result<()> {
    let write = writer(&args.out)?;
    let config = args.how.resolve()?;
    let reorder = config.reorder == Auto::Set(true);
    if reorder && !is_store(&args.out) {
        let found = format!("`{}` has no place for the nodes' numbers", args.out.display());
        return Err(Error::usage("--reorder", found, "name a file such as graph.iglu"));
    }
    let options = LoadOptions { purpose: Purpose::Predict, ..load_options(&config) };
    let mut data = progress::while_reading(&args.data, || iglu_data::load(&args.data, &options))?;
    if config.split != SplitChoice::Auto {
        data.splits = vec![data.split.clone()];
    }
    if reorder {
        data = data.reordered(&communities::order(&data.graph));
    }
    progress::while_writing(&args.out, || write(&args.out, &data))?;
    text::notes(&data.notes);
    let [nodes, edges] = [data.graph.nodes(), data.graph.counts().edges].map(grouped);
    let size = args.out.metadata().map_or(0, |about| about.len());
    let out = args.out.display();
    text::print(&format!("{out}: {} with {nodes} nodes, {edges} edges, {}", data.name, bytes(size)))
}

fn is_store(out: &Path) -> bool {
    out.extension().is_some_and(|e| e == EXTENSION)
}

type Writer = fn(&Path, &iglu::Dataset) -> Result<()>;

/// Who writes the form that the name asks for.
fn writer(out: &Path) -> Result<Writer> {
    match out.extension().and_then(|e| e.to_str()) {
        Some("iglu") => Ok(iglu_data::write_store),
        Some("npz") => Ok(iglu_data::write_plain),
        _ => {
            let found = format!("`{}` ends neither in .iglu nor in .npz", out.display());
            Err(Error::usage("OUT", found, "name a file such as graph.iglu"))
        }
    }
}
