//! A folder of format 1 stays readable, and no bytes in it make a reader or a page panic.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

use iglu_report::{Comparison, Run, names, page};
use std::fs;
use std::path::{Path, PathBuf};

const FILES: [&str; 3] = [names::EVENTS, names::SUMMARY, names::CONFIG];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/run")
}

/// A copy of the golden folder for one test.
fn copy(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("folders").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for file in FILES {
        fs::copy(golden().join(file), folder.join(file)).unwrap();
    }
    folder
}

/// Everything that is made of a run; errors have to name their file.
fn make_all(folder: &Path) {
    match Run::read(folder) {
        Ok(run) => {
            assert!(page::of_run(&run).ends_with("</html>\n"));
            let all = Comparison::new(vec![run.clone(), run], None).unwrap();
            assert!(page::of_comparison(&all, "command").ends_with("</html>\n"));
            assert!(!all.csv().is_empty() && !all.markdown().is_empty());
        }
        Err(e) => assert!(e.to_string().contains("fix: "), "{e}"),
    }
}

#[test]
fn a_folder_of_format_1_is_read() {
    let run = Run::read(&golden()).unwrap();
    assert_eq!((run.origin.seed, run.origin.data.nodes, run.epochs.len()), (1, 100, 3));
    assert_eq!((run.prepared.metric.as_str(), run.finished()), ("accuracy", true));
    assert_eq!(run.epochs[1].refreshes[0].layers[0].k, 1);
    let summary = run.summary.as_ref().unwrap();
    assert_eq!((summary.val, summary.test), (run.val(), run.test()));
    make_all(&golden());
}

#[test]
fn truncated_files_never_panic() {
    let folder = copy("truncated");
    for file in FILES {
        let bytes = fs::read(golden().join(file)).unwrap();
        for length in (0..bytes.len()).step_by(7) {
            fs::write(folder.join(file), &bytes[..length]).unwrap();
            make_all(&folder);
        }
        fs::write(folder.join(file), &bytes).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Numbers of other signs and sizes, flipped bits and lost bytes.
#[test]
fn damaged_files_never_panic() {
    let folder = copy("damaged");
    for file in FILES {
        let bytes = fs::read(golden().join(file)).unwrap();
        for at in (0..bytes.len()).step_by(11) {
            let mut damaged = bytes.clone();
            match damaged[at] {
                b'0'..=b'9' => drop(damaged.splice(at..at, *b"-18446744073709551")),
                _ if at % 2 == 0 => damaged[at] ^= 1 << (at % 7),
                _ => drop(damaged.remove(at)),
            }
            fs::write(folder.join(file), &damaged).unwrap();
            make_all(&folder);
        }
        fs::write(folder.join(file), &bytes).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Numbers at the edge of what fits, everywhere at once.
#[test]
fn extreme_numbers_never_panic() {
    let folder = copy("extreme");
    for number in ["0", "18446744073709551615", "1e308", "-1e308", "1e-308", "null", "9007199254740993"] {
        for file in [names::EVENTS, names::SUMMARY] {
            let text = fs::read_to_string(golden().join(file)).unwrap();
            let mut out = String::new();
            let mut in_number = false;
            for (before, letter) in std::iter::once(' ').chain(text.chars()).zip(text.chars()) {
                let begins =
                    !in_number && " [:,".contains(before) && (letter.is_ascii_digit() || letter == '-');
                in_number = begins || (in_number && (letter.is_ascii_digit() || "+-.e".contains(letter)));
                if begins {
                    out += number;
                } else if !in_number {
                    out.push(letter);
                }
            }
            // The format is what the reader goes by.
            let out = out.replacen(&format!("\"format\":{number}"), "\"format\":1", 1);
            fs::write(folder.join(file), out).unwrap();
            assert!(
                number != "18446744073709551615" || Run::read(&folder).is_ok(),
                "{file} has to be read here"
            );
            make_all(&folder);
            fs::write(folder.join(file), &text).unwrap();
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}
