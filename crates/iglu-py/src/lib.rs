//! The native half of the Python package `iglu_gnn`: converts, calls the libraries, raises.
//!
//! Everything that computes runs without the interpreter's lock, in a pool of its own, and behind a wall against
//! panics ([`work`]). Objects are frozen, so that any number of threads may share them. What is pleasant in Python is
//! written in Python, in `python/iglu_gnn`.

#![expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
#![expect(clippy::doc_link_with_quotes, reason = "doc comments of classes are Python's docstrings")]

mod arrays;
mod config;
mod dataset;
mod errors;
mod graph;
mod model;
mod train;
mod work;

use iglu::kernels::lines::Lines;
use pyo3::prelude::*;

#[global_allocator]
static TABLES_ON_LINES: Lines = Lines;

/// Runs the command line on these words and gives its exit code.
#[pyfunction]
fn run(py: Python<'_>, words: Vec<String>) -> u8 {
    py.detach(|| iglu_cli::run(words))
}

/// The native half of iglu_gnn.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    work::refuse_sub_interpreters()?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<config::Config>()?;
    m.add_class::<graph::Graph>()?;
    m.add_class::<dataset::Dataset>()?;
    m.add_class::<model::Model>()?;
    m.add_class::<train::Trained>()?;
    m.add_function(wrap_pyfunction!(dataset::load_dataset, m)?)?;
    m.add_function(wrap_pyfunction!(model::load_model, m)?)?;
    m.add_function(wrap_pyfunction!(train::train, m)?)?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(work::close, m)?)?;
    m.add_function(wrap_pyfunction!(work::after_fork, m)?)
}
