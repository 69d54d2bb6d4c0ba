//! The `iglu` program: reads arguments, calls the libraries, prints what they return.
//!
//! Results go to stdout, everything else to stderr. One file per subcommand; no algorithm lives here. A library, so
//! that [`run`] serves both the program and the Python package, and configurations are checked alike in both.

mod bench;
mod budget;
mod clock;
mod convert;
mod embed;
mod evaluate;
mod exit;
mod folder;
mod inspect;
mod journal;
mod judge;
mod memory;
mod plan;
mod predict;
mod progress;
mod recipes;
mod report;
mod resume;
mod rhythm;
mod seeds;
mod session;
mod settings;
mod signals;
mod summary;
mod synth;
mod table;
mod text;
mod threads;
mod train;
mod trials;

pub use settings::{Given, configuration, key, to_toml};

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

const EXAMPLES: &str = "\
Examples:
  iglu train                                      train on a small built-in graph
  iglu train graph.npz --layers 3 --out runs/a    train on your own data
  iglu train ppi/ --recipe ppi-large              a network of the paper
  iglu predict runs/a graph.npz --out scores.npy  scores of every node
  iglu embed runs/a graph.npz --out x.npy         embeddings of every node
  iglu evaluate runs/a graph.npz                  all scores, class by class
  iglu report runs/a runs/b --out compare.html    runs side by side
  iglu inspect graph.npz                          what is in a file
  iglu convert graph.npz graph.iglu               the same as a file that opens at once

Exit codes: 0 done, 20 diverged, 64 usage, 65 bad data, 66 missing input, 70 bug, 71 too little memory,
73 folder in use, 74 cannot write, 130 interrupted (143 by SIGTERM).";

/// Graph convolutional networks trained with lazy updates, on ordinary CPUs
#[derive(Debug, Parser)]
#[command(name = "iglu", version, after_help = EXAMPLES, arg_required_else_help = true, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a network and keep the best one
    Train(Box<train::TrainArgs>),
    /// Compute the scores of all nodes with a saved network
    Predict(predict::PredictArgs),
    /// Write the embeddings that a layer of a saved network gives every node
    Embed(embed::EmbedArgs),
    /// Score a saved network on every split of a dataset
    Evaluate(evaluate::EvaluateArgs),
    /// Make the page of a run, or compare several runs
    Report(report::ReportArgs),
    /// Sum up a dataset in numbers
    Inspect(inspect::InspectArgs),
    /// Write a dataset as one file that opens at once
    Convert(convert::ConvertArgs),
    /// Print the steps of training, without training
    Plan(Box<plan::PlanArgs>),
    /// Write a synthetic graph to a file, or list the shapes there are
    Synth(synth::SynthArgs),
    /// Time training phase by phase, against the limits of this machine
    Bench(Box<bench::BenchArgs>),
    /// List the built-in recipes (networks of the paper's tables), or print one
    Recipes(recipes::RecipesArgs),
}

impl Command {
    fn run(&self) -> iglu::Result<()> {
        match self {
            Self::Train(args) => train::run(args),
            Self::Predict(args) => predict::run(args),
            Self::Embed(args) => embed::run(args),
            Self::Evaluate(args) => evaluate::run(args),
            Self::Report(args) => report::run(args),
            Self::Inspect(args) => inspect::run(args),
            Self::Convert(args) => convert::run(args),
            Self::Plan(args) => plan::run(args),
            Self::Synth(args) => synth::run(args),
            Self::Bench(args) => bench::run(args),
            Self::Recipes(args) => recipes::run(args),
        }
    }
}

/// Words after the program's name in the command that runs.
static WORDS: Mutex<Vec<OsString>> = Mutex::new(Vec::new());

/// Runs the program on `words`, the arguments after its name, and gives its exit code.
///
/// ```
/// assert_eq!(iglu_cli::run(["--version"]), 0);
/// assert_eq!(iglu_cli::run(["train", "--no-such-flag"]), 64);
/// ```
pub fn run<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> u8 {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    WORDS.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&words);
    exit::announce_panics();
    let _listening = signals::listen();
    let all = std::iter::once("iglu".into()).chain(words);
    exit::guarded(|| match Cli::try_parse_from(all) {
        Ok(cli) => exit::code(cli.command.run()),
        Err(e) => exit::usage(&e),
    })
}

/// The words that [`run`] was called with last.
fn words() -> Vec<OsString> {
    WORDS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
