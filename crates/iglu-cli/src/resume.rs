//! `iglu train --resume`: what a run was begun with, and where it stands.

use crate::folder::RunFolder;
use crate::seeds::Seeds;
use crate::settings::{self, SettingsArgs};
use iglu::config::Config;
use iglu::{Error, Result};
use iglu_data::checkpoint::Found;
use iglu_report::Run;
use serde::Deserialize;

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
    Run(Option<Found>),
    /// At one of several seeds.
    Seeds(Seeds),
}

impl Resumed {
    /// Reads what there is; flags may only repeat what the run was begun with.
    pub fn read(folder: &RunFolder, flags: &SettingsArgs) -> Result<Self> {
        let (asked, source, point) = match Seeds::read(folder)? {
            Some(seeds) => (seeds.config.clone(), seeds.source.clone(), Point::Seeds(seeds)),
            None => match folder.checkpoint()? {
                Some(found) => {
                    let (asked, source) = (&found.checkpoint.notes.asked, &found.around.source);
                    (asked.clone(), source.clone(), Point::Run(Some(found)))
                }
                None => {
                    let (asked, source) = origin(folder)?;
                    (asked, source, Point::Run(None))
                }
            },
        };
        let config = flags.resolve_over(&asked)?;
        check_settings(&config, &asked)?;
        Ok(Self { config, source, point })
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
    Err(Error::usage("--resume", found, "leave the flags out, or begin a new run with --out"))
}

/// What the first line of the events says.
fn origin(folder: &RunFolder) -> Result<(Config, String)> {
    let origin = Run::read(folder.path())?.origin;
    let config = Config::deserialize(origin.config).map_err(|e| {
        let fix = "the run was begun by another version of iglu: begin a new one";
        Error::data(format!("`{}`: config", folder.path().display()), e.to_string(), fix)
    })?;
    Ok((config, origin.source))
}
