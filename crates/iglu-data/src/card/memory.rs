//! How much memory training with the defaults takes.

use iglu::Dataset;
use iglu::config::Config;

/// Bytes at the peak, as [`iglu::run::memory`] adds them up.
pub(super) fn train_bytes(data: &Dataset) -> u64 {
    let items = iglu::run::memory(&Config::default(), data).unwrap_or_default();
    items.iter().map(|item| item.bytes).sum()
}
