//! Reads the folders of runs, also of runs that are not finished or were cut off.

use crate::record::{Epoch, FORMAT, Origin, Prepared, Record, Summary};
use iglu::{Error, Result};
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Names of the files in a run's folder.
pub mod names {
    /// The events, one line each.
    pub const EVENTS: &str = "events.jsonl";
    /// The configuration, with everything decided.
    pub const CONFIG: &str = "config.toml";
    /// The result.
    pub const SUMMARY: &str = "summary.json";
    /// The model of the best validation score.
    pub const MODEL: &str = "best.safetensors";
    /// The page about the run.
    pub const REPORT: &str = "report.html";
    /// What several seeds are run with.
    pub const SEEDS: &str = "seeds.json";
    /// How the folders of single seeds begin.
    pub const SEED: &str = "seed-";
}

/// Longest file read; a million epochs with three layers stay below.
const LONGEST: u64 = 1 << 30;

/// A run, as its folder tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The folder.
    pub path: PathBuf,
    /// What was run.
    pub origin: Origin,
    /// What was decided before the first epoch.
    pub prepared: Prepared,
    /// What every epoch showed.
    pub epochs: Vec<Epoch>,
    /// The result; nothing while the run is not finished.
    pub summary: Option<Summary>,
    /// The configuration.
    pub config: toml::Table,
}

impl Run {
    /// Reads a folder; a last line that was cut off is left out.
    pub fn read(path: &Path) -> Result<Self> {
        let events = path.join(names::EVENTS);
        let text = read_text(&events)?.ok_or_else(|| no_run(path))?;
        let mut run = Self {
            path: path.to_path_buf(),
            origin: Origin::default(),
            prepared: Prepared::default(),
            epochs: Vec::new(),
            summary: read_json(&path.join(names::SUMMARY))?,
            config: read_config(&path.join(names::CONFIG))?,
        };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (number, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(record) => run.take(record),
                Err(_) if !line.ends_with('\n') => {}
                Err(e) => return Err(broken(&events, number + 1, &e)),
            }
        }
        run.check(&events)
    }

    /// The same run with its summary, before that is in the folder.
    pub fn with_summary(self, summary: &str) -> Result<Self> {
        let summary = parsed(&self.path.join(names::SUMMARY), summary)?;
        Ok(Self { summary: Some(summary), ..self })
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Run(origin) => self.origin = origin,
            Record::Prepared(prepared) => self.prepared = prepared,
            Record::Epoch(epoch) => self.epochs.push(epoch),
            // Back to before the start: its score is made again, too.
            Record::RolledBack { epoch: 0, .. } => self.epochs.clear(),
            Record::RolledBack { epoch, .. } => self.epochs.retain(|e| e.epoch <= epoch),
            Record::Started { .. } | Record::Tried(_) | Record::End(_) | Record::Unknown => {}
        }
    }

    fn check(self, events: &Path) -> Result<Self> {
        if self.origin.format == FORMAT {
            return Ok(self);
        }
        let found = format!("format {}; this version reads format {FORMAT}", self.origin.format);
        let fix = "the first line must be that of a run; take the version of iglu that wrote it";
        Err(Error::data(format!("{}: line 1", quoted(events)), found, fix))
    }

    /// The best epoch so far, if any was evaluated.
    pub fn best(&self) -> Option<&Epoch> {
        self.epochs.iter().rev().find(|e| e.best)
    }

    /// Validation score of the best epoch.
    pub fn val(&self) -> Option<f64> {
        self.best().and_then(|e| e.val)
    }

    /// Test score of the best epoch.
    pub fn test(&self) -> Option<f64> {
        self.best().and_then(|e| e.test)
    }

    /// The epochs without the score of the started network, which stands before them.
    pub fn later(&self) -> impl Iterator<Item = &Epoch> {
        self.epochs.iter().filter(|e| e.epoch > 0)
    }

    /// Epochs run.
    pub fn ran(&self) -> usize {
        self.later().count()
    }

    /// Whether it came to its end.
    pub fn finished(&self) -> bool {
        self.summary.is_some()
    }

    /// Training seconds per epoch after the first one, which may have been part of the start.
    pub fn seconds_per_epoch(&self) -> Option<f64> {
        let (first, last) = (self.later().next()?, self.epochs.last()?);
        let count = last.epoch.checked_sub(first.epoch).filter(|&n| n > 0)?;
        Some((last.seconds.train - first.seconds.train) / count as f64)
    }

    /// Largest resident size seen.
    pub fn peak_rss_bytes(&self) -> Option<u64> {
        let end = self.summary.as_ref().and_then(|s| s.peak_rss_bytes);
        end.max(self.epochs.iter().filter_map(|e| e.peak_rss_bytes).max())
    }
}

/// The folders of runs that a path stands for: itself, or its `seed-N` in the order of N.
pub fn runs_in(path: &Path) -> Result<Vec<PathBuf>> {
    if path.join(names::EVENTS).exists() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = fs::read_dir(path).map_err(|e| unreadable(path, &e))?;
    let mut seeds: Vec<(u64, PathBuf)> = entries
        .filter_map(std::result::Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_prefix(names::SEED)?.parse().ok()?, entry.path()))
        })
        .filter(|(_, folder)| folder.join(names::EVENTS).exists())
        .collect();
    seeds.sort();
    if seeds.is_empty() { Err(no_run(path)) } else { Ok(seeds.into_iter().map(|(_, path)| path).collect()) }
}

fn no_run(path: &Path) -> Error {
    let found = format!("there is no {} in it", names::EVENTS);
    Error::missing(quoted(path), found, "name a folder that `iglu train` has written")
}

/// The text of a file; nothing if there is none.
fn read_text(path: &Path) -> Result<Option<String>> {
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(path, &e)),
        Ok(file) => file,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    if bytes.len() as u64 > LONGEST {
        let found = "more than 1 GiB";
        return Err(Error::data(quoted(path), found, "this is no file of a run: name another folder"));
    }
    // A line cut off in the middle of a letter is as good as one cut off elsewhere.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    read_text(path)?.map(|text| parsed(path, &text)).transpose()
}

fn parsed<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| broken(path, e.line(), &e))
}

fn read_config(path: &Path) -> Result<toml::Table> {
    let Some(text) = read_text(path)? else { return Ok(toml::Table::new()) };
    toml::from_str(&text).map_err(|e| {
        let line = e.span().map_or(1, |s| text.bytes().take(s.start).filter(|&b| b == b'\n').count() + 1);
        broken(path, line, &e.message())
    })
}

fn broken(path: &Path, line: usize, e: &dyn std::fmt::Display) -> Error {
    Error::data(format!("{}: line {line}", quoted(path)), e.to_string(), "remove the folder and train again")
}

fn unreadable(path: &Path, e: &std::io::Error) -> Error {
    Error::missing(quoted(path), format!("cannot be read: {e}"), "check the path and its permissions")
}

fn quoted(path: &Path) -> String {
    format!("`{}`", path.display())
}
