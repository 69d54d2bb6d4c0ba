//! `iglu embed`: the embeddings that a layer of a saved network gives every node.

use crate::predict::{load_data, model_path, node_name};
use crate::text::{self, aligned};
use crate::threads;
use clap::value_parser;
use iglu::model::Model;
use iglu::observe::Stopwatch;
use iglu::{Dataset, Mat, Result};
use iglu_report::numbers::duration;
use iglu_report::table::csv_field;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  iglu embed runs/mine graph.npz --out embeddings.npy
  iglu embed runs/mine graph.npz --out first.csv --layer 1

An .npy file holds one row per node, float32; a .csv file the node and one column for each dimension.";

/// Arguments of `iglu embed`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EmbedArgs {
    /// A best.safetensors, or the folder of a run
    model: PathBuf,
    /// A file or folder in a known format, or `synth:NAME[@scale][#seed]`
    data: String,
    /// File for the embeddings, .npy or .csv
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Layer, from 1; the last one gives the logits [default: the one before the logits]
    #[arg(long, value_name = "K")]
    layer: Option<usize>,
    /// Worker threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u16).range(..=1024))]
    threads: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Output {
    layer: usize,
    shape: [usize; 2],
    seconds: f64,
    out: String,
}

/// Embeds in a pool of its own.
pub fn run(args: &EmbedArgs) -> Result<()> {
    threads::pool(args.threads.into())?.install(|| embed(args))
}

fn embed(args: &EmbedArgs) -> Result<()> {
    let model = iglu_data::model::load(&model_path(&args.model)?)?;
    let layer = args.layer.unwrap_or_else(|| before_logits(&model));
    let data = load_data(&args.data, None, &model)?;
    let watch = Stopwatch::new();
    let x = model.embed(&data, layer).map_err(|e| match e {
        e @ iglu::Error::Usage { .. } => e.within("--layer"),
        e => e.within(&format!("`{}`", args.data)),
    })?;
    let seconds = watch.seconds();
    if args.out.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")) {
        write_table(&args.out, &data, &x)?;
    } else {
        iglu_data::write_npy(&args.out, &x)?;
    }
    let out = Output { layer, shape: [x.rows(), x.cols()], seconds, out: args.out.display().to_string() };
    show(args, &out)
}

fn before_logits(model: &Model) -> usize {
    (model.network().depth() - 1).max(1)
}

fn write_table(path: &Path, data: &Dataset, x: &Mat) -> Result<()> {
    iglu_data::output::replace(path, |out| {
        let head: Vec<String> = (1..=x.cols()).map(|column| format!("x{column}")).collect();
        writeln!(out, "node,{}", head.join(","))?;
        for node in 0..x.rows() {
            write!(out, "{}", csv_field(&node_name(data, node)))?;
            x.row(node).iter().try_for_each(|v| write!(out, ",{v}"))?;
            writeln!(out)?;
        }
        Ok(())
    })
}

fn show(args: &EmbedArgs, output: &Output) -> Result<()> {
    if args.json {
        return text::print_json(output);
    }
    let [rows, cols] = output.shape;
    text::print(&aligned(&[
        ("embeddings", format!("{}: {rows} nodes x {cols}", output.out)),
        ("layer", output.layer.to_string()),
        ("time", duration(output.seconds)),
    ]))
}
