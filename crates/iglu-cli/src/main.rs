//! The `iglu` program: hands its arguments to the library and ends with its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    iglu_cli::run(std::env::args_os().skip(1)).into()
}
