//! The real labels and split of ogbn-arxiv, where they are at hand.

use super::*;

fn arxiv() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/ogb/arxiv-partial");
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("skipped: no folder of real graphs beside the repository");
    None
}

#[test]
fn the_parts_of_arxiv_that_are_there_have_their_known_counts() {
    let Some(folder) = arxiv() else { return };
    let options = LoadOptions::default();
    let mut raw = open(&folder.join("raw"), &options).unwrap();
    let n = raw.nodes().unwrap();
    let labels = raw.labels().unwrap().unwrap().into_labels().unwrap();
    assert_eq!((n, labels.len(), labels.classes()), (169_343, 169_343, 40));
    let split = split::read(&folder, Numbering::new(n, &options), &options).unwrap();
    assert_eq!((split.train.len(), split.val.len(), split.test.len()), (90_941, 29_799, 48_603));
}

#[test]
fn what_is_missing_of_arxiv_is_named() {
    let Some(folder) = arxiv() else { return };
    let e = read(&folder, &LoadOptions::default()).unwrap_err();
    assert_eq!(e.exit_code(), 66);
    let expect = "raw/edge.csv.gz`: this file is not there\n  fix: it holds the edges; fetch it too";
    assert!(e.to_string().ends_with(expect), "{e}");
}
