//! Panics of a library that are turned into errors here, and so are none of ours.

use std::cell::Cell;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would become an error: a panic hook need not announce it.
pub fn catching_panics() -> bool {
    CATCHING.get()
}

/// The result of `call`, or the message of its panic.
#[cfg(feature = "parquet")]
pub(crate) fn panics<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let before = CATCHING.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    CATCHING.set(before);
    result.map_err(|payload| message(&*payload))
}

#[cfg(feature = "parquet")]
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panics".to_string())
}
