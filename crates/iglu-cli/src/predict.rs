//! `iglu predict`: scores of all nodes with a saved network.

use crate::folder::MODEL;
use crate::text::{self, aligned, duration, score};
use crate::threads;
use crate::train::load_options;
use clap::value_parser;
use iglu::config::SplitChoice;
use iglu::metrics::Metric;
use iglu::model::Model;
use iglu::observe::Stopwatch;
use iglu::{Dataset, Labels, Mat, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  iglu predict runs/village-1 synth:village --out scores.npy
  iglu predict runs/mine/model.safetensors new.npz --out scores.npy --json

The file holds one row per node and one column per class (logits, float32):
  numpy.load('scores.npy').argmax(axis=1)";

/// Arguments of `iglu predict`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PredictArgs {
    /// A model.safetensors, or the folder of a run
    model: PathBuf,
    /// An .npz file, or `synth:NAME[@scale][#seed]`
    data: String,
    /// File for the scores
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,
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
    threads::pool(args.threads.into())?.install(|| predict(args))
}

fn predict(args: &PredictArgs) -> Result<()> {
    let model = iglu_data::model::load(&model_path(&args.model))?;
    let data = load_data(args, &model)?;
    let watch = Stopwatch::new();
    let logits =
        model.predict(&data.graph, &data.features).map_err(|e| e.within(&format!("`{}`", args.data)))?;
    let seconds = watch.seconds();
    iglu_data::write_npy(&args.out, &logits)?;
    let prediction = judge(&model, &data, &logits);
    show(args, &Output { prediction, seconds, out: args.out.display().to_string() })
}

/// A run's folder stands for the model in it.
fn model_path(given: &Path) -> PathBuf {
    if given.is_dir() { given.join(MODEL) } else { given.to_path_buf() }
}

/// The data with the split to score: the one asked for, else that of training if the data allows it.
fn load_data(args: &PredictArgs, model: &Model) -> Result<Dataset> {
    let trained = &model.config().data;
    let mut options = load_options(trained);
    options.purpose = iglu_data::Purpose::Predict;
    let drawn = !matches!(trained.split, SplitChoice::Auto | SplitChoice::Stored(_));
    options.split_choice = match &args.split {
        Some(choice) => choice.clone(),
        None if drawn => SplitChoice::Auto,
        None => trained.split.clone(),
    };
    let mut data = iglu_data::load(&args.data, &options)?;
    if drawn
        && args.split.is_none()
        && let Err(e) = iglu_data::choose_split(&mut data, &trained.split, trained.split_seed)
    {
        text::note(&format!("note: the split of training does not fit this data: {e}"));
    }
    Ok(data)
}

fn judge(model: &Model, data: &Dataset, logits: &Mat) -> Prediction {
    let metric = model.config().select.metric.or(Metric::default_for(&data.labels));
    let labels = as_outputs(model, &data.labels);
    if labels.is_none() && (0..data.labels.len()).any(|i| data.labels.known(i)) {
        text::note("note: the labels of the data are not those of the model: no scores");
    }
    let score = |rows: &[u32]| labels.as_ref().and_then(|labels| metric.score(logits, labels, rows));
    Prediction {
        metric: metric.name(),
        val: score(&data.split.val),
        test: score(&data.split.test),
        shape: [logits.rows(), logits.cols()],
    }
}

/// The labels in terms of the network's outputs, if they can be: other data may lack the last classes.
fn as_outputs(model: &Model, labels: &Labels) -> Option<Labels> {
    let shape = model.shape();
    match labels {
        Labels::Classes { ids, classes } if !shape.multi_label && *classes <= shape.classes => {
            Some(Labels::Classes { ids: ids.clone(), classes: shape.classes })
        }
        Labels::Multi { classes, .. } if shape.multi_label && *classes == shape.classes => {
            Some(labels.clone())
        }
        _ => None,
    }
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
