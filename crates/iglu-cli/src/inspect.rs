//! `iglu inspect`: a dataset in numbers.

use crate::text;
use iglu::Result;
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
    /// Which of several splits, from 0
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    split: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Loads and counts.
pub fn run(args: &InspectArgs) -> Result<()> {
    let options = LoadOptions { split: args.split, purpose: Purpose::Predict, ..LoadOptions::default() };
    let card = Card::of(&iglu_data::load(&args.data, &options)?);
    if args.json { text::print_json(&card) } else { text::print(&card.to_string()) }
}
