//! The split in use: a stored one, one drawn at random, or one from a file of its own.
//!
//! Draws depend on the choice, the seed and the labels alone; unlabelled nodes are never drawn.

use crate::formats::npz::Npz;
use crate::formats::numbering::Numbering;
use crate::formats::plain::split;
use crate::{Limits, LoadOptions, Purpose, quoted};
use iglu::config::SplitChoice;
use iglu::rng::Key;
use iglu::{Dataset, Error, Labels, Result, Split};
use std::path::Path;

/// Gives `data` the split that the options ask for; the one a reader put there is the stored one.
pub(crate) fn apply(data: &mut Dataset, options: &LoadOptions) -> Result<()> {
    if data.splits.is_empty() && !data.split.is_empty() {
        data.splits.push(data.split.clone());
    }
    let stored = !data.splits.is_empty();
    match (&options.split_choice, options.purpose) {
        (SplitChoice::Auto | SplitChoice::Stored(_), _) if stored => {}
        (SplitChoice::Auto | SplitChoice::Stored(_), Purpose::Predict) => {}
        (SplitChoice::Auto, Purpose::Train) if options.split == 0 => fall_back(data, options.split_seed)?,
        (SplitChoice::Auto | SplitChoice::Stored(_), Purpose::Train) => return Err(none_stored()),
        (drawn, _) => choose_split(data, drawn, options.split_seed)?,
    }
    if options.purpose == Purpose::Train && data.split.train.is_empty() {
        let fix = "list at least one labelled node under `train`, or choose another split (--split)";
        return Err(Error::data("train", "no training node", fix));
    }
    Ok(())
}

/// The choice with `auto` decided: the stored split where there is one.
pub fn decided(choice: &SplitChoice, data: &Dataset) -> SplitChoice {
    match choice {
        SplitChoice::Auto if data.splits.is_empty() => SplitChoice::FALLBACK,
        SplitChoice::Auto => SplitChoice::Stored(0),
        other => other.clone(),
    }
}

/// Replaces the split of `data` by the one chosen; on failure it stays. Equal seeds give equal draws.
///
/// ```
/// let mut village = iglu_data::load("synth:village", &Default::default())?;
/// iglu_data::choose_split(&mut village, &"per-class:5,100,200".parse()?, 0)?;
/// assert_eq!((village.split.train.len(), village.split.test.len()), (8 * 5, 200));
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn choose_split(data: &mut Dataset, choice: &SplitChoice, seed: u64) -> Result<()> {
    let key = Key::new(seed).with("split");
    let chosen = match decided(choice, data) {
        SplitChoice::Random(shares) => random(data, shares, key)?,
        SplitChoice::PerClass(counts) => per_class(data, counts, key)?,
        SplitChoice::File(path) => from_file(Path::new(&path), data)?,
        SplitChoice::Stored(number) => split::pick(&data.splits, number, "split")?,
        SplitChoice::Auto => unreachable!("decided above"),
    };
    let old = std::mem::replace(&mut data.split, chosen);
    data.validate().inspect_err(|_| data.split = old)
}

fn fall_back(data: &mut Dataset, seed: u64) -> Result<()> {
    let note =
        format!("no split is stored: training on {}, seed {seed} (see --split)", SplitChoice::FALLBACK);
    data.notes.push(note);
    choose_split(data, &SplitChoice::FALLBACK, seed)
}

fn none_stored() -> Error {
    Error::data("split", "no split is stored with the data", "draw one: --split random:0.6,0.2,0.2")
}

/// Labelled nodes in random order, the same in whichever order the data has them.
fn shuffled(data: &Dataset, key: Key) -> Result<Vec<u32>> {
    let nodes = (0..data.labels.len() as u32).map(|number| data.place(number));
    let mut nodes: Vec<u32> = nodes.filter(|&v| data.labels.known(v as usize)).collect();
    if nodes.is_empty() {
        return Err(Error::data(
            "split",
            "no node has a label, so none can be drawn",
            "give some nodes labels",
        ));
    }
    key.shuffle(&mut nodes);
    Ok(nodes)
}

/// Nodes in the order of the file.
fn sorted(data: &Dataset, nodes: &[u32]) -> Vec<u32> {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable_by_key(|&v| data.number(v));
    nodes
}

fn random(data: &Dataset, [train, val, test]: [f64; 3], key: Key) -> Result<Split> {
    let nodes = shuffled(data, key)?;
    let end = |share: f64| ((nodes.len() as f64 * share).round() as usize).min(nodes.len());
    let (a, b, c) = (end(train), end(train + val), end(train + val + test));
    let part = |nodes: &[u32]| sorted(data, nodes);
    Ok(Split { train: part(&nodes[..a]), val: part(&nodes[a..b]), test: part(&nodes[b..c]) })
}

/// The first nodes of each class in random order, then nodes of any class.
fn per_class(data: &mut Dataset, [each, val, test]: [usize; 3], key: Key) -> Result<Split> {
    let Labels::Classes { ids, classes } = &data.labels else {
        let found = "per-class, but a node has any number of labels";
        return Err(Error::data("split", found, "draw shares of all nodes: --split random:0.6,0.2,0.2"));
    };
    let mut taken = vec![0; *classes];
    let mut take = |v: &u32| {
        let seen = &mut taken[ids[*v as usize] as usize];
        *seen += 1;
        *seen <= each
    };
    let (train, rest): (Vec<u32>, Vec<u32>) = shuffled(data, key)?.into_iter().partition(&mut take);
    if rest.len() < val + test {
        let found =
            format!("{val} and {test} nodes beside {each} of each class, but only {} are left", rest.len());
        return Err(Error::data("split", found, "ask for fewer: --split per-class:TRAIN,VAL,TEST"));
    }
    let small: Vec<String> =
        (0..).zip(&taken).filter(|(_, n)| **n < each).map(|(c, n)| format!("{c} ({n})")).collect();
    if !small.is_empty() {
        let list = listed(&small);
        data.notes
            .push(format!("fewer than {each} labelled nodes, all of them for training, in class {list}"));
    }
    let (val, test) = (&rest[..val], &rest[val..val + test]);
    Ok(Split { train: sorted(data, &train), val: sorted(data, val), test: sorted(data, test) })
}

/// The first few of a list.
fn listed(items: &[String]) -> String {
    const MOST: usize = 8;
    let shown = items[..items.len().min(MOST)].join(", ");
    if items.len() > MOST { format!("{shown} and {} more", items.len() - MOST) } else { shown }
}

fn from_file(path: &Path, data: &Dataset) -> Result<Split> {
    let read = || {
        let mut npz = Npz::open(path, Limits::default())?;
        let numbering = Numbering::from_zero(data.graph.nodes());
        let splits =
            split::stored(&mut npz, numbering, Purpose::Train).map_err(|e| e.within(&quoted(path)))?;
        splits.into_iter().next().ok_or_else(|| {
            npz.missing("train", "save node ids or masks under `train`, `val` and `test`")
                .within(&quoted(path))
        })
    };
    let place = |nodes: Vec<u32>| nodes.into_iter().map(|number| data.place(number)).collect();
    let Split { train, val, test } = read().map_err(|e: Error| e.within("split"))?;
    Ok(Split { train: place(train), val: place(val), test: place(test) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::{EdgeOptions, Features, Graph, Mat};

    /// 100 nodes of 4 classes (node mod 4), every tenth unlabelled, no split.
    fn hundred() -> Dataset {
        let graph = Graph::from_edges(100, &[[0, 1]], EdgeOptions::default()).unwrap();
        let ids = (0..100).map(|i| if i % 10 == 9 { -1 } else { i % 4 }).collect();
        let labels = Labels::Classes { ids, classes: 4 };
        Dataset::new("hundred", graph, Features::Dense(Mat::zeros(100, 1)), labels, Split::default())
    }

    fn chosen(choice: &str, seed: u64) -> Result<Dataset> {
        let options = LoadOptions { split_choice: choice.parse()?, split_seed: seed, ..Default::default() };
        crate::prepare(hundred(), &options)
    }

    fn sizes(split: &Split) -> [usize; 3] {
        [split.train.len(), split.val.len(), split.test.len()]
    }

    fn refused(choice: &str, expect: &str) {
        let e = chosen(choice, 0).unwrap_err();
        assert_eq!(e.exit_code(), 65, "{e}");
        assert!(e.to_string().contains(expect) && e.to_string().contains("fix: "), "{e}");
    }

    #[test]
    fn shares_are_of_the_labelled_nodes_and_follow_the_seed() {
        let data = chosen("random:0.5,0.3,0.2", 0).unwrap();
        assert_eq!(sizes(&data.split), [45, 27, 18]);
        let all = [&data.split.train[..], &data.split.val, &data.split.test].concat();
        assert!(all.iter().all(|v| v % 10 != 9), "an unlabelled node was drawn");
        assert!(data.split.train.is_sorted());
        assert_eq!(sizes(&chosen("random:0.1,0.1,0.1", 0).unwrap().split), [9, 9, 9]);
        assert_eq!(chosen("random:0.5,0.3,0.2", 0).unwrap().split, data.split);
        assert_ne!(chosen("random:0.5,0.3,0.2", 1).unwrap().split, data.split);
        refused("random:0.001,0.1,0.1", "no training node");
    }

    #[test]
    fn every_class_gets_its_training_nodes() {
        let data = chosen("per-class:5,20,30", 3).unwrap();
        assert_eq!(sizes(&data.split), [20, 20, 30]);
        for class in 0..4 {
            assert_eq!(data.split.train.iter().filter(|&&v| v % 4 == class).count(), 5);
        }
        assert_ne!(chosen("per-class:5,20,30", 4).unwrap().split, data.split);
        // Of the 25 nodes of a class 20 or 25 have labels.
        let data = chosen("per-class:21,5,1", 0).unwrap();
        assert_eq!(sizes(&data.split), [21 + 20 + 21 + 20, 5, 1]);
        assert!(data.notes[0].ends_with("in class 1 (20), 3 (20)"), "{:?}", data.notes);
        refused("per-class:20,8,3", "8 and 3 nodes beside 20 of each class, but only 10 are left");
    }

    /// The nodes that are drawn do not depend on the order the data has them in.
    #[test]
    fn an_order_of_the_nodes_changes_no_split() {
        let file = crate::testing::folder("split-order").join("s.npz");
        let split = Split { train: vec![3, 1], val: vec![7], test: vec![5, 6] };
        crate::write_plain(&file, &Dataset { split, ..hundred() }).unwrap();
        let turned = iglu::Permutation::new((0..100).map(|v| (v * 37 + 11) % 100).collect()).unwrap();
        for choice in ["random:0.5,0.3,0.2", "per-class:5,20,30", "auto", file.to_str().unwrap()] {
            let options = LoadOptions { split_choice: choice.parse().unwrap(), ..Default::default() };
            let moved = crate::prepare(hundred().reordered(&turned), &options).unwrap();
            assert_ne!(moved.split, chosen(choice, 0).unwrap().split, "{choice}");
            assert_eq!(moved.in_file_order(), chosen(choice, 0).unwrap(), "{choice}");
        }
    }

    #[test]
    fn auto_takes_the_stored_split_or_draws_one_and_says_so() {
        let data = chosen("auto", 0).unwrap();
        assert_eq!((sizes(&data.split), data.notes.len()), ([54, 18, 18], 1));
        assert_eq!(decided(&SplitChoice::Auto, &data), SplitChoice::FALLBACK);
        let stored = Split { train: vec![1], val: vec![2], test: vec![3] };
        let with_stored = || Dataset { split: stored.clone(), ..hundred() };
        let data = crate::prepare(with_stored(), &LoadOptions::default()).unwrap();
        assert_eq!((&data.split, &data.splits[..], data.notes.len()), (&stored, &[stored.clone()][..], 0));
        assert_eq!(decided(&SplitChoice::Auto, &data), SplitChoice::Stored(0));
        let options = LoadOptions { split_choice: SplitChoice::FALLBACK, ..Default::default() };
        let data = crate::prepare(with_stored(), &options).unwrap();
        assert_eq!((sizes(&data.split), &data.splits[0]), ([54, 18, 18], &stored));
        refused("stored", "no split is stored");
    }

    #[test]
    fn looking_at_data_needs_no_split() {
        let look = |choice: &str| {
            let split_choice = choice.parse().unwrap();
            let options = LoadOptions { split_choice, purpose: Purpose::Predict, ..Default::default() };
            let labels = Labels::Classes { ids: vec![-1; 100], classes: 0 };
            crate::prepare(Dataset { labels, ..hundred() }, &options)
        };
        for choice in ["auto", "stored", "2"] {
            assert!(look(choice).unwrap().split.is_empty(), "{choice}");
        }
        assert!(look("random:0.6,0.2,0.2").unwrap_err().to_string().contains("no node has a label"));
    }

    #[test]
    fn many_labels_have_shares_but_no_classes() {
        let labels = Labels::Multi { values: vec![0; 200], classes: 2 };
        let mut data = Dataset { labels, ..hundred() };
        let e = choose_split(&mut data, &SplitChoice::PerClass([1, 1, 1]), 0).unwrap_err();
        assert!(e.to_string().contains("any number of labels"), "{e}");
        choose_split(&mut data, &SplitChoice::FALLBACK, 0).unwrap();
        assert_eq!(sizes(&data.split), [60, 20, 20]);
    }

    #[test]
    fn a_split_from_a_file_is_checked_against_the_data() {
        let folder = crate::testing::folder("split-file");
        let file = folder.join("s.npz");
        let name = file.to_str().unwrap();
        let write = |split: Split| crate::write_plain(&file, &Dataset { split, ..hundred() }).unwrap();
        let split = Split { train: vec![3, 1], val: vec![7], test: vec![5, 6] };
        write(split.clone());
        assert_eq!(chosen(name, 0).unwrap().split, split);
        write(Split { train: vec![9], ..split.clone() });
        refused(name, "training node 9 has no label");
        write(Split { test: vec![1], ..split });
        refused(name, "node 1 is already in train");
        let e = chosen(folder.join("none.npz").to_str().unwrap(), 0).unwrap_err();
        assert_eq!(e.exit_code(), 66, "{e}");
    }
}
