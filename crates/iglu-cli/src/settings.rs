//! The configuration of a run, in layers: defaults, then a recipe, then a file, then flags, then `--set`.
//!
//! Every layer becomes a list of [`Assignment`]s, so that all of them are checked and blamed in one way.

mod file;
mod keys;

use crate::recipes;
use iglu::config::{Config, DataConfig};
use iglu::layers::{ARCHITECTURES, Architecture};
use iglu::metrics::METRICS;
use iglu::{Error, Result};
use keys::Keys;
use serde::Deserialize;
use std::path::PathBuf;
use toml::{Table, Value};

/// Flags that say how to train; shared by the subcommands that need a configuration.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Configuration")]
pub struct SettingsArgs {
    /// Settings of a network of the paper, by name; `iglu recipes` lists them, everything below wins over them
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,
    /// Configuration file; flags and --set win over it
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Any key of the configuration, as `lambda=0.1` or `train.lambda=0.1` (repeatable, last one wins)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Architecture of the graph layers
    #[arg(long, value_name = "NAME", help = layer_help(), long_help = layer_long_help())]
    layer: Option<String>,
    /// Number of graph layers
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    layers: Option<String>,
    /// Width of a hidden layer
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    hidden: Option<String>,
    /// Last layer: linear or conv
    #[arg(long, value_name = "KIND")]
    head: Option<String>,
    /// Activation of hidden layers: relu, gelu, elu, tanh, none
    #[arg(long, value_name = "NAME")]
    activation: Option<String>,
    /// Attention heads (gat)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    heads: Option<String>,
    /// Layers that the linear classifier reads: none (the last one), or all of them by concat or max
    #[arg(long, value_name = "KIND")]
    jump: Option<String>,
    /// Numbers that embeddings and their gradients are kept in: f32, bf16 in half the memory, or auto (bf16 where they are large)
    #[arg(long, value_name = "KIND")]
    cache: Option<String>,
    /// Numbers that dense products multiply: f32, or bf16, faster on processors with AMX or AVX-512 BF16
    #[arg(long, value_name = "KIND")]
    precision: Option<String>,
    /// Skip connections: `1->3,0->2`, or dense (every layer to every later one)
    #[arg(long, value_name = "LIST")]
    skips: Option<String>,
    /// Adds a layer's input to its output; `--residual=false` takes it back
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    residual: Option<String>,
    /// Order of updates: inverted, inverted-printed, backprop, exact
    #[arg(long, value_name = "ORDER")]
    order: Option<String>,
    /// What training sees: transductive or inductive
    #[arg(long, value_name = "SETTING")]
    setting: Option<String>,
    /// Refreshes of the stale caches per epoch: 0.5 for every second epoch
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    frequency: Option<String>,
    /// Epochs, or auto
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    epochs: Option<String>,
    /// Rows of a mini-batch, or auto, or full
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    batch: Option<String>,
    /// Learning rate
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    lr: Option<String>,
    /// Share of a layer's inputs dropped
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    dropout: Option<String>,
    /// Decoupled weight decay
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    weight_decay: Option<String>,
    /// Powers of the operator that the first layer takes
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    hops: Option<String>,
    /// Root of all random numbers
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<String>,
    /// Worker threads; 0: one per core
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<String>,
    /// Evaluations without a better score before stopping; 0: never stop early
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    patience: Option<String>,
    /// Epochs between evaluations
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    eval_every: Option<String>,
    /// Score that chooses the best model
    #[arg(long, value_name = "NAME", help = metric_help())]
    metric: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Flags that say how data is read.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Data")]
struct ReadingArgs {
    /// Split: a stored one by number, random:0.6,0.2,0.2, per-class:20,500,1000, FILE.npz or auto
    #[arg(long, value_name = "SPLIT", allow_negative_numbers = true)]
    split: Option<String>,
    /// Edges from a node to itself: drop, keep, error
    #[arg(long, value_name = "POLICY")]
    self_loops: Option<String>,
    /// Edges that are there several times: drop (count once), keep (count each), error
    #[arg(long, value_name = "POLICY")]
    duplicates: Option<String>,
    /// Nodes without edges: keep, error
    #[arg(long, value_name = "POLICY")]
    isolated: Option<String>,
    /// Features that are NaN or missing: error, zero, mean (of their column)
    #[arg(long, value_name = "POLICY")]
    nan_features: Option<String>,
    /// Features of edges: mean or sum at each node, off, auto
    #[arg(long, value_name = "KIND")]
    edge_features: Option<String>,
    /// Node numbers in the files start at 1
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    one_based: Option<String>,
    /// Passes over a first line of a table that is no row
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    skip_header: Option<String>,
    /// GiB that one packed file may unpack to
    #[arg(long, value_name = "GIB", allow_negative_numbers = true)]
    max_decompressed: Option<String>,
    /// Puts nodes of a community next to each other: true, false, auto (large graphs, while training)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    reorder: Option<String>,
}

impl ReadingArgs {
    /// Flags, their keys and what was given.
    fn table(&self) -> [(&'static str, &'static str, &Option<String>); 10] {
        [
            ("--split", "data.split", &self.split),
            ("--self-loops", "data.self_loops", &self.self_loops),
            ("--duplicates", "data.duplicates", &self.duplicates),
            ("--isolated", "data.isolated", &self.isolated),
            ("--nan-features", "data.nan_features", &self.nan_features),
            ("--edge-features", "data.edge_features", &self.edge_features),
            ("--one-based", "data.one_based", &self.one_based),
            ("--skip-header", "data.skip_header", &self.skip_header),
            ("--max-decompressed", "data.max_decompressed", &self.max_decompressed),
            ("--reorder", "data.reorder", &self.reorder),
        ]
    }
}

/// Flags that say how data is read, for the subcommands that do not train.
#[derive(Debug, Default, clap::Args)]
pub struct DataArgs {
    #[command(flatten)]
    reading: ReadingArgs,
    /// A key of the configuration of data, as `self_loops=keep` (repeatable, last one wins)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl DataArgs {
    /// How the data is to be read, checked.
    pub fn resolve(&self) -> Result<DataConfig> {
        let keys = Keys::new()?;
        for text in &self.set {
            let given = parse_set(text, &keys)?;
            if !given.key.starts_with("data.") {
                let found = format!("`{}` says nothing of data", given.key);
                return Err(Error::usage(
                    "--set",
                    found,
                    "give a key of [data], or use it with `iglu train`",
                ));
            }
        }
        let args =
            SettingsArgs { reading: self.reading.clone(), set: self.set.clone(), ..SettingsArgs::default() };
        Ok(args.resolve()?.data)
    }
}

/// One value that the user gave, and where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    /// Flag, or file and line.
    place: String,
    /// Dotted key.
    key: String,
    /// The value.
    value: Value,
}

impl SettingsArgs {
    /// A recipe and nothing else.
    pub fn of_recipe(name: &str) -> Self {
        Self { recipe: Some(name.to_string()), ..Self::default() }
    }

    /// The configuration that all layers together give, checked.
    pub fn resolve(&self) -> Result<Config> {
        combined(Table::new(), &self.assignments(&Keys::new()?)?)
    }

    /// The same, on this recipe where the user gave neither a recipe nor a file.
    pub fn resolve_or(&self, recipe: Option<&str>) -> Result<Config> {
        match recipe.filter(|_| self.recipe.is_none() && self.config.is_none()) {
            Some(name) => self.resolve_over(&recipes::find(name)?.config()?),
            None => self.resolve(),
        }
    }

    /// The same, on another ground than the defaults.
    pub fn resolve_over(&self, config: &Config) -> Result<Config> {
        let table = Table::try_from(config);
        let table = table.map_err(|e| Error::usage("configuration", e.to_string(), ""))?;
        combined(table, &self.assignments(&Keys::new()?)?)
    }

    /// What the user gave, later entries to win over earlier ones.
    fn assignments(&self, keys: &Keys) -> Result<Vec<Assignment>> {
        let mut given = Vec::new();
        if let Some(name) = &self.recipe {
            given.extend(recipe(name, keys).map_err(|e| e.within("--recipe"))?);
        }
        if let Some(path) = &self.config {
            given.extend(file::read(path, keys)?);
        }
        given.extend(self.flags());
        for text in &self.set {
            given.push(parse_set(text, keys)?);
        }
        Ok(given)
    }

    fn flags(&self) -> impl Iterator<Item = Assignment> {
        let table = [
            ("--layer", "network.layer", &self.layer),
            ("--layers", "network.layers", &self.layers),
            ("--hidden", "network.hidden", &self.hidden),
            ("--head", "network.head", &self.head),
            ("--activation", "network.activation", &self.activation),
            ("--heads", "network.heads", &self.heads),
            ("--jump", "network.jump", &self.jump),
            ("--cache", "network.cache", &self.cache),
            ("--precision", "network.precision", &self.precision),
            ("--residual", "network.residual", &self.residual),
            ("--order", "train.order", &self.order),
            ("--setting", "train.setting", &self.setting),
            ("--frequency", "train.frequency", &self.frequency),
            ("--epochs", "train.epochs", &self.epochs),
            ("--batch", "train.batch", &self.batch),
            ("--lr", "optim.lr", &self.lr),
            ("--dropout", "network.dropout", &self.dropout),
            ("--weight-decay", "optim.weight_decay", &self.weight_decay),
            ("--hops", "network.hops", &self.hops),
            ("--seed", "seed", &self.seed),
            ("--threads", "threads", &self.threads),
            ("--patience", "select.patience", &self.patience),
            ("--eval-every", "select.eval_every", &self.eval_every),
            ("--metric", "select.metric", &self.metric),
        ];
        let given = |flag: &str, key: &str, value: Value| Assignment {
            place: flag.to_string(),
            key: key.to_string(),
            value,
        };
        let skips = self.skips.as_ref().map(|list| given("--skips", "network.skips", words_of(list)));
        let single = move |(flag, key, text): (_, _, &Option<String>)| {
            Some(given(flag, key, parse_value(text.as_ref()?)))
        };
        table.into_iter().chain(self.reading.table()).filter_map(single).chain(skips)
    }
}

/// Where two configurations differ, a line for each key; the number of threads may.
pub fn differences(now: &Config, then: &Config) -> Result<Vec<String>> {
    let table = |config: &Config| {
        let config = Config { threads: 0, ..config.clone() };
        Table::try_from(config).map_err(|e| Error::usage("configuration", e.to_string(), ""))
    };
    let (mut lines, (now, then)) = (Vec::new(), (table(now)?, table(then)?));
    compare("", &now, &then, &mut lines);
    Ok(lines)
}

fn compare(prefix: &str, now: &Table, then: &Table, lines: &mut Vec<String>) {
    let mut keys: Vec<&String> = now.keys().chain(then.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        match (now.get(key), then.get(key)) {
            (Some(Value::Table(now)), Some(Value::Table(then))) => {
                compare(&format!("{prefix}{key}."), now, then, lines);
            }
            (now, then) if now != then => {
                let text = |v: Option<&Value>| v.map_or("nothing".to_string(), Value::to_string);
                lines.push(format!("{prefix}{key}: {} then, {} now", text(then), text(now)));
            }
            _ => {}
        }
    }
}

/// Settings in memory, for callers that are no command line; later fields win over earlier ones.
#[derive(Debug, Default)]
pub struct Given<'a> {
    /// Name of a recipe.
    pub recipe: Option<&'a str>,
    /// The text of a configuration file.
    pub text: Option<&'a str>,
    /// Keys, whole or their last part, with their values.
    pub values: Vec<(String, Value)>,
    /// What is blamed for a wrong one of these values.
    pub place: &'a str,
}

/// The configuration that settings in memory give, checked as those of the command line.
///
/// ```
/// use iglu_cli::{Given, configuration};
/// let config = configuration(&Given { values: vec![("lr".into(), 0.1.into())], ..Given::default() })?;
/// assert_eq!(config.optim.lr, 0.1);
/// let wrong = Given { values: vec![("optim.lrr".into(), 0.1.into())], place: "Config", ..Given::default() };
/// assert!(configuration(&wrong).unwrap_err().to_string().ends_with("did you mean `optim.lr`?"));
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn configuration(given: &Given<'_>) -> Result<Config> {
    let keys = Keys::new()?;
    let mut all = given.recipe.map_or(Ok(Vec::new()), |name| recipe(name, &keys))?;
    if let Some(text) = given.text {
        all.extend(file::parse(text, "text", &keys)?);
    }
    for (key, value) in &given.values {
        let key = keys.resolve(key).map_err(|e| e.within(given.place))?;
        all.push(Assignment { place: given.place.to_string(), key, value: value.clone() });
    }
    combined(Table::new(), &all)
}

/// The whole key that `name` stands for, or the error that names the nearest.
pub fn key(name: &str) -> Result<String> {
    Keys::new()?.resolve(name)
}

/// The values of a recipe.
fn recipe(name: &str, keys: &Keys) -> Result<Vec<Assignment>> {
    file::parse(recipes::find(name)?.text, &format!("recipe `{name}`"), keys)
}

/// The configuration that assignments to a table give, later ones winning; a value that cannot be is refused with its place.
fn combined(mut table: Table, given: &[Assignment]) -> Result<Config> {
    for assignment in given {
        keys::check(assignment)?;
        insert(&mut table, &assignment.key, assignment.value.clone());
    }
    let config = Config::deserialize(Value::Table(table))
        .map_err(|e| Error::usage("configuration", e.message().to_string(), ""))?;
    config.validate().map_err(|e| blamed(e, given))?;
    Ok(config)
}

/// The configuration as the TOML text that `--config` reads.
pub fn to_toml(config: &Config) -> Result<String> {
    toml::to_string(config).map_err(|e| Error::usage("configuration", e.to_string(), ""))
}

/// Keys and defaults, for `--help`.
pub fn keys_help() -> String {
    let defaults = to_toml(&Config::default()).unwrap_or_default();
    let indent = |line: &str| format!("  {line}").trim_end().to_string() + "\n";
    let indented: String = defaults.lines().map(indent).collect();
    format!("Keys of --config and --set, with their defaults:\n{indented}")
}

fn layer_help() -> String {
    let names: Vec<&str> = ARCHITECTURES.iter().map(|a| a.name).collect();
    format!("Architecture of the graph layers: {}", names.join(", "))
}

fn layer_long_help() -> String {
    let about = |a: &Architecture| format!("\n  {:<8} {}", a.name, a.about);
    format!("Architecture of the graph layers:{}", ARCHITECTURES.iter().map(about).collect::<String>())
}

fn metric_help() -> String {
    let names: Vec<&str> = METRICS.iter().map(|(name, _)| *name).collect();
    format!("Score that chooses the best model: {}, auto", names.join(", "))
}

/// `key=value` of `--set`; the key may be the last part of a dotted one.
fn parse_set(text: &str, keys: &Keys) -> Result<Assignment> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Error::usage("--set", format!("`{text}` has no `=`"), "write --set KEY=VALUE"));
    };
    let key = keys.resolve(key.trim()).map_err(|e| e.within("--set"))?;
    Ok(Assignment { place: "--set".to_string(), key, value: parse_value(value.trim()) })
}

/// A TOML value; what is none is taken as text, so that nobody has to quote words.
fn parse_value(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| Value::String(text.to_string()))
}

/// `a,b` as a list of texts.
fn words_of(list: &str) -> Value {
    Value::Array(list.split(',').map(|word| Value::String(word.trim().to_string())).collect())
}

/// Sets a dotted key, making the tables on the way.
fn insert(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_string(), value);
        }
        Some((group, rest)) => {
            let group = table.entry(group).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = group {
                insert(inner, rest, value);
            }
        }
    }
}

/// The error, with the place where the offending key got its value.
fn blamed(e: Error, given: &[Assignment]) -> Error {
    let Error::Usage { place, .. } = &e else { return e };
    match given.iter().rev().find(|a| &a.key == place) {
        Some(a) => e.within(&a.place.clone()),
        None => e,
    }
}

#[cfg(test)]
mod tests;
