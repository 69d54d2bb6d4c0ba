//! A request to stop, which other threads can make while a run goes on.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle; its clones are one and the same request. Asked for in every mini-batch.
///
/// ```
/// let interrupt = iglu::Interrupt::new();
/// let elsewhere = interrupt.clone();
/// assert!(!interrupt.requested());
/// elsewhere.request();
/// assert!(interrupt.requested());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Nobody has asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop as soon as possible.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once somebody has asked.
    pub(crate) fn check(&self) -> Result<()> {
        if self.requested() {
            return Err(Error::interrupted("training", "stopped before the first epoch ended", ""));
        }
        Ok(())
    }
}
