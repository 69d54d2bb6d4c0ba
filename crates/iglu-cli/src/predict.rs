//! `iglu predict`: scores of all nodes with a saved network, as an array or as a table.

mod rows;

pub use rows::{node_cell, node_column};

use crate::judge::Judge;
use crate::table::{self, Form};
use crate::text::{self, aligned};
use crate::threads;
use crate::train::load_options;
use clap::value_parser;
use iglu::config::SplitChoice;
use iglu::model::Model;
use iglu::observe::Stopwatch;
use iglu::{Dataset, Error, Result};
use iglu_data::columns;
use iglu_report::names;
use iglu_report::numbers::{duration, score};
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  iglu predict runs/mine graph.npz --out scores.npy
  iglu predict runs/mine/best.safetensors new.npz --out scores.npy --json
  iglu predict runs/mine graph.npz --out classes.csv --proba
  iglu predict runs/mine graph.npz --out likely.parquet --top-k 3

An .npy file holds one row per node and one column per class, float32: logits, or probabilities with --proba.
  numpy.load('scores.npy').argmax(axis=1)
A .csv or .parquet file has the node, its class (or its labels, with `;` between them), and what is asked for:
probabilities of all classes (--proba) or the N most likely ones (--top-k N).";

/// Arguments of `iglu predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PredictArgs {
    /// A best.safetensors, or the folder of a run
    model: PathBuf,
    /// Dataset: a file or folder in any form of docs/data.md, or `synth:NAME[@scale][#seed]`
    data: String,
    /// File for the scores, .npy, .csv or .parquet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Probabilities instead of logits; in a table (.csv, .parquet), beside the prediction
    #[arg(long)]
    proba: bool,
    /// The N most likely classes with their probabilities (.csv and .parquet only)
    #[arg(long, value_name = "N", conflicts_with = "proba", value_parser = value_parser!(u32).range(1..))]
    top_k: Option<u32>,
    /// Split to score: a number, random:0.6,0.2,0.2, per-class:20,500,1000 or FILE.npz [default: as in training]
    #[arg(long, value_name = "SPLIT", allow_negative_numbers = true)]
    split: Option<SplitChoice>,
    /// Worker threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u16).range(..=1024))]
    threads: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was predicted, and how well.
#[derive(Debug, Clone, Copy, Serialize)]
struct Prediction {
    metric: &'static str,
    val: Option<f64>,
    test: Option<f64>,
    shape: [usize; 2],
}

/// A prediction, how long it took and where it went.
#[derive(Debug, Serialize)]
struct Output {
    #[serde(flatten)]
    prediction: Prediction,
    seconds: f64,
    out: String,
}

/// Predicts in a pool of its own.
pub fn run(args: &PredictArgs) -> Result<()> {
    let form = Form::of(&args.out)?;
    if args.top_k.is_some() && form == Form::Array {
        let found = format!("`{}` is no .csv or .parquet file", args.out.display());
        return Err(Error::usage("--top-k", found, "name such a file after --out, or leave --top-k out"));
    }
    threads::pool(args.threads.into())?.install(|| predict(args, form))
}

fn predict(args: &PredictArgs, form: Form) -> Result<()> {
    let model = iglu_data::model::load(&model_path(&args.model)?)?;
    let data = load_data(&args.data, args.split.as_ref(), &model)?;
    let watch = Stopwatch::new();
    let logits = model.predict(&data).map_err(|e| e.within(&format!("`{}`", args.data)))?;
    let seconds = watch.seconds();
    let judge = Judge::new(&model, &data, &logits);
    let prediction = Prediction {
        metric: judge.metric.name(),
        val: judge.score(&data.split.val),
        test: judge.score(&data.split.test),
        shape: [logits.rows(), logits.cols()],
    };
    let outputs = if model.shape().multi_label { rows::Outputs::Labels } else { rows::Outputs::Classes };
    let extra = match args.top_k {
        Some(most) => rows::Extra::Likely(most as usize),
        None if args.proba => rows::Extra::All,
        None => rows::Extra::Nothing,
    };
    let rows = rows::Rows { data: &data, logits: &logits, outputs, extra };
    match form {
        Form::Csv => table::write_csv(&args.out, &rows, Some(rows::Rows::DIGITS))?,
        Form::Parquet => columns::write_parquet(&args.out, &rows)?,
        Form::Array if args.proba => iglu_data::write_npy(&args.out, &rows::probabilities(logits, outputs))?,
        Form::Array => iglu_data::write_npy(&args.out, &logits)?,
    }
    show(args, &Output { prediction, seconds, out: args.out.display().to_string() })
}

/// A run's folder stands for the model in it.
pub fn model_path(given: &Path) -> Result<PathBuf> {
    if !given.is_dir() {
        return Ok(given.to_path_buf());
    }
    let model = given.join(names::MODEL);
    match iglu_report::runs_in(given) {
        Ok(runs) if !model.exists() && runs.len() > 1 => {
            let found = format!("`{}` holds the runs of {} seeds", given.display(), runs.len());
            Err(Error::usage("MODEL", found, format!("name one of them, `{}` say", runs[0].display())))
        }
        _ => Ok(model),
    }
}

/// The data with the split to score: the one asked for, else that of training if the data allows it.
pub fn load_data(source: &str, split: Option<&SplitChoice>, model: &Model) -> Result<Dataset> {
    let trained = &model.config().data;
    let mut options = load_options(trained);
    options.purpose = iglu_data::Purpose::Predict;
    let drawn = !matches!(trained.split, SplitChoice::Auto | SplitChoice::Stored(_));
    options.split_choice = match split {
        Some(choice) => choice.clone(),
        None if drawn => SplitChoice::Auto,
        None => trained.split.clone(),
    };
    let mut data = iglu_data::load(source, &options)?;
    if drawn
        && split.is_none()
        && let Err(e) = iglu_data::choose_split(&mut data, &trained.split, trained.split_seed)
    {
        text::note(&format!("note: the split of training does not fit this data: {e}"));
    }
    Ok(data)
}

fn show(args: &PredictArgs, output: &Output) -> Result<()> {
    if args.json {
        return text::print_json(output);
    }
    let Prediction { metric, val, test, shape: [rows, cols] } = output.prediction;
    let with_metric =
        |value: Option<f64>| value.map_or_else(|| score(None), |_| format!("{} {metric}", score(value)));
    text::print(&aligned(&[
        ("scores", format!("{}: {rows} nodes x {cols} classes", output.out)),
        ("validation", with_metric(val)),
        ("test", with_metric(test)),
        ("time", duration(output.seconds)),
    ]))
}
