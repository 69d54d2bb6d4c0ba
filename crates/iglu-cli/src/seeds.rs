//! `iglu train --seeds N`: one run for each seed, their means and standard deviations, one page.

use crate::folder::RunFolder;
use crate::progress::Progress;
use crate::session::Session;
use crate::text::{self, aligned};
use iglu::config::Config;
use iglu::observe::Report;
use iglu::{Error, Result};
use iglu_report::numbers::{duration, score};
use iglu_report::stats::Spread;
use iglu_report::{Comparison, Run, names, page};
use serde::Serialize;

/// The configurations of `count` runs, with seeds from that of the configuration on.
pub fn list(config: &Config, count: u32) -> Result<Vec<Config>> {
    let seed = |i: u32| config.seed.checked_add(u64::from(i)).map(|seed| Config { seed, ..config.clone() });
    let all: Option<Vec<Config>> = (0..count).map(seed).collect();
    let found = format!("{count} seeds from {} on; the largest seed is {}", config.seed, u64::MAX);
    all.ok_or_else(|| Error::usage("--seeds", found, "take a smaller --seed"))
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
    fn of(report: &Report, folder: &RunFolder) -> Self {
        Self {
            seed: report.seed,
            folder: folder.path().display().to_string(),
            best_epoch: report.best_epoch,
            val: report.val,
            test: report.test,
            total_seconds: report.seconds.total,
        }
    }
}

/// Trains one after the other; the summaries for programs and for people.
pub fn run(
    session: &Session<'_>,
    configs: &[Config],
    folder: &RunFolder,
    progress: &mut Progress,
    load: f64,
) -> Result<(String, String)> {
    let mut reports = Vec::new();
    let mut runs = Vec::new();
    for (i, config) in configs.iter().enumerate() {
        progress.begin(&format!("seed {} ({} of {})", config.seed, i + 1, configs.len()));
        let own = folder.seed(config.seed)?;
        // The data is read once, for the first.
        let load = if i == 0 { load } else { 0.0 };
        reports.push(session.run(config, &own, progress, load)?.report);
        runs.push(One::of(&reports[i], &own));
    }
    let several = Several {
        version: env!("CARGO_PKG_VERSION"),
        command: session.command(),
        source: session.source,
        metric: reports[0].metric,
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
    folder.add(names::SUMMARY, &json)?;
    folder.add(names::REPORT, &page_of(folder, session.command())?)?;
    Ok((json, several.lines()))
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
