//! The page about one run.

use super::html::{self, Card};
use super::{classes, staleness};
use crate::folder::Run;
use crate::numbers::{bytes, duration, grouped, score};
use crate::plot::{Axis, Bar, Bars, Column as Pillar, Columns, Frame, Lines, Look, Mark, Series};
use crate::profile::{ClassSize, Profile};
use crate::record::{Epoch, Summary};
use crate::scores::by_split;
use iglu::observe::Seconds;

/// Rows of the histogram of classes at most; the rest has a number.
const MOST_CLASSES: usize = 30;

/// The page of a run.
pub fn of_run(run: &Run) -> String {
    let facts = &run.origin.data;
    let title = format!("{}: {}", facts.name, run.path.display());
    let head = format!("<h1>{}</h1>\n", crate::escape(&facts.name));
    let about = format!(
        "{} nodes, {} edges, {} features, {} classes ({}); {} training, {} validation and {} test nodes.",
        grouped(facts.nodes),
        grouped(facts.edges),
        grouped(facts.features),
        grouped(facts.classes),
        facts.task,
        grouped(facts.train),
        grouped(facts.val),
        grouped(facts.test)
    );
    let body = [
        head,
        html::remark(&about),
        unfinished(run),
        html::cards(&headline(run)),
        scores(run),
        convergence(run),
        time(run),
        staleness::section(run),
        data(run),
        run.summary.as_ref().map_or_else(String::new, by_class),
        origin(run),
    ];
    html::page(&title, &body.concat())
}

fn unfinished(run: &Run) -> String {
    if run.finished() {
        return String::new();
    }
    let (done, planned) = run.epochs.last().map_or((0, 0), |e| (e.epoch, e.epochs));
    html::warning(&format!("This run has not ended: {done} of {planned} epochs are written down."))
}

fn headline(run: &Run) -> Vec<Card> {
    let metric = &run.prepared.metric;
    let total = run.summary.as_ref().map(|s| s.seconds).or(run.epochs.last().map(|e| e.seconds));
    let best = run.best().map_or_else(|| "-".into(), |e| format!("{} of {}", e.epoch, run.ran()));
    let seconds = total.unwrap_or_default();
    let mut cards = vec![
        Card { name: "Test", value: score(run.test()), about: metric.clone() },
        Card { name: "Validation", value: score(run.val()), about: metric.clone() },
        Card { name: "Best epoch", value: best, about: "on validation".into() },
        Card {
            name: "Time",
            value: duration(seconds.total),
            about: format!("{} of it training", duration(seconds.train)),
        },
    ];
    if let Some(epoch) = run.seconds_per_epoch() {
        cards.push(Card { name: "An epoch", value: duration(epoch), about: "after the start".into() });
    }
    if let Some(peak) = run.peak_rss_bytes() {
        cards.push(Card { name: "Peak memory", value: bytes(peak), about: "of the process".into() });
    }
    let params = grouped(run.prepared.params);
    cards.push(Card { name: "Parameters", value: params, about: "learned numbers".into() });
    cards
}

fn scores(run: &Run) -> String {
    let mut body = html::paragraph(&meaning(run));
    if let Some(summary) = run.summary.as_ref().filter(|s| !s.scores.is_empty()) {
        body += &by_split(&summary.scores).html();
    }
    html::section("Scores", &body)
}

/// What the score is, how sure it is, and what a guess would have.
fn meaning(run: &Run) -> String {
    let metric = run.prepared.metric.as_str();
    let multi = run.origin.data.task == "multi-label";
    let mut text = vec![match (metric, multi) {
        ("accuracy", false) => "Accuracy is the share of nodes whose class is predicted right.",
        ("accuracy", true) => "Accuracy is the share of labels that are predicted right.",
        ("f1-micro", false) => "Micro F1 is, with one class per node, the share of nodes predicted right.",
        ("f1-micro", true) => {
            "Micro F1 is the harmonic mean of precision and recall over all labels of all nodes together."
        }
        ("f1-macro", _) => "Macro F1 is the mean over classes of the harmonic mean of precision and recall.",
        ("roc-auc", _) => {
            "ROC-AUC is the chance that a node with a label scores above one without it, averaged over classes; \
             guessing has 0.5."
        }
        _ => "",
    }
    .to_string()];
    text.push(
        "The model kept is that of the best validation score; its test score is what to expect on new nodes."
            .into(),
    );
    let counted = matches!(metric, "accuracy" | "f1-micro") && !multi;
    if let Some(summary) = run.summary.as_ref().filter(|_| counted) {
        text.extend(uncertainty(run, summary));
        text.extend(guess(&summary.profile.classes));
    }
    text.retain(|sentence| !sentence.is_empty());
    text.join(" ")
}

fn uncertainty(run: &Run, summary: &Summary) -> Option<String> {
    let nodes = summary.scores.iter().find(|s| s.split == "test")?.tally.nodes;
    let p = run.test().filter(|_| nodes > 0)?;
    let half = 1.96 * (p * (1.0 - p) / nodes as f64).sqrt();
    Some(format!("On {} test nodes it is uncertain by ± {half:.4} (95 %).", grouped(nodes)))
}

/// The test score of always answering with the largest class of the training nodes.
fn guess(classes: &[ClassSize]) -> Option<String> {
    let largest = classes.iter().max_by_key(|c| c.train)?;
    let all: f64 = classes.iter().map(|c| c.test as f64).sum();
    let share = (all > 0.0).then(|| largest.test as f64 / all)?;
    Some(format!("Always answering with the largest class would score {share:.4}."))
}

/// Where an epoch lies on an axis.
type Coordinate = fn(&Epoch) -> f64;

fn convergence(run: &Run) -> String {
    if run.epochs.is_empty() {
        return String::new();
    }
    let axes: [(Axis, Coordinate); 2] = [
        (Axis::counting("epoch"), |e| e.epoch as f64),
        (Axis::linear("training seconds"), |e| e.seconds.train),
    ];
    let mut plots = Vec::new();
    for (axis, at) in &axes {
        let lines = score_lines(run, axis, at);
        plots.push((lines.title.clone(), lines.svg(Frame::Page)));
    }
    // The loss of the start is another one: without the graph, with dropout.
    for (axis, at) in &axes {
        let points = run.later().map(|e| [at(e), e.loss.unwrap_or(f64::NAN)]).collect();
        let title = format!("Training loss against {}", axis.label);
        plots.push(curve(&title, axis.clone(), Axis::linear("loss"), points));
    }
    let points = run.later().map(|e| [e.epoch as f64, e.learning_rate]).collect();
    plots.push(curve(
        "Learning rate",
        Axis::counting("epoch"),
        Axis::from_zero("rate at the begin of the epoch"),
        points,
    ));
    html::section("Convergence", &(html::paragraph(&progress(run)) + &html::figures(plots)))
}

/// Validation and test score, the best epoch marked.
fn score_lines(run: &Run, axis: &Axis, x: impl Fn(&Epoch) -> f64) -> Lines {
    // Epochs that were not evaluated are no gaps.
    let points = |y: fn(&Epoch) -> Option<f64>| {
        run.epochs.iter().filter_map(|e| Some([x(e), y(e)?])).collect::<Vec<_>>()
    };
    let best = run.best().and_then(|e| Some((e, e.val?)));
    let mark = best.map(|(e, val)| Mark {
        at: [x(e), val],
        text: format!("best {val:.4} (epoch {})", e.epoch),
        colour: 0,
    });
    Lines {
        title: format!("{} against {}", html::capital(&run.prepared.metric), axis.label),
        x: axis.clone(),
        y: Axis::linear(&run.prepared.metric),
        series: vec![
            Series { name: "validation".into(), points: points(|e| e.val), colour: 0, look: Look::Plain },
            Series { name: "test".into(), points: points(|e| e.test), colour: 1, look: Look::Dashed },
        ],
        marks: mark.into_iter().collect(),
    }
}

fn curve(title: &str, x: Axis, y: Axis, points: Vec<[f64; 2]>) -> (String, Option<String>) {
    let lines = Lines {
        title: title.to_string(),
        x,
        y,
        series: vec![Series { points, ..Series::default() }],
        marks: Vec::new(),
    };
    (lines.title.clone(), lines.svg(Frame::Page))
}

/// How fast the score came, and whether it was still rising.
fn progress(run: &Run) -> String {
    let Some((best, val)) = run.best().and_then(|e| Some((e, e.val?))) else {
        return "The run was not evaluated on validation nodes: the last epoch counts.".to_string();
    };
    let when = |e: &Epoch| {
        let what = if e.epoch == 0 { "with the start".into() } else { format!("in epoch {}", e.epoch) };
        format!("{what} after {} of training", duration(e.seconds.train))
    };
    let near = run.epochs.iter().find(|e| e.val.is_some_and(|v| v >= 0.99 * val)).unwrap_or(best);
    let last = run.epochs.last().is_some_and(|e| e.epoch == best.epoch && e.epoch > 1);
    let more = if last { " It was the last epoch: more of them may help." } else { "" };
    format!(
        "The best validation score came {}, 99 % of it {}.{more} Training seconds hold the warm start, refreshes and \
         passes; preparation and evaluation do not count.",
        when(best),
        when(near)
    )
}

fn time(run: &Run) -> String {
    let end = run.summary.as_ref().map(|s| s.seconds).or(run.epochs.last().map(|e| e.seconds));
    let Some(seconds) = end else { return String::new() };
    let plots = [("Phases".to_string(), phases(seconds).svg(Frame::Page)), epoch_times(run), memory(run)];
    html::section("Time and memory", &html::figures(plots))
}

fn phases(s: Seconds) -> Bars {
    let named = [
        ("load data", s.load),
        ("prepare", s.prepare),
        ("warm start", s.start),
        ("refreshes", s.refresh),
        ("passes", s.passes),
        ("evaluate", s.eval),
    ];
    let rest = s.total - named.iter().map(|(_, v)| v).sum::<f64>();
    let all = named.into_iter().chain([("other", rest)]);
    let bar = |(name, value): (&str, f64)| Bar {
        name: name.to_string(),
        parts: vec![value.max(0.0)],
        note: format!("{} ({:.0} %)", duration(value.max(0.0)), 100.0 * value.max(0.0) / s.total.max(1e-9)),
    };
    Bars { title: "Seconds of each phase".into(), parts: Vec::new(), bars: all.map(bar).collect() }
}

/// Seconds of every epoch but the first, which may have been part of the start.
fn epoch_times(run: &Run) -> (String, Option<String>) {
    let each = |name: &str, colour: usize, part: fn(&Seconds) -> f64| {
        let step = |pair: &[Epoch]| [pair[1].epoch as f64, part(&pair[1].seconds) - part(&pair[0].seconds)];
        Series {
            name: name.into(),
            points: run.epochs.windows(2).filter(|pair| pair[0].epoch > 0).map(step).collect(),
            colour,
            look: Look::Plain,
        }
    };
    let lines = Lines {
        title: "Seconds of each epoch".into(),
        x: Axis::counting("epoch"),
        y: Axis::from_zero("seconds"),
        series: vec![
            each("refreshes", 0, |s| s.refresh),
            each("passes", 1, |s| s.passes),
            each("evaluation", 2, |s| s.eval),
        ],
        marks: Vec::new(),
    };
    (lines.title.clone(), lines.svg(Frame::Page))
}

fn memory(run: &Run) -> (String, Option<String>) {
    let point = |e: &Epoch| Some([e.epoch as f64, e.peak_rss_bytes? as f64 / f64::from(1 << 20)]);
    let points = run.epochs.iter().filter_map(point).collect();
    curve("Peak memory so far", Axis::counting("epoch"), Axis::from_zero("MiB"), points)
}

fn data(run: &Run) -> String {
    let Some(profile) = run.summary.as_ref().map(|s| &s.profile) else { return String::new() };
    let (degrees, classes) = (degrees(profile), class_sizes(profile));
    let plots = [
        (degrees.title.clone(), degrees.svg(Frame::Page)),
        (classes.title.clone(), classes.svg(Frame::Page)),
    ];
    html::section("Data", &html::figures(plots))
}

fn degrees(profile: &Profile) -> Columns {
    let column = |&[low, nodes]: &[usize; 2]| {
        let high = if low > 1 { format!(" to {}", low.saturating_mul(2) - 1) } else { String::new() };
        let label =
            if low >= 1024 && low.is_multiple_of(1024) { format!("{}k", low >> 10) } else { low.to_string() };
        Pillar { label, value: nodes as f64, tip: format!("degree {low}{high}: {} nodes", grouped(nodes)) }
    };
    Columns {
        title: "Degrees".into(),
        x: "neighbours: at least this many, less than the next".into(),
        y: "nodes".into(),
        columns: profile.degrees.iter().map(column).collect(),
    }
}

fn class_sizes(profile: &Profile) -> Bars {
    let mut order: Vec<usize> = (0..profile.classes.len()).collect();
    order.sort_by_key(|&c| std::cmp::Reverse(profile.classes[c].all()));
    let shown = if order.len() > MOST_CLASSES { MOST_CLASSES - 1 } else { order.len() };
    let parts = |c: &ClassSize| [c.train, c.val, c.test, c.rest].map(|n| n as f64).to_vec();
    let row = |&class: &usize| Bar {
        name: profile.name(class),
        parts: parts(&profile.classes[class]),
        note: grouped(profile.classes[class].all()),
    };
    let mut bars: Vec<Bar> = order.iter().take(shown).map(row).collect();
    if shown < order.len() {
        // Together they may be longer than all others, so they get a number and no bar.
        let rest = order[shown..].iter().map(|&c| profile.classes[c].all()).fold(0, usize::saturating_add);
        let name = format!("{} others", order.len() - shown);
        bars.push(Bar { name, parts: Vec::new(), note: format!("{} together", grouped(rest)) });
    }
    let unsplit = profile.classes.iter().any(|c| c.rest > 0);
    let names = ["training", "validation", "test", "in no split"];
    let parts = names.iter().take(if unsplit { 4 } else { 3 }).map(ToString::to_string).collect();
    Bars { title: "Nodes of each class".into(), parts, bars }
}

/// The classes on the test nodes, or on the validation nodes where there is no test.
fn by_class(summary: &Summary) -> String {
    let of = |split: &str| summary.scores.iter().find(|s| s.split == split && s.tally.nodes > 0);
    let scores = of("test").or_else(|| of("val"));
    scores.map_or_else(String::new, |scores| classes::section(scores, &summary.profile))
}

fn origin(run: &Run) -> String {
    let o = &run.origin;
    let entries = [
        ("command", o.command.clone()),
        ("began", o.time.clone()),
        ("data", o.source.clone()),
        ("seed", o.seed.to_string()),
        ("program", format!("iglu {}", o.version)),
        ("threads", format!("{} ({})", o.threads, o.isa)),
        ("system", o.system.clone()),
        ("folder", run.path.display().to_string()),
    ];
    html::section("Configuration", &configuration(&run.config))
        + &html::section("Origin", &html::list(&entries))
}

/// The configuration, a box for each of its tables.
fn configuration(config: &toml::Table) -> String {
    let (tables, top): (Vec<_>, Vec<_>) = config.iter().partition(|(_, value)| value.is_table());
    let text = |table: &toml::Table| toml::to_string(table).unwrap_or_default();
    let top: toml::Table = top.into_iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut boxes: Vec<String> =
        (!top.is_empty()).then(|| html::code(text(&top).trim_end())).into_iter().collect();
    for (name, value) in tables {
        let one: toml::Table = std::iter::once((name.clone(), value.clone())).collect();
        boxes.push(html::code(text(&one).trim_end()));
    }
    if boxes.is_empty() { String::new() } else { format!("<div class=\"config\">{}</div>\n", boxes.concat()) }
}
