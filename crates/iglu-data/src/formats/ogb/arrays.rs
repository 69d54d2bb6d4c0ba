//! `raw/` as arrays: `data.npz` with `edge_index`, `num_nodes_list`, `num_edges_list` and features, and `node-label.npz`.

use super::super::npy::Array;
use super::super::npz::Npz;
use super::super::numbering::{Numbering, range};
use super::super::plain::features::dense;
use super::super::refuse_too_large;
use super::{Raw, Table, label_expected, label_id};
use crate::{Gather, Limits, LoadOptions, incident_features, quoted};
use iglu::config::NanFeatures;
use iglu::{Error, Mat, Result};
use std::path::{Path, PathBuf};

pub(super) struct Arrays {
    raw: PathBuf,
    data: Npz,
    limits: Limits,
    nan: NanFeatures,
}

impl Arrays {
    pub(super) fn open(raw: &Path, options: &LoadOptions) -> Result<Self> {
        let (limits, nan) = (options.limits, options.nan_features);
        Ok(Self { raw: raw.to_path_buf(), data: Npz::open(&raw.join("data.npz"), limits)?, limits, nan })
    }

    fn place(&self) -> String {
        quoted(&self.raw.join("data.npz"))
    }

    fn array(&mut self, key: &str) -> Result<Array> {
        let array = self.data.array(key, "save it as OGB's binary datasets have it");
        array.map_err(|e| e.within(&self.place()))
    }

    /// The single number in an array of counts.
    fn count(&mut self, key: &str) -> Result<usize> {
        let array = self.array(key)?;
        if let Ok(&[count]) = array.ints::<u32>().as_deref() {
            return Ok(count as usize);
        }
        let found = format!("{}; expected one number: the dataset has one graph", array.describe());
        let fix = "datasets for the prediction of nodes have one graph";
        Err(Error::data(format!("{}: {key}", self.place()), found, fix))
    }
}

impl Raw for Arrays {
    fn nodes(&mut self) -> Result<usize> {
        self.count("num_nodes_list")
    }

    fn features(&mut self) -> Result<Option<Mat>> {
        if !self.data.has("node_feat") {
            return Ok(None);
        }
        let array = self.array("node_feat")?;
        dense("node_feat", &array, self.nan).map(Some).map_err(|e| e.within(&self.place()))
    }

    fn labels(&mut self) -> Result<Option<Table>> {
        let path = self.raw.join("node-label.npz");
        if !path.exists() {
            return Ok(None);
        }
        let array = Npz::open(&path, self.limits)?.array("node_label", "save the labels under `node_label`");
        array.and_then(|array| table(&array)).map(Some).map_err(|e| e.within(&quoted(&path)))
    }

    fn edges(&mut self, numbering: Numbering) -> Result<Vec<[u32; 2]>> {
        let array = self.array("edge_index")?;
        let edges = pairs(&array, numbering).map_err(|e| e.within(&self.place()))?;
        let declared = self.count("num_edges_list")?;
        if declared != edges.len() {
            let found = format!("{} edges, but num_edges_list says {declared}", edges.len());
            return Err(Error::data(format!("{}: edge_index", self.place()), found, "save both again"));
        }
        Ok(edges)
    }

    fn incident(&mut self, n: usize, edges: &[[u32; 2]], how: Gather) -> Result<Option<Mat>> {
        if !self.data.has("edge_feat") {
            return Ok(None);
        }
        let array = self.array("edge_feat")?;
        let features = dense("edge_feat", &array, NanFeatures::Error).map_err(|e| e.within(&self.place()))?;
        if features.rows() != edges.len() {
            let found = format!("{}; expected {} rows, one per edge", array.describe(), edges.len());
            return Err(Error::data(format!("{}: edge_feat", self.place()), found, "save both again"));
        }
        refuse_too_large(n, features.cols(), size_of::<f64>(), self.limits)
            .map_err(|e| e.within(&self.place()))?;
        Ok(Some(incident_features(n, edges, &features, how)))
    }

    fn places(&self) -> [PathBuf; 2] {
        [self.raw.join("node-label.npz"), self.raw.join("data.npz")]
    }
}

fn table(array: &Array) -> Result<Table> {
    let cols = match *array.shape() {
        [_] => 1,
        [_, cols] => cols,
        _ => {
            let found = format!("{}; expected one row per node", array.describe());
            return Err(Error::data("node_label", found, "save [N, 1] classes or [N, C] labels"));
        }
    };
    let values = array.numbers(|v| label_id(v, cols)).map_err(|bad| {
        let place = format!("node_label: row {}, column {}", bad.index / cols, bad.index % cols);
        Error::data(
            place,
            format!("label {}; expected {}", bad.value, label_expected(cols)),
            "mend the label",
        )
    })?;
    Ok(Table { cols, values })
}

/// Sources in the first row, targets in the second.
fn pairs(array: &Array, numbering: Numbering) -> Result<Vec<[u32; 2]>> {
    let &[2, count] = array.shape() else {
        let found = format!("{}; expected [2, E]", array.describe());
        return Err(Error::data("edge_index", found, "sources in the first row, targets in the second"));
    };
    let end = |at: usize| if at < count { "source" } else { "target" };
    let refuse = |at: usize, id: &str, fix: &str| {
        numbering.refuse(format!("edge_index: edge {}", at % count), end(at), id, fix)
    };
    let otherwise = "ids start at 0 and end below the number of nodes; check num_nodes_list";
    let ids = array.ints::<u32>().map_err(|bad| refuse(bad.index, &bad.value, otherwise))?;
    let (lowest, highest) = range(ids.iter().map(|&id| id.into()));
    let fix = numbering.fix(lowest, highest, otherwise);
    let nodes = numbering.nodes_of(ids, |at| refuse(at, &array.text(at), fix))?;
    let (sources, targets) = nodes.split_at(count);
    Ok(sources.iter().zip(targets).map(|(&u, &v)| [u, v]).collect())
}
