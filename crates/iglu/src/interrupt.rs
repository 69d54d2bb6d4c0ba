//! A request to stop, which other threads can make while a run goes on.

use crate::{Error, Result};
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::AtomicUsize;
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
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Checks until it asks by itself.
    #[cfg(test)]
    left: Option<Arc<AtomicUsize>>,
}

impl Interrupt {
    /// Nobody has asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop as soon as possible.
    pub fn request(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    pub fn requested(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// An error once somebody has asked.
    pub(crate) fn check(&self) -> Result<()> {
        #[cfg(test)]
        self.count();
        if self.requested() {
            return Err(Error::interrupted("training", "stopped before the first epoch ended", ""));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Interrupt {
    /// Asks by itself at the check after so many.
    pub(crate) fn after(checks: usize) -> Self {
        Self { left: Some(Arc::new(AtomicUsize::new(checks))), ..Self::default() }
    }

    fn count(&self) {
        let one_less = |left: usize| left.checked_sub(1);
        let over = |left: &Arc<AtomicUsize>| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err()
        };
        if self.left.as_ref().is_some_and(over) {
            self.request();
        }
    }
}
