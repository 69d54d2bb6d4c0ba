//! `iglu synth`: graphs made to measure, written as .npz files.

use crate::text;
use iglu::{Error, Result};
use iglu_data::synth::{Recipe, SHAPES, Shape};
use iglu_report::numbers::grouped;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  iglu synth                                list the shapes
  iglu synth village --out village.npz
  iglu synth arxiv@0.1 --seed 7 --out a.npz  a tenth of the size, other random numbers

`synth:NAME[@scale][#seed]` stands for the same graph wherever a dataset is asked for.";

/// Arguments of `iglu synth`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SynthArgs {
    /// Shape, `NAME[@scale]`; without it the shapes are listed
    #[arg(requires = "out")]
    name: Option<String>,
    /// File to write
    #[arg(long, value_name = "FILE.npz", requires = "name")]
    out: Option<PathBuf>,
    /// Root of the random numbers
    #[arg(long, value_name = "N", requires = "name")]
    seed: Option<u64>,
}

/// Writes a graph, or lists what could be written.
pub fn run(args: &SynthArgs) -> Result<()> {
    match (&args.name, &args.out) {
        (Some(name), Some(out)) => write(recipe(name, args.seed)?, out),
        _ => text::print(&list()),
    }
}

fn recipe(name: &str, seed: Option<u64>) -> Result<Recipe> {
    let recipe = Recipe::parse(name.strip_prefix("synth:").unwrap_or(name))?;
    match seed {
        Some(seed) if name.contains('#') && seed != recipe.seed => {
            let found = format!("{seed}, but `{name}` has the seed {}", recipe.seed);
            Err(Error::usage("--seed", found, "give one of them"))
        }
        Some(seed) => Ok(Recipe { seed, ..recipe }),
        None => Ok(recipe),
    }
}

fn write(recipe: Recipe, out: &Path) -> Result<()> {
    let data = recipe.make()?;
    iglu_data::write_plain(out, &data)?;
    let (nodes, edges) = (grouped(data.graph.nodes()), grouped(data.graph.counts().edges));
    text::print(&format!("{}: {} with {nodes} nodes, {edges} edges", out.display(), recipe.name()))
}

fn list() -> String {
    let head = format!("{:<12} {:>12} {:>14} {:>9} {:>8}", "name", "nodes", "edges", "features", "classes");
    let row = |s: &Shape| {
        let (nodes, edges) = (grouped(s.nodes), grouped(s.edges));
        format!("{:<12} {nodes:>12} {edges:>14} {:>9} {:>8}", s.name, s.features, s.classes)
    };
    std::iter::once(head).chain(SHAPES.iter().map(row)).collect::<Vec<_>>().join("\n")
}
