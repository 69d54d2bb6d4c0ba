//! Errors of the libraries as exceptions of `iglu_gnn.errors`, with the same text.

use iglu::Error;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The exception of `iglu_gnn.errors` called `name`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("iglu_gnn.errors")?.getattr(name)?.cast_into()?)
}

fn exception(py: Python<'_>, name: &str, text: &str) -> PyErr {
    match class(py, name) {
        Ok(class) => PyErr::from_type(class, text.to_string()),
        Err(e) => e,
    }
}

/// An error as its exception.
pub fn raised(py: Python<'_>, e: &Error) -> PyErr {
    let name = match e {
        Error::Usage { .. } => "UsageError",
        Error::Data { .. } => "DataError",
        Error::Missing { .. } => "MissingError",
        Error::Output { .. } => "OutputError",
        Error::Locked { .. } => "LockedError",
        Error::Diverged { .. } => "DivergedError",
        Error::Memory { .. } => "MemoryLimitError",
        Error::Interrupted { .. } => "InterruptedRun",
        _ => "IgluError",
    };
    exception(py, name, &e.to_string())
}

/// A panic, which is a bug of ours, as an exception.
pub fn bug(py: Python<'_>, said: &str) -> PyErr {
    let version = env!("CARGO_PKG_VERSION");
    let text =
        format!("{said}\n  fix: this is a bug in iglu {version}; please report this message and the call");
    exception(py, "BugError", &text)
}

/// The interpreter ends while something runs.
pub fn closing(py: Python<'_>) -> PyErr {
    exception(py, "IgluError", "iglu_gnn: the interpreter is shutting down")
}
