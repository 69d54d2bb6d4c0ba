//! `iglu report`: the page of one run, or of several side by side.

use crate::session::command;
use crate::text;
use iglu::{Error, Result};
use iglu_data::model::write_text;
use iglu_report::{Comparison, Run, names, page, runs_in};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  iglu report runs/mine                                  make the page of a run anew
  iglu report runs/a runs/b --out compare.html           set runs side by side
  iglu report runs/* --baseline runs/exact --markdown table.md --csv table.csv --svg plot.svg

Runs that differ only in the seed are one group, with mean and standard deviation. Speed-up is that of the paper:
how much sooner a run first has the best validation score of the baseline.";

/// Arguments of `iglu report`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// Folders of runs, or of several seeds
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,
    /// The page [default: report.html, in the folder if it is one run]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Run that speed-ups refer to [default: the one that takes longest to its best validation score]
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,
    /// Also write the tables as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write a row for each run as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also write the curves over time as SVG; on several datasets one file for each, NAME-DATASET.svg
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Reads, compares and writes; prints what was written.
pub fn run(args: &ReportArgs) -> Result<()> {
    let comparison = Comparison::new(read(&args.runs)?, args.baseline.as_deref())?;
    let runs: Vec<&Run> = comparison.runs().collect();
    let (page, place) = match runs[..] {
        [one] => (page::of_run(one), one.path.join(names::REPORT)),
        _ => (page::of_comparison(&comparison, &command()), PathBuf::from(names::REPORT)),
    };
    let out = args.out.clone().unwrap_or(place);
    write_text(&out, &page)?;
    let mut written = vec![out];
    let tables = [(&args.markdown, comparison.markdown()), (&args.csv, comparison.csv())];
    for (path, table) in tables.into_iter().filter_map(|(path, table)| Some((path.as_ref()?, table))) {
        write_text(path, &table)?;
        written.push(path.clone());
    }
    if let Some(path) = &args.svg {
        written.extend(write_plots(path, &comparison)?);
    }
    let lines: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    text::print(&lines.join("\n"))
}

/// Every run once, in the order given.
fn read(paths: &[PathBuf]) -> Result<Vec<Run>> {
    let mut seen = BTreeSet::new();
    let mut runs = Vec::new();
    for path in paths {
        for folder in runs_in(path)? {
            if seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
                runs.push(Run::read(&folder)?);
            }
        }
    }
    Ok(runs)
}

fn write_plots(path: &Path, comparison: &Comparison) -> Result<Vec<PathBuf>> {
    let plots = comparison.plots();
    if plots.is_empty() {
        let found = "no run was evaluated on validation nodes: there is no curve to draw";
        return Err(Error::data("--svg", found, "leave out --svg"));
    }
    let several = plots.len() > 1;
    let mut written = Vec::new();
    for (data, svg) in &plots {
        let path = if several { beside(path, data) } else { path.to_path_buf() };
        write_text(&path, svg)?;
        written.push(path);
    }
    Ok(written)
}

/// `plot.svg` for `arxiv`: `plot-arxiv.svg`.
fn beside(path: &Path, data: &str) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(path.file_stem()), part(path.extension()));
    path.with_file_name(format!("{stem}-{}.{extension}", crate::folder::file_name(data)))
}
