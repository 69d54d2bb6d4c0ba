//! Ctrl-C and SIGTERM. The first asks a run to stop and keep what it has; a second one, or two seconds, end the program
//! at once. Outside of runs there is nothing to keep, and the first ends it.

use iglu::Interrupt;
use std::sync::atomic::{AtomicU8, Ordering};

/// Exit code of a program that a signal has ended; 0 while there was none.
static CODE: AtomicU8 = AtomicU8::new(0);

/// Exit code after an interruption.
pub fn code() -> u8 {
    match CODE.load(Ordering::Relaxed) {
        0 => 130,
        code => code,
    }
}

/// A request that the next signal makes. Signals end the program as ever where they cannot be heard.
pub fn listen() -> Interrupt {
    let interrupt = Interrupt::new();
    #[cfg(unix)]
    unix::listen(&interrupt);
    interrupt
}

#[cfg(unix)]
mod unix {
    use super::CODE;
    use crate::text;
    use iglu::Interrupt;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::sync::atomic::Ordering;
    use std::time::Duration;
    use std::{process, thread};

    /// How long a run may take to stop.
    const PATIENCE: Duration = Duration::from_millis(1900);

    pub(super) fn listen(interrupt: &Interrupt) {
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
        let interrupt = interrupt.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                let code = 128 + signal;
                if interrupt.requested() {
                    process::exit(code);
                }
                CODE.store(code as u8, Ordering::Relaxed);
                interrupt.request();
                text::note("stopping; once more to stop at once");
                thread::spawn(move || {
                    thread::sleep(PATIENCE);
                    process::exit(code);
                });
            }
        });
    }
}
