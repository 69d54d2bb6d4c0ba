//! How the program ends: messages on stderr and exit codes. A panic is a bug and asks to be reported.

use crate::{signals, text};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

const USAGE: u8 = 64;
const BUG: u8 = 70;

/// The exit code of a result; prints its error.
pub fn code(result: iglu::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(e @ iglu::Error::Interrupted { .. }) => {
            text::note(&format!("stopped: {e}"));
            signals::code()
        }
        Err(e) => {
            text::note(&format!("error: {e}"));
            e.exit_code()
        }
    }
}

/// The exit code of what the argument parser says; prints it: help and version to stdout, errors to stderr.
pub fn usage(message: &clap::Error) -> u8 {
    // A closed pipe must not turn help into a failure.
    let _ = message.print();
    if message.use_stderr() { USAGE } else { 0 }
}

/// From now on a panic prints a short message that asks for a report, unless it is about to become an error.
pub fn announce_panics() {
    panic::set_hook(Box::new(|info| {
        if !iglu_data::catching_panics() {
            text::note(&apology(info));
        }
    }));
}

/// Runs the program; a panic in it ends with exit code 70.
pub fn guarded(program: impl FnOnce() -> u8) -> u8 {
    panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(BUG)
}

fn apology(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = info.location().map_or_else(|| "iglu".to_string(), |l| format!("{}:{}", l.file(), l.line()));
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "error: {place}: {said}\n  fix: this is a bug in iglu {version}; please report this message and the command"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_code() {
        assert_eq!(guarded(|| 0), 0);
        assert_eq!(guarded(|| code(Err(iglu::Error::output("disk", "full", "")))), 74);
        assert_eq!(guarded(|| panic!("a broken promise: {}", 1)), BUG);
        assert_eq!(guarded(|| panic!("a broken promise")), BUG);
    }
}
