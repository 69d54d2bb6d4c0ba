//! `split/NAME/`: `train`, `valid` and `test` as text of one node per line, or as .npy arrays.

use super::super::lines::{self, Columns, whole};
use super::super::list;
use super::super::npy::read_npy;
use super::super::numbering::Numbering;
use super::super::plain::split::{node_ids, out_of_range};
use super::missing_part;
use crate::{LoadOptions, Purpose, quoted};
use iglu::{Error, Result, Split};
use std::path::{Path, PathBuf};

/// The split asked for; several are counted in the order of their names.
pub(super) fn read(root: &Path, numbering: Numbering, options: &LoadOptions) -> Result<Split> {
    let splits = root.join("split");
    let mut names = if splits.is_dir() { list(&splits)? } else { Vec::new() };
    names.retain(|name| splits.join(name).is_dir());
    if names.is_empty() {
        return match options.purpose {
            Purpose::Predict => Ok(Split::default()),
            Purpose::Train => {
                Err(missing_part(&splits, "training needs a folder in it with train, valid and test"))
            }
        };
    }
    let Some(name) = names.get(options.split) else {
        return Err(out_of_range(&quoted(&splits), options.split, names.len()));
    };
    let folder = splits.join(name);
    let part = |stem: &str| {
        let path = find(&folder, stem)?;
        ids(&path, numbering, options)
    };
    Ok(Split { train: part("train")?, val: part("valid")?, test: part("test")? })
}

fn find(folder: &Path, stem: &str) -> Result<PathBuf> {
    let paths = ["csv.gz", "csv", "npy"].map(|ending| folder.join(format!("{stem}.{ending}")));
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Ok(path.clone());
    }
    let pickled = [format!("{stem}.pt"), "split_dict.pt".to_string()];
    match pickled.iter().find(|name| folder.join(name).exists()) {
        Some(name) => {
            let found = "a PyTorch pickle, which can run code; refused";
            let fix = format!(
                "write the nodes as text: np.savetxt(\"{stem}.csv\", torch.load(\"{name}\")[\"{stem}\"], fmt=\"%d\")"
            );
            Err(Error::data(quoted(&folder.join(name)), found, fix))
        }
        None => {
            Err(missing_part(&paths[0], "a split is train, valid and test; an empty file if there are none"))
        }
    }
}

fn ids(path: &Path, numbering: Numbering, options: &LoadOptions) -> Result<Vec<u32>> {
    if path.extension().is_some_and(|ending| ending == "npy") {
        return node_ids(&quoted(path), &read_npy(path)?, numbering);
    }
    let columns = Columns { separator: b',', count: Some(1), read: whole, expected: "a node id" };
    let mut ids = Vec::new();
    lines::in_file(path, options.limits, |lines| {
        lines.rows(&columns, |line, row| {
            let Some(node) = numbering.node(row[0]) else {
                let fix = "ids start at 0 and end below the number of nodes";
                return Err(numbering.refuse(format!("line {line}"), "node", row[0], fix));
            };
            ids.push(node);
            Ok(())
        })
    })?;
    Ok(ids)
}
