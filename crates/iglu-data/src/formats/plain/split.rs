//! `train`, `val`, `test`, as node ids or masks; `train_mask`, `val_mask`, `test_mask`; or several splits as the rows
//! of `train_masks`, `val_masks`, `test_masks`.

use super::{vector, wrong_length};
use crate::formats::npy::{Array, Kind};
use crate::formats::npz::Npz;
use crate::formats::numbering::Numbering;
use crate::{Purpose, nearest};
use iglu::{Error, Result, Split};
use std::io::{Read, Seek};

/// Names of the parts: node ids or masks, masks, and masks of several splits.
const IDS: [&str; 3] = ["train", "val", "test"];
const MASK: [&str; 3] = ["train_mask", "val_mask", "test_mask"];
const MASKS: [&str; 3] = ["train_masks", "val_masks", "test_masks"];

/// All splits of the file. Ids come first, also where there are masks beside them.
pub(crate) fn stored<R: Read + Seek>(
    npz: &mut Npz<R>,
    numbering: Numbering,
    purpose: Purpose,
) -> Result<Vec<Split>> {
    let mut splits = if npz.has(MASKS[0]) { masks(npz, numbering.nodes())? } else { Vec::new() };
    let Some(keys) = [IDS, MASK].into_iter().find(|keys| keys.iter().any(|key| npz.has(key))) else {
        return if splits.is_empty() { none(npz, purpose) } else { Ok(splits) };
    };
    let first = single(npz, keys, numbering, purpose)?;
    match splits.first_mut() {
        Some(slot) => *slot = first,
        None => splits.push(first),
    }
    Ok(splits)
}

/// Split `number`, or the error for one that is not there.
pub(crate) fn pick(splits: &[Split], number: usize, place: &str) -> Result<Split> {
    splits.get(number).cloned().ok_or_else(|| out_of_range(place, number, splits.len()))
}

/// The error for a split that is not there.
pub(crate) fn out_of_range(place: &str, number: usize, splits: usize) -> Error {
    let last = splits.saturating_sub(1);
    let found = match splits {
        0 => format!("split {number} was asked for, none is stored"),
        count => format!("split {number} was asked for, the file has {count} (0..{last})"),
    };
    Error::data(place, found, "choose a split that is stored, or draw one: --split random:0.6,0.2,0.2")
}

/// No split, unless a name looks as if it was meant to be one.
fn none<R: Read + Seek>(npz: &Npz<R>, purpose: Purpose) -> Result<Vec<Split>> {
    let meant = |key: &&str| key.split('_').any(|word| nearest(word, ["train", "training"]).is_some());
    match npz.keys().into_iter().find(meant) {
        Some(key) if purpose == Purpose::Train => {
            let fix = format!("is `{key}` meant? Save node ids or masks under `train`, `val` and `test`");
            Err(npz.missing(IDS[0], &fix))
        }
        _ => Ok(Vec::new()),
    }
}

fn single<R: Read + Seek>(
    npz: &mut Npz<R>,
    keys: [&str; 3],
    numbering: Numbering,
    purpose: Purpose,
) -> Result<Split> {
    let mut of = |key: &str| {
        let absent = purpose == Purpose::Predict && !npz.has(key);
        if absent { Ok(Vec::new()) } else { ids(npz, key, numbering) }
    };
    let [train, val, test] = keys;
    Ok(Split { train: of(train)?, val: of(val)?, test: of(test)? })
}

/// One split for each row of the masks.
pub(in crate::formats) fn masks<R: Read + Seek>(npz: &mut Npz<R>, n: usize) -> Result<Vec<Split>> {
    let [train, val, test] = MASKS.map(|key| mask_rows(npz, key, n));
    let (train, val, test) = (train?, val?, test?);
    for (key, rows) in [(MASKS[1], &val), (MASKS[2], &test)] {
        if rows.len() != train.len() {
            let found = format!("{} rows, but `{}` has {}", rows.len(), MASKS[0], train.len());
            return Err(Error::data(key, found, "one row per split in each of them"));
        }
    }
    let parts = train.into_iter().zip(val).zip(test);
    Ok(parts.map(|((train, val), test)| Split { train, val, test }).collect())
}

fn mask_rows<R: Read + Seek>(npz: &mut Npz<R>, key: &str, n: usize) -> Result<Vec<Vec<u32>>> {
    let array = npz.array(key, "save train_masks, val_masks and test_masks together")?;
    let shape = array.shape();
    if shape.len() != 2 || shape[1] != n {
        let fix =
            if shape.first() == Some(&n) { "transpose it: one row per split" } else { "one row per split" };
        return Err(wrong_length(key, &array, n, "columns, one per node", fix));
    }
    let mask = truths(key, &array)?;
    Ok(mask.chunks_exact(n.max(1)).map(set_places).collect())
}

fn ids<R: Read + Seek>(npz: &mut Npz<R>, key: &str, numbering: Numbering) -> Result<Vec<u32>> {
    let remedy =
        "save node ids (integers) or a mask (bool [N]) under this name; an empty array if there are none";
    let array = npz.array(key, remedy)?;
    if MASK.contains(&key) { mask(key, &array, numbering.nodes()) } else { node_ids(key, &array, numbering) }
}

/// Nodes of one part, given as ids or as a mask.
pub fn node_ids(key: &str, array: &Array, numbering: Numbering) -> Result<Vec<u32>> {
    let length = vector(key, array)?;
    if array.dtype().kind == Kind::Bool {
        return mask(key, array, numbering.nodes());
    }
    let refuse =
        |at: usize, id: &str, fix: &str| numbering.refuse(format!("{key}: entry {at}"), "node", id, fix);
    let whole = "node ids are whole numbers from 0 below the number of nodes";
    let ids = array.ints::<u32>().map_err(|bad| refuse(bad.index, &bad.value, whole))?;
    let n = numbering.nodes();
    if n > 2 && length == n && ids.iter().all(|&id| id < 2) {
        let found = format!("{} of only 0 and 1: a mask, or node ids?", array.describe());
        return Err(Error::data(key, found, "save a mask with dtype bool"));
    }
    numbering.nodes_of(ids, |at| refuse(at, &array.text(at), whole))
}

/// The nodes for which the mask called `key` is 1 or true.
pub(in crate::formats) fn mask(key: &str, array: &Array, n: usize) -> Result<Vec<u32>> {
    if vector(key, array)? != n {
        return Err(wrong_length(key, array, n, "entries, one per node", "a mask has one entry per node"));
    }
    Ok(set_places(&truths(key, array)?))
}

fn truths(key: &str, array: &Array) -> Result<Vec<bool>> {
    let truth = |v: f64| if v == 0.0 { Some(false) } else { (v == 1.0).then_some(true) };
    array.numbers(truth).map_err(|bad| {
        let found = format!("{} in a mask; expected 0 or 1", bad.value);
        Error::data(format!("{key}: entry {}", bad.index), found, "save masks with dtype bool")
    })
}

fn set_places(mask: &[bool]) -> Vec<u32> {
    (0..).zip(mask).filter_map(|(id, &set)| set.then_some(id)).collect()
}
