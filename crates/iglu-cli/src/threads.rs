//! The pool of worker threads that everything runs in.

use iglu::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::thread;

/// A pool of `count` threads; 0: one per core.
pub fn pool(count: usize) -> Result<ThreadPool> {
    let count = if count > 0 { count } else { thread::available_parallelism().map_or(1, usize::from) };
    ThreadPoolBuilder::new().num_threads(count).build().map_err(|e| {
        Error::usage(
            "threads",
            format!("{count} threads cannot be started: {e}"),
            "ask for fewer, or for 0 (all cores)",
        )
    })
}
