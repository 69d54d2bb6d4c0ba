//! Built-in recipes: the networks of the paper's tables, as configuration files with a `[recipe]` table in front.
//!
//! A recipe is found by name here and read by [`crate::settings`] like any other file. `iglu recipes` lists them.

use crate::settings::SettingsArgs;
use crate::text;
use iglu::config::{Auto, Config};
use iglu::metrics::Metric;
use iglu::{Error, Result};
use iglu_data::nearest;
use serde::{Deserialize, Serialize};
use std::fmt;

const EXAMPLES: &str = "\
Examples:
  iglu recipes
  iglu recipes show ppi-large
  iglu recipes show ppi-large > mine.toml           then change it and train with --config mine.toml
  iglu train ppi/ --recipe ppi-large --epochs 50    flags win over the recipe";

/// A recipe by name.
#[derive(Debug)]
pub struct Recipe {
    /// Name after `--recipe`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// All recipes. A new one is a file in `recipes/` and a line here.
pub const RECIPES: &[Recipe] = &[
    Recipe { name: "ppi-large", text: include_str!("../recipes/ppi-large.toml") },
    Recipe { name: "reddit", text: include_str!("../recipes/reddit.toml") },
    Recipe { name: "flickr", text: include_str!("../recipes/flickr.toml") },
    Recipe { name: "ogbn-proteins", text: include_str!("../recipes/ogbn-proteins.toml") },
    Recipe { name: "ogbn-arxiv", text: include_str!("../recipes/ogbn-arxiv.toml") },
    Recipe { name: "ogbn-arxiv-trans", text: include_str!("../recipes/ogbn-arxiv-trans.toml") },
    Recipe { name: "ogbn-proteins-trans", text: include_str!("../recipes/ogbn-proteins-trans.toml") },
    Recipe { name: "ogbn-products", text: include_str!("../recipes/ogbn-products.toml") },
    Recipe { name: "gat-cora", text: include_str!("../recipes/gat-cora.toml") },
    Recipe { name: "gat-cora-tuned", text: include_str!("../recipes/gat-cora-tuned.toml") },
    Recipe { name: "gat-citeseer", text: include_str!("../recipes/gat-citeseer.toml") },
    Recipe { name: "gat-pubmed", text: include_str!("../recipes/gat-pubmed.toml") },
];

/// What a recipe says about itself: its `[recipe]` table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preface {
    /// The network in a few words.
    pub about: String,
    /// What it was made for.
    pub data: String,
    /// What the paper reports.
    pub paper: Paper,
    /// Where it does right what the authors' script does wrong.
    pub repairs: Vec<String>,
    /// Where it differs from the script besides.
    pub differs: Vec<String>,
}

/// A test score of the paper: mean and deviation of its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    score: f64,
    deviation: f64,
    metric: Metric,
    table: String,
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} +- {} {}", self.score, self.deviation, self.metric)
    }
}

/// The recipe of that name.
pub fn find(name: &str) -> Result<&'static Recipe> {
    RECIPES.iter().find(|r| r.name == name).ok_or_else(|| {
        let near = nearest(name, RECIPES.iter().map(|r| r.name));
        let fix = near.map_or_else(
            || "`iglu recipes` lists them".to_string(),
            |near| format!("did you mean `{near}`? `iglu recipes` lists them all"),
        );
        Error::usage(format!("`{name}`"), "there is no such recipe", fix)
    })
}

impl Recipe {
    /// What it says about itself.
    pub fn preface(&self) -> Result<Preface> {
        #[derive(Deserialize)]
        struct File {
            recipe: Preface,
        }
        let file: File = toml::from_str(self.text)
            .map_err(|e| Error::usage(format!("recipe `{}`", self.name), e.message(), "report this"))?;
        Ok(file.recipe)
    }

    /// The configuration it gives when nothing else is said.
    pub fn config(&self) -> Result<Config> {
        SettingsArgs::of_recipe(self.name).resolve()
    }
}

/// Arguments of `iglu recipes`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RecipesArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the file of a recipe
    #[command(after_help = EXAMPLES)]
    Show {
        /// Its name
        name: String,
    },
}

/// One recipe for programs.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    #[serde(flatten)]
    preface: Preface,
    epochs: Auto<usize>,
}

/// One recipe with its whole configuration.
#[derive(Serialize)]
struct Shown {
    name: &'static str,
    #[serde(flatten)]
    preface: Preface,
    config: Config,
}

/// Lists the recipes, or prints one.
pub fn run(args: &RecipesArgs) -> Result<()> {
    match (&args.command, args.json) {
        (None, false) => text::print(&list(&entries()?)),
        (None, true) => text::print_json(&entries()?),
        (Some(Command::Show { name }), false) => text::print(find(name)?.text.trim_end()),
        (Some(Command::Show { name }), true) => {
            let recipe = find(name)?;
            text::print_json(&Shown {
                name: recipe.name,
                preface: recipe.preface()?,
                config: recipe.config()?,
            })
        }
    }
}

fn entries() -> Result<Vec<Entry>> {
    let entry =
        |r: &Recipe| Ok(Entry { name: r.name, preface: r.preface()?, epochs: r.config()?.train.epochs });
    RECIPES.iter().map(entry).collect()
}

fn list(entries: &[Entry]) -> String {
    let row = |name: &str, network: &str, epochs: &str, paper: &str| {
        format!("{name:<19} {network:<44} {epochs:>6}  {paper}")
    };
    let head = row("name", "network", "epochs", "test score in the paper");
    let line =
        |e: &Entry| row(e.name, &e.preface.about, &e.epochs.or(0).to_string(), &e.preface.paper.to_string());
    std::iter::once(head).chain(entries.iter().map(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::network::{ModelShape, Network};
    use std::path::Path;

    #[test]
    fn every_file_is_listed_and_every_recipe_speaks_about_itself() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes");
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name());
        let mut files: Vec<String> = files.map(|f| f.into_string().unwrap()).collect();
        let mut names: Vec<String> = RECIPES.iter().map(|r| format!("{}.toml", r.name)).collect();
        files.sort();
        names.sort();
        assert_eq!(files, names);
        for recipe in RECIPES {
            let preface = recipe.preface().unwrap();
            assert!(!preface.about.is_empty() && !preface.data.is_empty(), "{}", recipe.name);
            assert!((0.0..1.0).contains(&preface.paper.score), "{}: {}", recipe.name, preface.paper);
        }
    }

    #[test]
    fn the_page_tells_every_recipe_repair_and_difference() {
        let page = include_str!("../../../docs/recipes.md");
        for recipe in RECIPES {
            let preface = recipe.preface().unwrap();
            let row = page.lines().find(|l| l.starts_with(&format!("| `{}` |", recipe.name)));
            let row = row.unwrap_or_else(|| panic!("no row for {}", recipe.name));
            let paper = preface.paper.to_string().replace("+-", "±").replace("f1-micro", "micro-F1");
            assert!(row.contains(&paper.replace("roc-auc", "ROC-AUC")), "{row}: {paper}");
            assert!(row.contains(&format!(" {} ", recipe.config().unwrap().train.epochs.or(0))), "{row}");
            for sentence in preface.repairs.iter().chain(&preface.differs) {
                let told =
                    page.lines().any(|l| l.contains(&format!("`{}`", recipe.name)) && l.contains(sentence));
                assert!(told, "docs/recipes.md, {}: {sentence}", recipe.name);
            }
        }
    }

    /// Learned values of the authors' scripts, counted from the shapes of their variables.
    #[test]
    fn networks_have_the_sizes_of_the_scripts() {
        let norm = |width: usize| 2 * width;
        let saint = |d: usize, width: usize| 2 * (d * width + norm(width));
        let summed = |d: usize, classes: usize| saint(d, 256) + 2 * saint(256, 256) + 256 * classes;
        let gcn = |d: usize| d * 256 + 256 + norm(256);
        // W, the attention vector and the bias; the scalar inside the softmax does nothing and is left out.
        let gat = |d: usize, classes: usize, heads: usize| {
            8 * (d * 8 + 16) + 64 + heads * (64 * classes + 2 * classes) + classes
        };
        for (name, features, classes, expect) in [
            ("ppi-large", 50, 121, saint(50, 512) + saint(1024, 512) + 1024 * 121),
            ("flickr", 500, 7, saint(500, 128) + saint(256, 128) + 256 * 7),
            ("reddit", 602, 41, 1204 * 128 + norm(128) + 256 * 41),
            ("ogbn-arxiv", 128, 40, gcn(128) + gcn(256) + 256 * 40 + 40),
            ("ogbn-arxiv-trans", 128, 40, gcn(128) + gcn(256) + 256 * 40 + 40),
            ("ogbn-proteins", 8, 112, summed(8, 112)),
            ("ogbn-proteins-trans", 8, 112, summed(8, 112)),
            ("ogbn-products", 100, 47, summed(100, 47)),
            ("gat-cora", 1433, 7, gat(1433, 7, 1)),
            ("gat-cora-tuned", 1433, 7, gat(1433, 7, 1)),
            ("gat-citeseer", 3703, 6, gat(3703, 6, 1)),
            ("gat-pubmed", 500, 3, gat(500, 3, 8)),
        ] {
            let config = find(name).unwrap().config().unwrap();
            let shape = ModelShape { features, classes, multi_label: false, relations: 0, latent: 0 };
            assert_eq!(Network::size(&config.network, &shape).unwrap(), expect, "{name}");
        }
    }
}
