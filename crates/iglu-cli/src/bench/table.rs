//! The results for people.

use super::phase::Phase;
use super::trial::Trial;
use super::{Bench, trial};
use iglu::kernels::gemm::{Precision, Unit};
use iglu::kernels::limits::Form;
use iglu_report::numbers::{bytes, grouped};

/// Everything as text.
pub fn table(bench: &Bench) -> String {
    let m = &bench.machine;
    let mut lines = vec![
        bench.command.clone(),
        format!("{}, iglu {}", bench.started, bench.version),
        format!(
            "{}{} on {} threads: {:.0} GFLOP/s fused multiply-add, {:.0} in square products, {:.1} GB/s in order",
            m.instructions,
            match m.bf16 {
                Unit::Matrix => " with AMX",
                Unit::Words => " with BF16",
                _ => "",
            },
            m.threads,
            m.peak_gflops,
            m.square_gflops,
            m.stream_gbytes
        ),
    ];
    for trial in &bench.trials {
        lines.push(String::new());
        lines.extend(of_trial(trial));
    }
    lines.join("\n")
}

fn of_trial(t: &Trial) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{}  {} nodes, {} edges, trained on {} rows; {}",
            t.data,
            grouped(t.nodes),
            grouped(t.edges),
            grouped(t.rows),
            t.recipe.unwrap_or("default network")
        ),
        format!(
            "{:<12}{:>9}{:>10}{:>10}{:>8}{:>8}{:>8}{:>8}{:>8}",
            "phase", "seconds", "GFLOP", "GFLOP/s", "GB", "GB/s", "peak", "memory", "ratio"
        ),
    ];
    lines.extend(t.phases.iter().chain([&t.epoch]).map(row));
    lines.push(format!(
        "epochs {:.3} to {:.3} s; {:.2} times products and memory alone ({:.2} with square products)",
        t.epoch_seconds.iter().copied().fold(f64::INFINITY, f64::min),
        t.epoch_seconds.iter().copied().fold(0.0, f64::max),
        t.epoch.ratio,
        t.square_ratio,
    ));
    lines.push(format!(
        "data {:.2} s, preparation {:.2} s, peak memory {}",
        t.load_seconds,
        t.prepare_seconds,
        t.peak_bytes.map_or_else(|| "unknown".to_string(), bytes)
    ));
    lines.extend(t.reorder_seconds.map(|s| format!("nodes reordered by communities in {s:.2} s")));
    lines.extend(t.aggregations.iter().map(aggregation));
    lines.extend(t.products.iter().map(product));
    lines
}

fn row(p: &Phase) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    format!(
        "{:<12}{:>9.4}{:>10.2}{:>10.1}{:>8.2}{:>8.1}{:>8}{:>8}{:>8}",
        p.name,
        p.seconds,
        p.gflop,
        p.gflops,
        p.gbytes,
        p.gbytes_per_second,
        percent(p.peak_share),
        percent(p.memory_share),
        // A phase that had nothing to do has no ratio.
        if p.ratio.is_finite() { format!("{:.2}", p.ratio) } else { "-".to_string() }
    )
}

fn aggregation(a: &trial::Aggregation) -> String {
    format!(
        "A X, {} columns: {:.4} s, {:.1} GB/s, {:.0} % of what memory gives (rows at random {:.1})",
        a.cols,
        a.seconds,
        a.gbytes,
        100.0 * a.share,
        a.limit_gbytes
    )
}

fn product(r: &trial::Rate) -> String {
    let p = r.product;
    let form = match p.form {
        Form::Nn => "A B  ",
        Form::Tn => "A^T B",
        Form::Nt => "A B^T",
    };
    format!(
        "{form}{} {:>4} x {:>4} x {:>4}: {:.0} GFLOP/s, {:.0} % of the peak",
        if p.precision == Precision::Bf16 { " bf16" } else { "" },
        p.m,
        p.k,
        p.n,
        r.gflops,
        100.0 * r.share
    )
}
