//! Drives the built program as a user would: arguments in; stdout, stderr, files and exit code out.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

mod bench;
mod browser;
mod data;
mod embed;
mod evaluate;
mod folder;
mod harness;
mod layers;
#[cfg(target_os = "linux")]
mod matrix;
mod memory;
mod plan;
mod predict;
mod recipes;
mod report;
mod resume;
#[cfg(unix)]
mod signals;
mod threads;
mod train;
mod usage;
