//! How work runs: without the interpreter's lock, in a pool of threads, behind a wall against panics.
//!
//! A pool lives as long as the call it serves. Starting one takes microseconds, and no thread is left that a fork
//! could lose.

use crate::errors;
use iglu::{Error, Result};
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a signal may go unnoticed.
const TICK: Duration = Duration::from_millis(50);

/// How long the end of the interpreter waits for work that has been asked to stop.
const PATIENCE: Duration = Duration::from_secs(10);

static RUNNING: AtomicUsize = AtomicUsize::new(0);
static CLOSING: AtomicBool = AtomicBool::new(false);

/// Refuses every interpreter but the first: neither NumPy nor the lock works in others.
pub fn refuse_sub_interpreters() -> PyResult<()> {
    #[expect(unsafe_code, reason = "the interpreter's number is asked of C")]
    // SAFETY: called while attached, so there is a current interpreter.
    let number = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if number == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err("iglu_gnn works in the main interpreter only, not in sub-interpreters"))
}

/// What became of a piece of work: its result, or what a panic said.
pub type Outcome<T> = std::result::Result<Result<T>, String>;

/// Counts a piece of work for as long as it lives.
pub struct Running(());

impl Running {
    /// Begins.
    pub fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the interpreter is about to end.
fn is_closing() -> bool {
    CLOSING.load(Ordering::SeqCst)
}

/// Asks whatever runs in other threads to stop, and waits for it: a thread that came back to an interpreter that is
/// gone would take the process down.
#[pyfunction]
pub fn close(py: Python<'_>) {
    CLOSING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let begin = Instant::now();
        while RUNNING.load(Ordering::SeqCst) > 0 && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    });
}

/// Forgets what ran in the parent of this process.
#[pyfunction]
pub fn after_fork() {
    RUNNING.store(0, Ordering::SeqCst);
}

/// Runs `task` in a pool of `threads` threads (0: one per core); a panic in it is told, not passed on.
pub fn pooled<T: Send>(threads: usize, task: impl FnOnce() -> Result<T> + Send) -> Outcome<T> {
    let guarded = || match ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(task),
        Err(e) => {
            let found = format!("{threads} threads cannot be started: {e}");
            Err(Error::usage("threads", found, "ask for fewer, or for 0 (all cores)"))
        }
    };
    catch_unwind(AssertUnwindSafe(guarded)).map_err(|payload| said(payload.as_ref()))
}

/// Runs `task` as [`pooled`] does, without the interpreter's lock.
pub fn work<T: Send>(py: Python<'_>, threads: usize, task: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let _running = Running::new();
    let outcome = py.detach(|| pooled(threads, task));
    finished(py, outcome)
}

/// Runs `task` as [`work`] does, in a thread of its own: a signal raises here at once, and what is left of the task ends
/// unheard.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    task: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let _running = Running::new();
    let (tell, mut told) = channel();
    // The worker never comes back to the interpreter, which need not wait for it; nobody may be there to hear it.
    thread::spawn(move || drop(tell.send(pooled(threads, task))));
    loop {
        let (message, back) = next(py, told);
        told = back;
        match message {
            Ok(outcome) => return finished(py, outcome),
            Err(RecvTimeoutError::Disconnected) => return Err(errors::bug(py, "a worker went away")),
            Err(RecvTimeoutError::Timeout) => interrupted(py).map_or(Ok(()), Err)?,
        }
    }
}

/// The next message of a worker, waited for without the interpreter's lock for at most [`TICK`].
pub fn next<M: Send>(
    py: Python<'_>,
    told: Receiver<M>,
) -> (std::result::Result<M, RecvTimeoutError>, Receiver<M>) {
    py.detach(|| (told.recv_timeout(TICK), told))
}

/// What a signal raised, or the end of the interpreter.
pub fn interrupted(py: Python<'_>) -> Option<PyErr> {
    if is_closing() { Some(errors::closing(py)) } else { py.check_signals().err() }
}

/// The result, or the exception that tells what went wrong.
pub fn finished<T>(py: Python<'_>, outcome: Outcome<T>) -> PyResult<T> {
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(errors::raised(py, &e)),
        Err(said) => Err(errors::bug(py, &said)),
    }
}

/// What a panic said.
pub fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_string()
}
