//! `iglu train --seeds N`: one run for each seed, their means and standard deviations, one page.

use crate::folder::RunFolder;
use crate::progress::Progress;
use crate::resume;
use crate::session::{Asked, Session, go_on};
use crate::text::{self, aligned};
use iglu::config::Config;
use iglu::{Dataset, Error, Result};
use iglu_report::numbers::{duration, score};
use iglu_report::record::Summary;
use iglu_report::stats::Spread;
use iglu_report::{Comparison, Run, names, page};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::{fs, io};

/// What several runs are begun with; kept in their folder until all are finished.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seeds {
    /// The data, as named by the user.
    pub source: String,
    /// The configuration of the first one.
    pub config: Config,
    count: u32,
}

impl Seeds {
    /// `count` runs with seeds from that of the configuration on.
    pub fn new(config: &Config, count: u32, source: &str) -> Result<Self> {
        if config.seed.checked_add(u64::from(count) - 1).is_none() {
            let found = format!("{count} seeds from {} on; the largest seed is {}", config.seed, u64::MAX);
            return Err(Error::usage("--seeds", found, "take a smaller --seed"));
        }
        Ok(Self { source: source.to_string(), config: config.clone(), count })
    }

    /// Writes them down, to go on with later.
    pub fn write(&self, folder: &RunFolder) -> Result<()> {
        folder.add(names::SEEDS, &text::json(self)?)
    }

    /// Reads what was written down, if anything was.
    pub fn read(folder: &RunFolder) -> Result<Option<Self>> {
        let path = folder.path().join(names::SEEDS);
        match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::missing(place(&path), format!("cannot be read: {e}"), "")),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| {
                Error::data(place(&path), e.to_string(), "the run was begun by another version of iglu")
            }),
        }
    }

    /// Removes what was written down: the seeds have their summary.
    pub fn forget(folder: &RunFolder) -> Result<()> {
        iglu_data::output::remove(&folder.path().join(names::SEEDS))
    }

    fn configs(&self) -> Vec<Config> {
        let seeds = (0..u64::from(self.count)).map(|i| self.config.seed + i);
        seeds.map(|seed| Config { seed, ..self.config.clone() }).collect()
    }
}

fn place(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// What several seeds gave.
#[derive(Debug, Serialize)]
struct Several<'a> {
    version: &'static str,
    command: &'a str,
    source: &'a str,
    metric: &'a str,
    folder: String,
    seeds: Vec<u64>,
    val: Option<Spread>,
    test: Option<Spread>,
    best_epoch: Option<Spread>,
    seconds_per_epoch: Option<Spread>,
    total_seconds: f64,
    runs: Vec<One>,
    config: &'a Config,
}

/// One of them.
#[derive(Debug, Serialize)]
struct One {
    seed: u64,
    folder: String,
    best_epoch: usize,
    val: Option<f64>,
    test: Option<f64>,
    total_seconds: f64,
}

impl One {
    fn of(seed: u64, report: &Summary, folder: &RunFolder) -> Self {
        Self {
            seed,
            folder: folder.path().display().to_string(),
            best_epoch: report.best_epoch,
            val: report.val,
            test: report.test,
            total_seconds: report.seconds.total,
        }
    }
}

/// Trains one after the other, those left out that are finished; the summaries for programs and for people.
pub fn run(
    session: &Session<'_>,
    data: &Dataset,
    seeds: &Seeds,
    folder: &RunFolder,
    progress: &mut Progress,
    load: f64,
) -> Result<(String, String)> {
    let configs = seeds.configs();
    let mut reports = Vec::new();
    let mut runs = Vec::new();
    // The data is read once, for the first.
    let mut load = Some(load);
    for (i, config) in configs.iter().enumerate() {
        let own = folder.seed(config.seed)?;
        if !own.finished() {
            progress.begin(&format!("seed {} ({} of {})", config.seed, i + 1, configs.len()));
            let load = load.take().unwrap_or_default();
            let asked = Asked { data: data.into(), config, folder: &own, from: own.checkpoint()?, load };
            let gone = go(session, asked, progress);
            gone.map_err(|e| with_folder(e, folder))?;
        }
        let report = Run::read(own.path())?.summary.unwrap_or_default();
        runs.push(One::of(config.seed, &report, &own));
        reports.push(report);
    }
    let several = Several {
        version: env!("CARGO_PKG_VERSION"),
        command: session.command(),
        source: session.source,
        metric: &reports[0].metric,
        folder: folder.path().display().to_string(),
        seeds: configs.iter().map(|c| c.seed).collect(),
        val: Spread::of(reports.iter().filter_map(|r| r.val)),
        test: Spread::of(reports.iter().filter_map(|r| r.test)),
        best_epoch: Spread::of(reports.iter().map(|r| r.best_epoch as f64)),
        seconds_per_epoch: Spread::of(reports.iter().map(|r| r.seconds_per_epoch)),
        total_seconds: reports.iter().map(|r| r.seconds.total).sum(),
        runs,
        config: &configs[0],
    };
    let json = text::json(&several)?;
    folder.add(names::REPORT, &page_of(folder, session.command())?)?;
    folder.add(names::SUMMARY, &json)?;
    Seeds::forget(folder)?;
    Ok((json, several.lines()))
}

/// An interruption of one is an interruption of all.
fn with_folder(e: Error, folder: &RunFolder) -> Error {
    match e {
        Error::Interrupted { place, found, .. } => Error::interrupted(place, found, go_on(folder)),
        other => other,
    }
}

/// One run, from where it stands.
fn go(session: &Session<'_>, asked: Asked<'_>, progress: &mut Progress) -> Result<()> {
    if let Some(found) = &asked.from {
        resume::check_settings(asked.config, &found.checkpoint.notes.asked)?;
        session.check_data(&found.around.data)?;
        progress.say(&resume::greeting(Some(found)));
    }
    session.run(asked, progress).map(drop)
}

fn page_of(folder: &RunFolder, command: &str) -> Result<String> {
    let folders = iglu_report::runs_in(folder.path())?;
    let runs: Vec<Run> = folders.iter().map(|path| Run::read(path)).collect::<Result<_>>()?;
    Ok(page::of_comparison(&Comparison::new(runs, None)?, command))
}

impl Several<'_> {
    fn lines(&self) -> String {
        let spread = |s: &Option<Spread>| match s {
            Some(s) => format!("{} {}", s.text(4), self.metric),
            None => "no labelled nodes".to_string(),
        };
        let mut lines: Vec<(String, String)> = Vec::new();
        for run in &self.runs {
            let scores = format!("validation {}, test {}", score(run.val), score(run.test));
            lines.push((format!("seed {}", run.seed), format!("{scores}, epoch {}", run.best_epoch)));
        }
        lines.push(("validation".into(), spread(&self.val)));
        lines.push(("test".into(), spread(&self.test)));
        lines.push(("time".into(), duration(self.total_seconds)));
        lines.push(("runs".into(), self.folder.clone()));
        lines.push(("report".into(), format!("{}/{}", self.folder, names::REPORT)));
        let lines: Vec<(&str, String)> =
            lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        aligned(&lines)
    }
}
