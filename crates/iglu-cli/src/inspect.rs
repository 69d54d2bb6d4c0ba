//! `iglu inspect`: a dataset in numbers.

use crate::settings::DataArgs;
use crate::text;
use crate::train::load_options;
use iglu::Result;
use iglu_data::{Card, DEFAULT_SOURCE, LoadOptions, Purpose, Verify};

const EXAMPLES: &str = "\
Examples:
  iglu inspect graph.npz
  iglu inspect graph.npz --split 3 --json
  iglu inspect graph.iglu --verify
  iglu inspect synth:arxiv@0.1";

/// Arguments of `iglu inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct InspectArgs {
    /// An .npz file, or `synth:NAME[@scale][#seed]`
    #[arg(default_value = DEFAULT_SOURCE)]
    data: String,
    /// Read all bytes of a .iglu file and compare their checksums
    #[arg(long)]
    verify: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: DataArgs,
}

/// Loads and counts.
pub fn run(args: &InspectArgs) -> Result<()> {
    let verify = if args.verify { Verify::Everything } else { Verify::Structure };
    let options = LoadOptions { purpose: Purpose::Predict, verify, ..load_options(&args.how.resolve()?) };
    let data = iglu_data::load(&args.data, &options)?;
    text::notes(&data.notes);
    let card = Card::of(&data);
    if args.json { text::print_json(&card) } else { text::print(&card.to_string()) }
}
