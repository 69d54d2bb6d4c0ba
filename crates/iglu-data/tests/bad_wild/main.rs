//! Bad inputs in the forms of `wild.rs`: every one gets a message with its place, its value and a remedy. A good one is
//! read first, so that each case fails for its own reason.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;
mod folders;
mod matlab;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod tables;

use common::{assert_says, folder};
use iglu::Dataset;
use iglu_data::{LoadOptions, load};

/// Name of the case, the bytes that are wrong, and what the message says.
type Case<'a> = (&'a str, Vec<u8>, &'a [&'a str]);

/// A folder of its own with these files.
struct Files(std::path::PathBuf);

impl Files {
    fn write(test: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = folder(test);
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        Self(folder)
    }

    fn load(&self, options: &LoadOptions) -> iglu::Result<Dataset> {
        load(self.0.to_str().unwrap(), options)
    }
}

fn refused(case: &str, result: iglu::Result<Dataset>, fragments: &[&str]) {
    let e = result.map(|data| data.name).expect_err(case);
    assert_eq!(e.exit_code(), 65, "{case}: {e}");
    assert_says(case, &e, fragments);
}

/// Lines made of the numbers below `count`.
fn lines(first: &str, count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = format!("{first}\n");
    (0..count).for_each(|i| text.extend([line(i).as_str(), "\n"]));
    text.into_bytes()
}
