//! Several runs side by side: groups that differ only in the seed, and the speed-up over a baseline.
//!
//! Speed-up (equation 1 of the paper): with `v1` the best validation score of the baseline, reached after `t1` seconds
//! of training, and `t2` the seconds after which a run first has `v1`, it is `100 (t1 - t2) / t1` percent. A baseline of
//! several seeds has the means of its `v1` and `t1`.

use crate::folder::Run;
use crate::plot::{Axis, Frame, Lines, Look, Series};
use crate::stats::Spread;
use crate::table::{Column, Table};
use iglu::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Runs on several datasets.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Runs that can be compared: one dataset, one score.
    pub sections: Vec<Section>,
}

/// Runs on one dataset with one score.
#[derive(Debug, Clone)]
pub struct Section {
    /// Name of the dataset.
    pub data: String,
    /// Name of the score.
    pub metric: String,
    /// Runs with equal settings.
    pub groups: Vec<Group>,
    /// What the others are compared with.
    pub baseline: Baseline,
}

/// Runs that differ only in the seed.
#[derive(Debug, Clone)]
pub struct Group {
    /// The settings that tell it from the others.
    pub label: String,
    /// Its runs, by seed.
    pub runs: Vec<Run>,
    settings: BTreeMap<String, String>,
}

/// What speed-ups refer to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baseline {
    /// Number of the group.
    pub group: usize,
    /// Its best validation score, `v1`; nothing without validation nodes.
    pub score: Option<f64>,
    /// Training seconds until then, `t1`.
    pub seconds: Option<f64>,
}

impl Comparison {
    /// Sorts runs into sections and groups; the baseline is the group of this folder, else the slowest.
    pub fn new(runs: Vec<Run>, baseline: Option<&Path>) -> Result<Self> {
        let mut sections: Vec<(Run, Vec<Group>)> = Vec::new();
        for run in runs {
            match sections.iter_mut().find(|(first, _)| comparable(first, &run)) {
                Some((_, groups)) => sort_in(groups, run),
                None => sections.push((run.clone(), vec![Group::of(run)])),
            }
        }
        let sections: Vec<Section> = sections.into_iter().map(|(_, groups)| Section::new(groups)).collect();
        let mut all = Self { sections };
        if let Some(path) = baseline {
            all.choose(path)?;
        }
        Ok(all)
    }

    fn choose(&mut self, path: &Path) -> Result<()> {
        let chosen = path.canonicalize().ok();
        let is_it = |run: &Run| {
            let folder = run.path.canonicalize().ok();
            folder == chosen || folder.as_deref().and_then(Path::parent) == chosen.as_deref()
        };
        for section in &mut self.sections {
            if let Some(group) = section.groups.iter().position(|g| g.runs.iter().any(is_it)) {
                section.baseline = Baseline::of(group, &section.groups);
                return Ok(());
            }
        }
        let found = format!("`{}` is none of the runs", path.display());
        Err(Error::usage("--baseline", found, "name one of the folders that are compared"))
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.sections.iter().flat_map(Section::runs).map(|(_, run)| run)
    }

    /// Groups and runs, for notes.
    pub fn markdown(&self) -> String {
        let section = |s: &Section| {
            let (title, groups, runs) = (s.title(), s.group_table().markdown(), s.run_table().markdown());
            format!("## {title}\n\n{groups}\n{}\n\n{runs}", s.about_baseline())
        };
        self.sections.iter().map(section).collect::<Vec<_>>().join("\n")
    }

    /// One row per run, for programs.
    pub fn csv(&self) -> String {
        let mut table = Table::new(&RUN_CSV);
        for section in &self.sections {
            section.csv_rows(&mut table);
        }
        table.csv()
    }

    /// Validation score against training seconds, one picture for each dataset, with its name.
    pub fn plots(&self) -> Vec<(String, String)> {
        let plot = |s: &Section| Some((s.data.clone(), s.clock_plot().svg(Frame::File)?));
        self.sections.iter().filter_map(plot).collect()
    }
}

fn comparable(a: &Run, b: &Run) -> bool {
    a.origin.data == b.origin.data && a.prepared.metric == b.prepared.metric
}

fn sort_in(groups: &mut Vec<Group>, run: Run) {
    let group = Group::of(run);
    match groups.iter_mut().find(|g| g.settings == group.settings) {
        Some(known) => known.runs.extend(group.runs),
        None => groups.push(group),
    }
}

impl Group {
    fn of(run: Run) -> Self {
        Self { label: String::new(), settings: settings(&run), runs: vec![run] }
    }

    /// Some number of each run, summed up.
    pub fn spread(&self, number: impl Fn(&Run) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.runs.iter().filter_map(number))
    }

    /// Training seconds until the best validation score.
    pub fn seconds_to_best(&self) -> Option<Spread> {
        self.spread(seconds_to_best)
    }
}

/// Training seconds of a run until its best validation score.
pub fn seconds_to_best(run: &Run) -> Option<f64> {
    run.best().map(|e| e.seconds.train)
}

/// Training seconds after which a run first has a validation score.
pub fn seconds_to(run: &Run, score: f64) -> Option<f64> {
    run.epochs.iter().find(|e| e.val.is_some_and(|v| v >= score)).map(|e| e.seconds.train)
}

impl Baseline {
    fn of(group: usize, groups: &[Group]) -> Self {
        let mean = |spread: Option<Spread>| spread.map(|s| s.mean);
        Self {
            group,
            score: mean(groups[group].spread(Run::val)),
            seconds: mean(groups[group].seconds_to_best()),
        }
    }

    /// The group that takes longest to its best score.
    fn slowest(groups: &[Group]) -> Self {
        let seconds = |g: &Group| g.seconds_to_best().map_or(0.0, |s| s.mean);
        let slowest = (0..groups.len()).max_by(|a, b| seconds(&groups[*a]).total_cmp(&seconds(&groups[*b])));
        Self::of(slowest.unwrap_or(0), groups)
    }

    /// Speed-up of a run in percent; nothing if it never has the baseline's score.
    pub fn speed_up(&self, run: &Run) -> Option<f64> {
        let t1 = self.seconds.filter(|t| *t > 0.0)?;
        let t2 = seconds_to(run, self.score?)?;
        Some(100.0 * (t1 - t2) / t1)
    }
}

impl Section {
    fn new(mut groups: Vec<Group>) -> Self {
        name_groups(&mut groups);
        groups.iter_mut().for_each(|g| g.runs.sort_by_key(|r| r.origin.seed));
        let first = &groups[0].runs[0];
        let (data, metric) = (first.origin.data.name.clone(), first.prepared.metric.clone());
        Self { data, metric, baseline: Baseline::slowest(&groups), groups }
    }

    /// Dataset and score.
    pub fn title(&self) -> String {
        format!("{}: {}", self.data, self.metric)
    }

    /// What the speed-ups refer to, in words.
    pub fn about_baseline(&self) -> String {
        let label = &self.groups[self.baseline.group].label;
        match (self.baseline.score, self.baseline.seconds) {
            (Some(score), Some(seconds)) => format!(
                "Speed-up: how much sooner a run first has the baseline's best validation score {score:.4}, which \
                 the baseline ({label}) has after {seconds:.2} s of training: 100 (t1 - t2) / t1 percent. Times are \
                 seconds of training, without preparation and evaluation."
            ),
            _ => "No speed-up: the baseline was not evaluated on validation nodes.".to_string(),
        }
    }

    fn speed_up_text(&self, index: usize) -> String {
        let group = &self.groups[index];
        let spread = group.spread(|run| self.baseline.speed_up(run));
        let reached = spread.map_or(0, |s| s.n);
        match spread {
            _ if index == self.baseline.group => "baseline".to_string(),
            None => "never has the score".to_string(),
            Some(s) if reached < group.runs.len() => {
                format!("{} % ({reached} of {} runs)", s.text(1), group.runs.len())
            }
            Some(s) => format!("{} %", s.text(1)),
        }
    }

    /// A row for each group.
    pub fn group_table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Words("settings"),
            Column::Numbers("runs"),
            Column::Numbers("validation"),
            Column::Numbers("test"),
            Column::Numbers("seconds to best"),
            Column::Numbers("seconds per epoch"),
            Column::Numbers("peak MiB"),
            Column::Numbers("speed-up"),
        ]);
        let text = |spread: Option<Spread>, decimals| spread.map_or_else(|| "-".into(), |s| s.text(decimals));
        for (index, group) in self.groups.iter().enumerate() {
            table.push([
                group.label.clone().into(),
                group.runs.len().to_string().into(),
                text(group.spread(Run::val), 4).into(),
                text(group.spread(Run::test), 4).into(),
                text(group.seconds_to_best(), 2).into(),
                text(group.spread(Run::seconds_per_epoch), 3).into(),
                text(group.spread(|r| Some(r.peak_rss_bytes()? as f64 / f64::from(1 << 20))), 0).into(),
                self.speed_up_text(index).into(),
            ]);
        }
        table
    }

    /// A row for each run.
    pub fn run_table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Words("folder"),
            Column::Words("settings"),
            Column::Numbers("seed"),
            Column::Numbers("best epoch"),
            Column::Numbers("validation"),
            Column::Numbers("test"),
            Column::Numbers("seconds to best"),
            Column::Numbers("training seconds"),
        ]);
        for (group, run) in self.runs() {
            let state = if run.finished() { "" } else { " (not finished)" };
            table.push([
                format!("{}{state}", run.path.display()).into(),
                group.label.clone().into(),
                run.origin.seed.to_string().into(),
                run.best().map_or_else(|| "-".into(), |e| format!("{} of {}", e.epoch, run.ran())).into(),
                crate::numbers::score(run.val()).into(),
                crate::numbers::score(run.test()).into(),
                seconds(seconds_to_best(run)).into(),
                seconds(run.epochs.last().map(|e| e.seconds.train)).into(),
            ]);
        }
        table
    }

    fn csv_rows(&self, table: &mut Table) {
        let number = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
        for (group, run) in self.runs() {
            let reached = self.baseline.score.and_then(|score| seconds_to(run, score));
            table.push([
                run.path.display().to_string().into(),
                self.data.clone().into(),
                group.label.clone().into(),
                run.origin.seed.to_string().into(),
                run.finished().to_string().into(),
                self.metric.clone().into(),
                run.best().map_or_else(String::new, |e| e.epoch.to_string()).into(),
                run.ran().to_string().into(),
                number(run.val()).into(),
                number(run.test()).into(),
                number(seconds_to_best(run)).into(),
                number(run.epochs.last().map(|e| e.seconds.train)).into(),
                number(run.seconds_per_epoch()).into(),
                number(reached).into(),
                number(self.baseline.speed_up(run)).into(),
                run.peak_rss_bytes().map_or_else(String::new, |b| b.to_string()).into(),
                run.prepared.params.to_string().into(),
                run.origin.threads.to_string().into(),
                run.origin.version.clone().into(),
            ]);
        }
    }

    fn runs(&self) -> impl Iterator<Item = (&Group, &Run)> {
        self.groups.iter().flat_map(|g| g.runs.iter().map(move |r| (g, r)))
    }

    /// Validation score against training seconds.
    pub fn clock_plot(&self) -> Lines {
        self.plot(|e| [e.seconds.train, e.val.unwrap_or(f64::NAN)], SECONDS, &self.metric)
    }

    /// Validation score against epochs.
    pub fn epoch_plot(&self) -> Lines {
        self.plot(|e| [e.epoch as f64, e.val.unwrap_or(f64::NAN)], "epoch", &self.metric)
    }

    /// Training loss against training seconds.
    pub fn loss_plot(&self) -> Lines {
        self.plot(|e| [e.seconds.train, e.loss.unwrap_or(f64::NAN)], SECONDS, "training loss")
    }

    fn plot(&self, point: impl Fn(&crate::record::Epoch) -> [f64; 2], x: &str, y: &str) -> Lines {
        let mut series = Vec::new();
        for (colour, group) in self.groups.iter().enumerate() {
            let look = if group.runs.len() > 1 { Look::Thin } else { Look::Plain };
            for run in &group.runs {
                // Epochs that were not evaluated are no gaps.
                let points = run.epochs.iter().map(&point).filter(|p| p[1].is_finite()).collect();
                series.push(Series { name: group.label.clone(), points, colour, look });
            }
        }
        let what = if y == self.metric { format!("validation {y}") } else { y.to_string() };
        Lines {
            title: format!("{}: {what}", self.data),
            x: axis(x, &series),
            y: Axis::linear(&what),
            series,
            marks: Vec::new(),
        }
    }
}

const SECONDS: &str = "training seconds";

/// A logarithmic axis where seconds differ by more than a factor of 30.
fn axis(label: &str, series: &[Series]) -> Axis {
    let values = || series.iter().flat_map(|s| s.points.iter().map(|p| p[0])).filter(|v| *v > 0.0);
    let (low, high) = (values().reduce(f64::min), values().reduce(f64::max));
    let wide = matches!((low, high), (Some(low), Some(high)) if high / low > 30.0);
    match label {
        SECONDS if wide => Axis::log(label),
        SECONDS => Axis::linear(label),
        _ => Axis::counting(label),
    }
}

const RUN_CSV: [Column; 19] = [
    Column::Words("folder"),
    Column::Words("data"),
    Column::Words("settings"),
    Column::Numbers("seed"),
    Column::Words("finished"),
    Column::Words("metric"),
    Column::Numbers("best_epoch"),
    Column::Numbers("epochs"),
    Column::Numbers("val"),
    Column::Numbers("test"),
    Column::Numbers("seconds_to_best"),
    Column::Numbers("train_seconds"),
    Column::Numbers("seconds_per_epoch"),
    Column::Numbers("seconds_to_baseline_score"),
    Column::Numbers("speed_up_percent"),
    Column::Numbers("peak_rss_bytes"),
    Column::Numbers("params"),
    Column::Numbers("threads"),
    Column::Words("version"),
];

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_string(), |v| format!("{v:.2}"))
}

/// Everything that tells runs apart but the seed, by dotted key.
fn settings(run: &Run) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    flatten("", &run.origin.config, &mut out);
    out.remove("seed");
    out.insert("version".to_string(), run.origin.version.clone());
    out
}

fn flatten(prefix: &str, value: &serde_json::Value, out: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (name, value) in map {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, out);
            }
        }
        serde_json::Value::String(text) => {
            out.insert(prefix.to_string(), text.clone());
        }
        other => {
            out.insert(prefix.to_string(), other.to_string());
        }
    }
}

/// Labels groups by the settings in which they differ.
fn name_groups(groups: &mut [Group]) {
    let keys: BTreeSet<String> = groups.iter().flat_map(|g| g.settings.keys().cloned()).collect();
    let differs = |key: &&String| {
        let values: BTreeSet<_> = groups.iter().map(|g| g.settings.get(*key)).collect();
        values.len() > 1
    };
    let telling: Vec<String> = keys.iter().filter(differs).cloned().collect();
    for group in groups {
        let value = |key: &String| group.settings.get(key).map_or("-", String::as_str);
        let leaf = |key: &String| key.rsplit('.').next().unwrap_or(key).to_string();
        let parts: Vec<String> = telling.iter().map(|k| format!("{} {}", leaf(k), value(k))).collect();
        group.label = if parts.is_empty() { "all runs".to_string() } else { parts.join(", ") };
    }
}

#[cfg(test)]
mod tests;
