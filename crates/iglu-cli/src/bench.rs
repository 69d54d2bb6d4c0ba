//! `iglu bench`: how fast training is here, phase by phase, against what the machine can do in the same run.
//!
//! Files: `trial` (one dataset: its epochs, timed), `machine` (rates measured once and kept), `phase` (time and work
//! of a phase), `table` (for people).

mod machine;
mod phase;
mod table;
mod trial;

use crate::clock::Moment;
use crate::settings::{self, SettingsArgs};
use crate::{text, threads};
use clap::value_parser;
use iglu::{Error, Result};
use iglu_data::output;
use machine::Machine;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use trial::{Order, Trial};

const EXAMPLES: &str = "\
Examples:
  iglu bench                                   the shapes of four datasets with their recipes
  iglu bench arxiv reddit@0.1 --repeat 9       other shapes or sizes
  iglu bench arxiv --set activation=gelu       another network
  iglu bench products proteins --out results   needs 14 GB and some minutes";

/// Arguments of `iglu bench`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct BenchArgs {
    /// Shapes `NAME[@scale][#seed]` of `iglu synth`, or any dataset
    #[arg(default_values_t = ["ppi", "flickr", "arxiv", "reddit"].map(String::from))]
    data: Vec<String>,
    /// Scale of all shapes that have none
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Timed epochs, after one that warms up
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Folder for `bench.json` and `bench.txt`
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", settings::keys_help())
}

/// Shapes and the recipes made for the datasets they resemble.
const RECIPES: &[(&str, &str)] = &[
    ("ppi", "ppi-large"),
    ("flickr", "flickr"),
    ("arxiv", "ogbn-arxiv"),
    ("reddit", "reddit"),
    ("proteins", "ogbn-proteins"),
    ("products", "ogbn-products"),
];

/// All results, for programs.
#[derive(Serialize)]
struct Bench {
    version: &'static str,
    command: String,
    started: String,
    machine: machine::Summary,
    trials: Vec<Trial>,
}

/// One dataset to train on.
struct Source {
    /// As `iglu train` takes it.
    text: String,
    recipe: Option<&'static str>,
}

impl Source {
    fn new(given: &str, scale: Option<f64>) -> Self {
        let plain = given.strip_prefix("synth:").unwrap_or(given);
        let name = plain.split(['@', '#']).next().unwrap_or(plain);
        let shape = iglu_data::synth::names().any(|n| n == name);
        let scaled = match scale {
            Some(scale) if shape && !plain.contains('@') => {
                plain.replacen(name, &format!("{name}@{scale}"), 1)
            }
            _ => plain.to_string(),
        };
        let recipe = RECIPES.iter().find(|(n, _)| *n == name).map(|(_, recipe)| *recipe);
        Self { text: if shape { format!("synth:{scaled}") } else { given.to_string() }, recipe }
    }
}

/// Measures, prints, and writes where asked to.
pub fn run(args: &BenchArgs) -> Result<()> {
    let started = Moment::now().iso();
    let threads = args.settings.resolve_or(None)?.threads;
    let (trials, machine) = threads::pool(threads)?.install(|| trials(args))?;
    let command: Vec<String> = std::env::args().skip(1).collect();
    let bench = Bench {
        version: env!("CARGO_PKG_VERSION"),
        command: format!("iglu {}", command.join(" ")),
        started,
        machine,
        trials,
    };
    let (json, people) = (text::json(&bench)?, table::table(&bench));
    if let Some(folder) = &args.out {
        write(folder, &json, &people)?;
    }
    text::print(if args.json { &json } else { &people })
}

fn trials(args: &BenchArgs) -> Result<(Vec<Trial>, machine::Summary)> {
    let mut machine = Machine::new();
    let mut trials = Vec::new();
    for given in &args.data {
        let source = Source::new(given, args.scale);
        let config = args.settings.resolve_or(source.recipe)?;
        text::note(&format!("{}: {} epochs", source.text, args.repeat + 1));
        let order =
            Order { source: &source.text, recipe: source.recipe, config, repeat: args.repeat as usize };
        trials.push(trial::run(&order, &mut machine)?);
    }
    machine.again();
    Ok((trials, machine.summary()))
}

fn write(folder: &Path, json: &str, people: &str) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| {
        Error::output(folder.display().to_string(), format!("cannot be made: {e}"), "choose another folder")
    })?;
    for (name, content) in [("bench.json", json), ("bench.txt", people)] {
        output::replace(&folder.join(name), |sink| writeln!(sink, "{content}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_shapes_with_their_recipes_or_anything_else() {
        let check = |given: &str, scale: Option<f64>, text: &str, recipe: Option<&str>| {
            let source = Source::new(given, scale);
            assert_eq!((source.text.as_str(), source.recipe), (text, recipe));
        };
        check("ppi", None, "synth:ppi", Some("ppi-large"));
        check("synth:arxiv@0.5#3", Some(0.1), "synth:arxiv@0.5#3", Some("ogbn-arxiv"));
        check("reddit#3", Some(0.1), "synth:reddit@0.1#3", Some("reddit"));
        check("village", None, "synth:village", None);
        check("graph.npz", Some(0.1), "graph.npz", None);
    }

    #[test]
    fn every_recipe_of_a_shape_exists() {
        for (shape, recipe) in RECIPES {
            assert!(iglu_data::synth::names().any(|n| n == *shape), "{shape}");
            assert!(crate::recipes::find(recipe).is_ok(), "{recipe}");
        }
    }
}
