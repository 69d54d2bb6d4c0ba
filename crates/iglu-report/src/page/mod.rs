//! Pages: one about a run, one about several. Text in memory, self-contained, without scripts.

mod classes;
mod compare;
mod html;
mod run;
mod staleness;

pub use compare::of_comparison;
pub use run::of_run;

#[cfg(test)]
mod tests;
