//! `iglu inspect`: a dataset in numbers.

use crate::text;
use iglu::Result;
use iglu::config::SplitChoice;
use iglu_data::{Card, DEFAULT_SOURCE, LoadOptions, Purpose};

const EXAMPLES: &str = "\
Examples:
  iglu inspect graph.npz
  iglu inspect graph.npz --split 3 --json
  iglu inspect synth:arxiv@0.1";

/// Arguments of `iglu inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct InspectArgs {
    /// An .npz file, or `synth:NAME[@scale][#seed]`
    #[arg(default_value = DEFAULT_SOURCE)]
    data: String,
    /// Split: a number, random:0.6,0.2,0.2, per-class:20,500,1000 or FILE.npz
    #[arg(long, value_name = "SPLIT", default_value_t, allow_negative_numbers = true)]
    split: SplitChoice,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Loads and counts.
pub fn run(args: &InspectArgs) -> Result<()> {
    let split_choice = args.split.clone();
    let options = LoadOptions { split_choice, purpose: Purpose::Predict, ..LoadOptions::default() };
    let data = iglu_data::load(&args.data, &options)?;
    text::notes(&data.notes);
    let card = Card::of(&data);
    if args.json { text::print_json(&card) } else { text::print(&card.to_string()) }
}
