//! The cases of configuration and environment in the matrix of bad inputs (65 to 72), each with the tests that show what
//! becomes of it. Cases 1 to 64 are in `crates/iglu-data/tests/matrix`.

use crate::folder;
use crate::harness::Scratch;
use crate::train::SMALL;
use crate::usage;

/// Numbers that are tested where runs are resumed. A clock that goes backwards (72) is tested in `src/clock.rs`, where it
/// can be set.
const ELSEWHERE: [u8; 1] = [71];

/// Number, what it is, and a test of it.
const MATRIX: &[(u8, &str, fn())] = &[
    (65, "unknown key", usage::unknown_keys_are_answered_with_the_nearest),
    (66, "impossible value", usage::impossible_values_name_their_key),
    (67, "value of the wrong type", values_of_the_wrong_type_are_blamed_by_line),
    (68, "folder with a run", folder::a_run_leaves_its_files_and_a_second_one_is_refused_without_force),
    (69, "two processes in one folder", folder::two_runs_in_one_folder_do_not_happen),
    (70, "full disk", folder::a_full_disk_is_found_before_training),
    (70, "folder that cannot be written", folder::a_folder_that_can_be_read_only_is_refused),
    (72, "time zone and locale", zones_and_locales_change_no_number),
];

#[test]
fn every_number_has_a_test() {
    let there = |number: u8| MATRIX.iter().any(|(n, ..)| *n == number) || ELSEWHERE.contains(&number);
    let missing: Vec<u8> = (65..=72).filter(|&number| !there(number)).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}

#[test]
fn values_of_the_wrong_type_are_blamed_by_line() {
    let scratch = Scratch::new("types");
    scratch.file("wide.toml", b"seed = 1\n\n[network]\nhidden = \"wide\"\n");
    scratch.file("list.toml", b"[train]\nepochs = [1]\n");
    scratch.file("open.toml", b"[train]\nepochs = \n");
    for (file, expect) in [
        ("wide.toml", &["`wide.toml`: line 4: network.hidden: \"wide\"; expected a whole number"][..]),
        ("list.toml", &["`list.toml`: line 2: train.epochs: [1]; expected a whole number"]),
        ("open.toml", &["`open.toml`: line 2"]),
    ] {
        scratch.iglu(&format!("plan --config {file}")).check(64, expect);
    }
}

#[test]
fn zones_and_locales_change_no_number() {
    let scratch = Scratch::new("locale");
    let elsewhere = "TZ=Pacific/Kiritimati LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8";
    let run = |name: &str, environment: &str| {
        let line = format!("{environment} $IGLU train --quiet --out {name} --lr 0.015 {SMALL}");
        scratch.shell(&line).check(0, &[]);
        let config = String::from_utf8(scratch.read(&format!("{name}/config.toml"))).unwrap();
        assert!(config.contains("lr = 0.015"), "{config}");
        scratch.read(&format!("{name}/best.safetensors"))
    };
    assert!(run("here", "TZ=UTC LC_ALL=C") == run("there", elsewhere), "another model");
}
