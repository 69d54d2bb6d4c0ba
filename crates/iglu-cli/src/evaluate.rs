//! `iglu evaluate`: every score of a saved network on every split.

use crate::judge::{Depth, Judge};
use crate::predict::{load_data, model_path};
use crate::{text, threads};
use clap::value_parser;
use iglu::config::SplitChoice;
use iglu::{Error, Result};
use iglu_report::Profile;
use iglu_report::record::Scores;
use iglu_report::scores::{by_class, by_split, split_name};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  iglu evaluate runs/mine graph.npz
  iglu evaluate runs/mine/best.safetensors new.npz --json
  iglu evaluate runs/mine graph.npz --classes 10";

/// Arguments of `iglu evaluate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EvaluateArgs {
    /// A best.safetensors, or the folder of a run
    model: PathBuf,
    /// Dataset: a file or folder in any form of docs/data.md, or `synth:NAME[@scale][#seed]`
    data: String,
    /// Split to score: a number, random:0.6,0.2,0.2, per-class:20,500,1000 or FILE.npz [default: as in training]
    #[arg(long, value_name = "SPLIT", allow_negative_numbers = true)]
    split: Option<SplitChoice>,
    /// Rows of the table of classes, the largest ones
    #[arg(long, value_name = "N", default_value_t = 40)]
    classes: usize,
    /// Worker threads; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u16).range(..=1024))]
    threads: u16,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Evaluation {
    model: String,
    source: String,
    /// The score the model was chosen by.
    metric: &'static str,
    class_names: Vec<String>,
    scores: Vec<Scores>,
}

/// Evaluates in a pool of its own.
pub fn run(args: &EvaluateArgs) -> Result<()> {
    threads::pool(args.threads.into())?.install(|| evaluate(args))
}

fn evaluate(args: &EvaluateArgs) -> Result<()> {
    let model = iglu_data::model::load(&model_path(&args.model)?)?;
    let data = load_data(&args.data, args.split.as_ref(), &model)?;
    let within = |e: Error| e.within(&format!("`{}`", args.data));
    let logits = model.predict(&data).map_err(within)?;
    let judge = Judge::new(&model, &data, &logits);
    let scores = judge.scores(Depth::All);
    if scores.is_empty() {
        let found = "no node of a split has a label that the model knows";
        return Err(within(Error::data(
            "",
            found,
            "give data with labels and splits; `iglu predict` needs none",
        )));
    }
    let profile = Profile::of(&data);
    let names = profile.class_names.clone();
    let metric = judge.metric.name();
    let (model, source) = (args.model.display().to_string(), args.data.clone());
    let evaluation = Evaluation { model, source, metric, class_names: names, scores };
    if args.json {
        return text::print_json(&evaluation);
    }
    text::print(&evaluation.lines(&profile, args.classes))
}

impl Evaluation {
    fn lines(&self, profile: &Profile, most: usize) -> String {
        let mut parts = vec![by_split(&self.scores).text()];
        if let Some(scores) = self.scores.last().filter(|_| most > 0) {
            let shown = scores.tally.classes.len().min(most);
            let of = if shown < scores.tally.classes.len() { "largest classes" } else { "classes" };
            parts.push(format!("{of} on the {} nodes:", split_name(&scores.split)));
            parts.push(by_class(scores, profile, shown).text());
        }
        parts.join("\n\n")
    }
}
