//! Ctrl-C and SIGTERM. From the first epoch of a run on, the first asks it to stop and keep what it has; a second one, or
//! two seconds, end the program at once. Before, and in other commands, there is nothing to keep, and the first ends it.
//! Whatever ends at once leaves no temporary file.

use iglu::Interrupt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Exit code of a program that a signal has ended; 0 while there was none.
static CODE: AtomicU8 = AtomicU8::new(0);

/// Who is told of a signal.
static HEARER: Mutex<Hearer> = Mutex::new(Hearer::Nobody);

#[derive(Debug, Clone)]
enum Hearer {
    /// The program is over; whoever has called it may go on.
    Nobody,
    /// The program, with nothing to keep.
    Program,
    /// A run with epochs behind it.
    Run(Interrupt),
}

fn hearer() -> MutexGuard<'static, Hearer> {
    HEARER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exit code after an interruption.
pub fn code() -> u8 {
    match CODE.load(Ordering::Relaxed) {
        0 => 130,
        code => code,
    }
}

/// As long as this lives, signals end the program, after it has removed its temporary files. They end it as ever where
/// they cannot be heard.
#[derive(Debug)]
pub struct Listening(());

/// Begins to listen.
pub fn listen() -> Listening {
    *hearer() = Hearer::Program;
    #[cfg(unix)]
    unix::listen();
    Listening(())
}

impl Drop for Listening {
    fn drop(&mut self) {
        *hearer() = Hearer::Nobody;
    }
}

/// From now on there is something to keep: the next signal makes this request.
pub fn ask(interrupt: &Interrupt) {
    *hearer() = Hearer::Run(interrupt.clone());
}

/// There is nothing to keep: another run begins.
pub fn ask_nobody() {
    *hearer() = Hearer::Program;
}

#[cfg(unix)]
mod unix {
    use super::{CODE, Hearer, hearer};
    use crate::{folder, text};
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::sync::Once;
    use std::sync::atomic::Ordering;
    use std::time::Duration;
    use std::{process, thread};

    /// How long a run may take to stop. Giving back some gigabytes takes a moment more.
    const PATIENCE: Duration = Duration::from_millis(1600);

    pub(super) fn listen() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
            thread::spawn(move || signals.forever().for_each(hear));
        });
    }

    fn hear(signal: i32) {
        let told = hearer().clone();
        match told {
            Hearer::Nobody => {}
            Hearer::Program => {
                let message = if signal == SIGINT { "stopped by Ctrl-C" } else { "stopped by SIGTERM" };
                end(signal, folder::clear_begun, message);
            }
            Hearer::Run(interrupt) if interrupt.requested() => {
                end(signal, folder::abandon, "stopped at once: what the last checkpoint has is kept");
            }
            Hearer::Run(interrupt) => {
                CODE.store((128 + signal) as u8, Ordering::Relaxed);
                interrupt.request();
                text::note("stopping; once more to stop at once");
                thread::spawn(move || watch(signal));
            }
        }
    }

    /// Ends a run that does not stop in time.
    fn watch(signal: i32) {
        thread::sleep(PATIENCE);
        if !matches!(*hearer(), Hearer::Nobody) {
            let message = "stopped in the middle of a long step: what the last checkpoint has is kept";
            end(signal, folder::abandon, message);
        }
    }

    /// Ends the program; files that were being written are gone, those that were there before are not.
    fn end(signal: i32, tidy: fn(), message: &str) -> ! {
        iglu_data::output::abandon();
        tidy();
        text::note_over_progress(message);
        process::exit(128 + signal)
    }
}
