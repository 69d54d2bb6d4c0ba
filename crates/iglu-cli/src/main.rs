//! The `iglu` program: hands its arguments to the library and ends with its code.

use iglu::kernels::lines::{self, Lines};
use std::process::ExitCode;

#[global_allocator]
static TABLES_ON_LINES: Lines = Lines;

fn main() -> ExitCode {
    lines::keep_memory_together();
    iglu_cli::run(std::env::args_os().skip(1)).into()
}
