//! The page about several runs.

use super::html;
use crate::compare::{Comparison, Section};
use crate::numbers::grouped;
use crate::plot::{Frame, Lines};

/// The page that compares runs; `command` made it.
pub fn of_comparison(comparison: &Comparison, command: &str) -> String {
    let runs: usize = comparison.sections.iter().flat_map(|s| &s.groups).map(|g| g.runs.len()).sum();
    let title = match &comparison.sections[..] {
        [one] => format!("{}: {runs} runs", one.data),
        many => format!("{runs} runs on {} datasets", many.len()),
    };
    let head = format!("<h1>{}</h1>\n", crate::escape(&title));
    let body: String = comparison.sections.iter().map(section).collect();
    let origin = html::list(&[
        ("made by", command.to_string()),
        ("program", format!("iglu {}", env!("CARGO_PKG_VERSION"))),
    ]);
    html::page(&title, &format!("{head}{body}{}", html::section("Origin", &origin)))
}

fn section(section: &Section) -> String {
    let facts = &section.groups[0].runs[0].origin.data;
    let about = format!(
        "{} nodes, {} edges, {} features, {} classes ({}).",
        grouped(facts.nodes),
        grouped(facts.edges),
        grouped(facts.features),
        grouped(facts.classes),
        facts.task
    );
    let plots = [section.clock_plot(), section.epoch_plot(), section.loss_plot()];
    let body = html::remark(&about)
        + &html::figures(plots.iter().map(|p| (caption(p), p.svg(Frame::Page))))
        + "<h3>Settings</h3>\n"
        + &section.group_table().html()
        + &html::remark(&section.about_baseline())
        + "<h3>Runs</h3>\n"
        + &section.run_table().html();
    html::section(&section.title(), &body)
}

/// The title without the dataset, which stands above.
fn caption(lines: &Lines) -> String {
    let what = html::capital(&lines.y.label);
    format!("{what} against {}", lines.x.label)
}
