//! The result of a training run, for people ([`fmt::Display`]) and programs (JSON).

use crate::text::aligned;
use iglu::config::Config;
use iglu::observe::Report;
use iglu_data::Card;
use iglu_report::numbers::{bytes, duration, grouped, quoted, score};
use iglu_report::record::Scores;
use iglu_report::{Profile, names};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// What a training run gave, where it came from and where it went.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    /// Version of the program.
    pub version: &'static str,
    /// The command, as a shell takes it.
    pub command: &'a str,
    /// When it began, in UTC.
    pub time: &'a str,
    /// The data, as named by the user.
    pub source: &'a str,
    /// Scores, times, history.
    #[serde(flatten)]
    pub report: &'a Report,
    /// Largest resident size, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// Instruction set of the kernels.
    pub isa: String,
    /// The best model.
    pub model: String,
    /// The data in numbers.
    pub data: &'a Card,
    /// Histograms of the data.
    pub profile: &'a Profile,
    /// The best model on every split: all scores, and counts by class.
    pub scores: &'a [Scores],
    /// The configuration, with everything decided.
    pub config: &'a Config,
}

impl Summary<'_> {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let report = self.report;
        let memory = self.peak_rss_bytes.map(|b| ("peak memory", bytes(b)));
        let mut lines = vec![
            ("data", self.data_line()),
            ("network", self.network_line()),
            ("best epoch", format!("{} of {}", report.best_epoch, report.epochs)),
            ("validation", self.score_line(report.val)),
            ("test", self.score_line(report.test)),
            ("time", self.time_line()),
        ];
        lines.extend(memory);
        lines.push(("model", self.model.clone()));
        lines.push(("report", Path::new(&self.model).with_file_name(names::REPORT).display().to_string()));
        lines.push(("predict with", self.predict_line()));
        lines
    }

    fn data_line(&self) -> String {
        let d = self.data;
        let [nodes, edges, features, classes] = [d.nodes, d.edges, d.features, d.classes].map(grouped);
        format!(
            "{}: {nodes} nodes, {edges} edges, {features} features, {classes} classes ({})",
            d.name, d.task
        )
    }

    fn network_line(&self) -> String {
        let n = &self.config.network;
        let plural = if n.layers == 1 { "" } else { "s" };
        let params = grouped(self.report.params);
        let (hidden, note) = (n.hidden.or(0), n.storage_note());
        format!("{} layer{plural} of {}, {hidden} hidden, {params} parameters{note}", n.layers, n.layer)
    }

    fn score_line(&self, value: Option<f64>) -> String {
        value.map_or_else(
            || "no labelled nodes".to_string(),
            |_| format!("{} {}", score(value), self.report.metric),
        )
    }

    fn time_line(&self) -> String {
        let s = self.report.seconds;
        let [total, load, prepare, train, eval] = [s.total, s.load, s.prepare, s.train, s.eval].map(duration);
        let epoch = duration(self.report.seconds_per_epoch);
        format!("{total} (load {load}, prepare {prepare}, train {train}, evaluate {eval}); {epoch} per epoch")
    }

    fn predict_line(&self) -> String {
        format!("iglu predict {} {} --out scores.npy", quoted(&self.model), quoted(self.source))
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&aligned(&self.lines()))
    }
}
