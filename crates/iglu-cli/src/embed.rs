//! `iglu embed`: the embeddings that a layer of a saved network gives every node.

use crate::predict::{load_data, model_path, node_cell, node_column};
use crate::table::{self, Form};
use crate::text::{self, aligned};
use crate::threads;
use clap::value_parser;
use iglu::model::Model;
use iglu::observe::Stopwatch;
use iglu::{Dataset, Mat, Result};
use iglu_data::columns::{self, Cell, Column, Kind, Table};
use iglu_report::numbers::duration;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  iglu embed runs/mine graph.npz --out embeddings.npy
  iglu embed runs/mine graph.npz --out first.csv --layer 1
  iglu embed runs/mine graph.npz --out embeddings.parquet

An .npy file holds one row per node, float32; a .csv or .parquet file the node and one column for each dimension.";

/// Arguments of `iglu embed`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EmbedArgs {
    /// A best.safetensors, or the folder of a run
    model: PathBuf,
    /// A file or folder in a known format, or `synth:NAME[@scale][#seed]`
    data: String,
    /// File for the embeddings, .npy, .csv or .parquet
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
    let form = Form::of(&args.out)?;
    threads::pool(args.threads.into())?.install(|| embed(args, form))
}

fn embed(args: &EmbedArgs, form: Form) -> Result<()> {
    let model = iglu_data::model::load(&model_path(&args.model)?)?;
    let layer = args.layer.unwrap_or_else(|| before_logits(&model));
    let data = load_data(&args.data, None, &model)?;
    let watch = Stopwatch::new();
    let x = model.embed(&data, layer).map_err(|e| match e {
        e @ iglu::Error::Usage { .. } => e.within("--layer"),
        e => e.within(&format!("`{}`", args.data)),
    })?;
    let seconds = watch.seconds();
    let rows = Embeddings { data: &data, x: &x };
    match form {
        Form::Csv => table::write_csv(&args.out, &rows, None)?,
        Form::Parquet => columns::write_parquet(&args.out, &rows)?,
        Form::Array => iglu_data::write_npy(&args.out, &x)?,
    }
    let out = Output { layer, shape: [x.rows(), x.cols()], seconds, out: args.out.display().to_string() };
    show(args, &out)
}

fn before_logits(model: &Model) -> usize {
    (model.network().depth() - 1).max(1)
}

/// A row for each node: its name and the dimensions of its embedding.
struct Embeddings<'a> {
    data: &'a Dataset,
    x: &'a Mat,
}

impl Table for Embeddings<'_> {
    fn columns(&self) -> Vec<Column> {
        let dimensions = (1..=self.x.cols()).map(|column| Column::new(format!("x{column}"), Kind::Number));
        std::iter::once(node_column(self.data)).chain(dimensions).collect()
    }

    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn row(&self, node: usize) -> Vec<Cell> {
        let values = self.x.row(node).iter().map(|&v| Cell::Number(v));
        std::iter::once(node_cell(self.data, node)).chain(values).collect()
    }
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
