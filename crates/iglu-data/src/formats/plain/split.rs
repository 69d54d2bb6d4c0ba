//! `train`, `val`, `test`, as node ids or masks, or one row of `train_masks`, `val_masks`, `test_masks`.

use super::{vector, wrong_length};
use crate::formats::npy::{Array, Kind};
use crate::formats::npz::Npz;
use crate::{LoadOptions, Purpose};
use iglu::{Error, Result, Split};
use std::io::{Read, Seek};

/// The split asked for, of `n` nodes. Masks are used where there is no `train`, or a later split is asked for.
pub(super) fn read<R: Read + Seek>(npz: &mut Npz<R>, n: usize, options: &LoadOptions) -> Result<Split> {
    let number = options.split;
    if npz.has("train_masks") && (number > 0 || !npz.has("train")) {
        return masks(npz, n, number);
    }
    if number > 0 && npz.has("train") {
        return Err(out_of_range("train", number, 1));
    }
    let mut of = |key: &str| {
        let absent = options.purpose == Purpose::Predict && !npz.has(key);
        if absent { Ok(Vec::new()) } else { ids(npz, key, n) }
    };
    Ok(Split { train: of("train")?, val: of("val")?, test: of("test")? })
}

/// Split `number` of `train_masks`, `val_masks` and `test_masks`.
pub(in crate::formats) fn masks<R: Read + Seek>(npz: &mut Npz<R>, n: usize, number: usize) -> Result<Split> {
    let mut of = |key: &str| mask_row(npz, key, n, number);
    Ok(Split { train: of("train_masks")?, val: of("val_masks")?, test: of("test_masks")? })
}

/// The error for a split that is not there.
pub(in crate::formats) fn out_of_range(key: &str, number: usize, splits: usize) -> Error {
    let found =
        format!("split {number} was asked for, the file has {splits} (0..{})", splits.saturating_sub(1));
    Error::data(key, found, "choose one of these splits")
}

fn mask_row<R: Read + Seek>(npz: &mut Npz<R>, key: &str, n: usize, number: usize) -> Result<Vec<u32>> {
    let array = npz.array(key, "save train_masks, val_masks and test_masks together")?;
    let shape = array.shape();
    if shape.len() != 2 || shape[1] != n {
        let fix =
            if shape.first() == Some(&n) { "transpose it: one row per split" } else { "one row per split" };
        return Err(wrong_length(key, &array, n, "columns, one per node", fix));
    }
    if number >= shape[0] {
        return Err(out_of_range(key, number, shape[0]));
    }
    let mask = truths(key, &array)?;
    Ok(set_places(&mask[number * n..(number + 1) * n]))
}

fn ids<R: Read + Seek>(npz: &mut Npz<R>, key: &str, n: usize) -> Result<Vec<u32>> {
    let remedy =
        "save node ids (integers) or a mask (bool [N]) under this name; an empty array if there are none";
    node_ids(key, &npz.array(key, remedy)?, n)
}

/// Nodes of one part, given as ids or as a mask over `n` nodes.
pub(in crate::formats) fn node_ids(key: &str, array: &Array, n: usize) -> Result<Vec<u32>> {
    let length = vector(key, array)?;
    if array.dtype().kind == Kind::Bool {
        return mask(key, array, n);
    }
    let ids = array.ints::<u32>().map_err(|bad| {
        let found = format!("node {}, but there are {n} nodes (0..{})", bad.value, n.saturating_sub(1));
        Error::data(format!("{key}: entry {}", bad.index), found, "node ids are whole numbers from 0")
    })?;
    if n > 2 && length == n && ids.iter().all(|&id| id < 2) {
        let found = format!("{} of only 0 and 1: a mask, or node ids?", array.describe());
        return Err(Error::data(key, found, "save a mask with dtype bool"));
    }
    Ok(ids)
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
