//! The matrix of bad inputs: every numbered case has at least one input, and what is said about it stands in
//! `messages.txt`, as people see it. Run with `IGLU_BLESS=1` to write that file anew, and read what changed.
//!
//! | numbers | what | file |
//! |---|---|---|
//! | 1 - 22 | containers and bytes | `containers.rs` |
//! | 23 - 39 | text, JSON, pickles, Parquet, MATLAB, models | `texts.rs`, `models.rs` |
//! | 41 - 52 | graphs | `graphs.rs` |
//! | 53 - 64 | features, labels, splits | `values.rs` |
//!
//! Cases of configuration and environment (65 - 72) are in the tests of the program. More damage to each form, by
//! fragments of messages: `bad_inputs.rs`, `bad_folders`, `bad_wild`.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

#[path = "../common/mod.rs"]
mod common;
mod containers;
mod graphs;
mod models;
mod texts;
mod values;

use common::folders::{files, golden};
use iglu::{Error, Result};
use iglu_data::{Inspection, Limits, LoadOptions, load};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers that are tested where checkpoints are.
const ELSEWHERE: [u8; 1] = [40];

/// What comes of a case: what is said of data that is read, or the error.
type Outcome = Result<Vec<String>>;

/// One input.
struct Case {
    number: u8,
    name: &'static str,
    /// Exit code; 0 where the input is read.
    exit: u8,
    run: Box<dyn Fn(&Path) -> Outcome>,
}

impl Case {
    fn new(number: u8, exit: u8, name: &'static str, run: impl Fn(&Path) -> Outcome + 'static) -> Self {
        Self { number, name, exit, run: Box::new(run) }
    }

    /// A dataset of one file.
    fn file(number: u8, exit: u8, name: &'static str, bytes: Vec<u8>) -> Self {
        Self::new(number, exit, name, move |folder| {
            let path = folder.join("data.npz");
            std::fs::write(&path, &bytes).unwrap();
            look(&path, &small())
        })
    }

    /// The golden folder `dataset` with other bytes in one of its files.
    fn part(number: u8, name: &'static str, [dataset, file]: [&'static str; 2], bytes: Vec<u8>) -> Self {
        Self::new(number, 65, name, move |folder| {
            common::folders::copy_files(&golden(dataset), folder);
            std::fs::write(folder.join(file), &bytes).unwrap();
            look(folder, &small())
        })
    }

    /// A folder of these files.
    fn folder(number: u8, exit: u8, name: &'static str, files: Vec<(&'static str, Vec<u8>)>) -> Self {
        Self::new(number, exit, name, move |folder| {
            write(folder, &files);
            look(folder, &small())
        })
    }
}

fn write(folder: &Path, files: &[(&str, Vec<u8>)]) {
    for (file, bytes) in files {
        std::fs::write(folder.join(file), bytes).unwrap();
    }
}

/// Inputs have a few kilobytes, so that 4 MiB are a bomb.
fn small() -> LoadOptions {
    LoadOptions { limits: Limits { max_decompressed: 4 << 20 }, ..LoadOptions::default() }
}

/// Loads as training does, and tells what people are told of the data.
fn look(path: &Path, options: &LoadOptions) -> Outcome {
    let data = load(path.to_str().unwrap(), options)?;
    let seen = Inspection::of(&data, &options.split_choice);
    let problems = seen.problems.iter().map(|p| format!("{} ({})", p.what, p.remedy));
    Ok(seen.notes.iter().cloned().chain(problems).collect())
}

fn cases() -> Vec<Case> {
    let mut all = [containers::cases(), texts::cases(), models::cases(), graphs::cases(), values::cases()]
        .into_iter()
        .flatten()
        .collect::<Vec<Case>>();
    all.sort_by_key(|case| case.number);
    all
}

/// An empty folder of its own for a case.
fn folder(case: &Case) -> PathBuf {
    common::folder(&format!(
        "matrix-{}-{}",
        case.number,
        case.name.replace(|c: char| !c.is_alphanumeric(), "-")
    ))
}

/// What people see, without what differs from machine to machine.
fn told(case: &Case, outcome: &Outcome, folder: &Path) -> String {
    let mut out = format!("## {} {}\n", case.number, case.name);
    match outcome {
        Ok(said) if said.is_empty() => out.push_str("read\n"),
        Ok(said) => said.iter().for_each(|line| writeln!(out, "read, note: {line}").unwrap()),
        Err(e) => writeln!(out, "exit {}: {e}", e.exit_code()).unwrap(),
    }
    let folder = folder.to_str().unwrap();
    let name = folder.rsplit('/').next().unwrap_or(folder);
    out.replace(&format!("{folder}/"), "").replace(folder, "FOLDER").replace(name, "FOLDER")
}

#[test]
fn every_number_has_a_case() {
    let there: BTreeSet<u8> = cases().iter().map(|case| case.number).chain(ELSEWHERE).collect();
    let missing: Vec<u8> = (1..=64).filter(|number| !there.contains(number)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    assert_eq!(there.last(), Some(&64), "a number that no case has");
}

#[test]
fn every_case_is_told_as_it_should_be_and_at_once() {
    const LONGEST: Duration = Duration::from_secs(1);
    let mut all = String::new();
    for case in cases() {
        let folder = folder(&case);
        // Files are written by the case itself; the second time around they are there.
        let outcome = (case.run)(&folder);
        let times = (0..3).map(|_| {
            let start = Instant::now();
            let _ = (case.run)(&folder);
            start.elapsed()
        });
        let (number, name) = (case.number, case.name);
        let code = outcome.as_ref().map_or_else(Error::exit_code, |_| 0);
        assert_eq!(code, case.exit, "{number} {name}: {outcome:?}");
        if let Err(e) = &outcome {
            assert!(e.to_string().contains("\n  fix: "), "{number} {name}: no remedy in:\n{e}");
            // The shortest of three: other work on the machine is not ours.
            assert!(times.min() < Some(LONGEST), "{number} {name}: took {LONGEST:?} or more");
        }
        all += &told(&case, &outcome, &folder);
        all.push('\n');
        let _ = std::fs::remove_dir_all(folder);
    }
    compare(&all);
}

/// Compares with the golden file, case by case.
fn compare(found: &str) {
    let name = if cfg!(feature = "parquet") { "messages_parquet.txt" } else { "messages.txt" };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix").join(name);
    if std::env::var_os("IGLU_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in found.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(found, expected, "in {name}");
    }
    assert_eq!(found.len(), expected.len(), "{name} has other cases");
}

/// Being root, tests may read what others may not.
#[test]
#[cfg(unix)]
fn files_that_may_not_be_read_are_missing() {
    use std::os::unix::fs::PermissionsExt;
    let path = common::folder("matrix-22-permission").join("data.npz");
    std::fs::write(&path, b"PK").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::read(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let e = look(&path, &small()).unwrap_err();
    assert_eq!(e.exit_code(), 66);
    common::assert_says("22 permission", &e, &["cannot be read: ", "check that you may read it"]);
}

/// Golden files are whole: a case that changes one of them starts from data that is read.
#[test]
fn the_datasets_that_cases_change_are_sound() {
    for dataset in ["graphsaint", "ogb_citation", "graphsage"] {
        assert!(!files(&golden(dataset)).is_empty());
        look(&golden(dataset), &small()).unwrap();
    }
}
