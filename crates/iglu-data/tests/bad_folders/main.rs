//! Damage to datasets of several files: each case changes one file of a good dataset, and the message says which, where,
//! what and how to mend it.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;
mod graphsaint;
mod ogb;
mod others;
mod planetoid;

use common::assert_says;
use common::folders::copy;
use iglu::Error;
use iglu_data::{Limits, LoadOptions, load};
use std::path::Path;

/// Name of the case, what becomes of the file, and what the message says.
type Case<'a> = (&'a str, Vec<u8>, &'a [&'a str]);

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn error_of(path: &Path, options: &LoadOptions) -> Error {
    load(path.to_str().unwrap(), options).map(|data| data.name).expect_err(&path.display().to_string())
}

/// Changes `file` of a good dataset.
fn check(dataset: &str, file: &str, cases: &[Case<'_>]) {
    let work = copy(dataset, &format!("bad-{}", file.replace('/', "-")));
    assert!(load(work.to_str().unwrap(), &LoadOptions::default()).is_ok(), "{dataset}: good at first");
    for (case, bytes, fragments) in cases {
        std::fs::write(work.join(file), bytes).unwrap();
        let options = LoadOptions { limits: Limits { max_decompressed: 4 << 20 }, ..LoadOptions::default() };
        let e = error_of(&work, &options);
        assert_eq!(e.exit_code(), 65, "{dataset}, {file}, {case}: {e}");
        assert_says(&format!("{dataset}, {file}, {case}"), &e, fragments);
    }
}

/// Every file in `names` is needed.
fn check_missing(dataset: &str, names: &[&str]) {
    let work = copy(dataset, "missing");
    for name in names {
        let bytes = std::fs::read(work.join(name)).unwrap();
        std::fs::remove_file(work.join(name)).unwrap();
        let e = error_of(&work, &LoadOptions::default());
        assert_eq!(e.exit_code(), 66, "{dataset}: {e}");
        assert_says(dataset, &e, &[&format!("{name}`: this file is not there")]);
        std::fs::write(work.join(name), bytes).unwrap();
    }
}
