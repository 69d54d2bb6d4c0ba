//! `iglu train --resume`: what a run was begun with, and where it stands.

use crate::folder::RunFolder;
use crate::seeds::Seeds;
use crate::settings::{self, SettingsArgs};
use iglu::config::Config;
use iglu::{Error, Result};
use iglu_data::Fingerprint;
use iglu_data::checkpoint::{self, Found};
use iglu_report::Run;
use iglu_report::record::Origin;
use serde::Deserialize;
use std::path::Path;

/// A run to go on with.
pub struct Resumed {
    /// What it was begun with; the number of threads may be another.
    pub config: Config,
    /// The data, as named then.
    pub source: String,
    /// Where it stands.
    pub point: Point,
}

/// Where a run stands.
pub enum Point {
    /// At a checkpoint; nothing: at the beginning.
    Run(Box<Option<Found>>),
    /// At one of several seeds.
    Seeds(Box<Seeds>),
}

impl Resumed {
    /// Reads what there is; flags may only repeat what the run was begun with.
    pub fn read(folder: &RunFolder, flags: &SettingsArgs) -> Result<Self> {
        let (asked, source, point) = if let Some(seeds) = Seeds::read(folder)? {
            (seeds.config.clone(), seeds.source.clone(), Point::Seeds(Box::new(seeds)))
        } else if let Some(found) = folder.checkpoint()? {
            let (asked, source) = (found.checkpoint.notes.asked.clone(), found.around.source.clone());
            (asked, source, Point::Run(Box::new(Some(found))))
        } else {
            let (asked, source) = origin(folder)?;
            (asked, source, Point::Run(Box::new(None)))
        };
        let config = flags.resolve_over(&asked)?;
        check_settings(&config, &asked)?;
        Ok(Self { config, source, point })
    }
}

/// A run that has come to its end.
pub struct Finished {
    /// What it was begun with.
    pub config: Config,
    /// The data, as named then.
    pub source: String,
    /// The data itself, where it was written down.
    pub data: Option<Fingerprint>,
}

impl Finished {
    /// Reads what it was begun with; flags may only repeat that. Of several seeds the first stands for all.
    pub fn read(folder: &RunFolder, flags: &SettingsArgs) -> Result<Self> {
        let runs = iglu_report::runs_in(folder.path())?;
        let origins = runs.iter().map(|path| Ok((Run::read(path)?.origin, path)));
        let origins = origins.collect::<Result<Vec<_>>>()?;
        let Some((origin, path)) = origins.into_iter().min_by_key(|(origin, _)| origin.seed) else {
            let place = format!("`{}`", folder.path().display());
            return Err(Error::missing(place, "there is no run in it", "name the folder of a run"));
        };
        let (asked, source) = begun(origin, path)?;
        check_settings(&flags.resolve_over(&asked)?, &asked)?;
        // A damaged checkpoint does no harm any more.
        let data = checkpoint::load(path).ok().flatten().map(|found| found.around.data);
        Ok(Self { config: asked, source, data })
    }
}

/// What is told before a run goes on.
pub fn greeting(found: Option<&Found>) -> String {
    match found {
        None => "no checkpoint was written yet: beginning again".to_string(),
        Some(Found { note: Some(note), .. }) => format!("note: {note}"),
        Some(Found { checkpoint, .. }) => format!("going on after epoch {}", checkpoint.notes.ran),
    }
}

/// Refuses other settings than those of the run, key by key.
pub fn check_settings(now: &Config, then: &Config) -> Result<()> {
    let differences = settings::differences(now, then)?;
    if differences.is_empty() {
        return Ok(());
    }
    let found = format!("not the settings of the run: {}", differences.join("; "));
    let longer =
        differences.iter().any(|line| line.starts_with("train.epochs") || line.starts_with("train.polish"));
    let why = "; learning rates follow the number of epochs, so a run of another length is another run";
    let fix = "leave the flags out, or begin a new run with --out";
    Err(Error::usage("--resume", found, format!("{fix}{}", if longer { why } else { "" })))
}

/// Refuses other data than that of the run, part by part.
pub fn check_data(source: &str, now: &Fingerprint, then: &Fingerprint) -> Result<()> {
    let differences = now.differences(then);
    if differences.is_empty() {
        return Ok(());
    }
    let found = format!("not the data of the run: {}", differences.join("; "));
    let fix = "give the data the run was begun with, or begin a new run with --out";
    Err(Error::data(format!("`{source}`"), found, fix))
}

/// What the first line of the events says.
fn origin(folder: &RunFolder) -> Result<(Config, String)> {
    begun(Run::read(folder.path())?.origin, folder.path())
}

fn begun(origin: Origin, folder: &Path) -> Result<(Config, String)> {
    let config = Config::deserialize(origin.config).map_err(|e| {
        let fix = "the run was begun by another version of iglu: begin a new one";
        Error::data(format!("`{}`: config", folder.display()), e.to_string(), fix)
    })?;
    Ok((config, origin.source))
}
