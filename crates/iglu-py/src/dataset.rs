//! `iglu_gnn.Dataset`: graph, features, labels and split, from memory or from files.

use crate::arrays::{self, Copying, SparseParts};
use crate::config::Config;
use crate::errors;
use crate::graph::Graph;
use crate::work::{watched, work};
use iglu::config::{Config as CoreConfig, SplitChoice};
use iglu::{Dataset as Core, Error, Features, Labels, Names, Result, Split};
use iglu_data::formats::npy::Array;
use iglu_data::formats::numbering::Numbering;
use iglu_data::formats::plain;
use iglu_data::{LoadOptions, Purpose, Verify};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::Path;
use std::sync::Arc;

/// A node classification problem: `Dataset(graph, x, y, train=..., val=..., test=...)`.
///
/// `graph`: anything that `Graph` takes. `x`: features [N, F], dense or SciPy sparse. `y`: classes from 0 (-1:
/// unknown), or a 0/1 matrix [N, C] of labels; None: unknown. `train`, `val`, `test`: node ids or masks; without any,
/// training draws a random split. A read-only float32 array is used in place; `copy=False` does that with any
/// float32 array, which must then not be written to while the dataset lives.
///
/// >>> import numpy as np
/// >>> from iglu_gnn import Dataset
/// >>> Dataset([[0, 1], [1, 2]], np.eye(3), [0, 1, 1], train=[0, 1])
/// Dataset(3 nodes, 2 edges, 3 features, 2 classes; 2 train, 0 val, 0 test)
#[pyclass(frozen, module = "iglu_gnn")]
#[derive(Clone)]
pub struct Dataset {
    pub core: Arc<Core>,
    /// How the split was chosen, with its seed, where it is not a stored one.
    drawn: Option<(SplitChoice, u64)>,
}

/// Names of things, or none.
type List = Option<Vec<String>>;

/// What a dataset is made of, by the names of the constructor's arguments.
type Pickled<'py> = (Bound<'py, PyDict>,);

#[pymethods]
impl Dataset {
    #[new]
    #[pyo3(signature = (*args, **options))]
    fn new(args: &Bound<'_, PyTuple>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let made = args.py().import("iglu_gnn._convert")?.getattr("as_dataset")?.call(args, options)?;
        Ok(made.cast::<Self>()?.get().clone())
    }

    /// Puts parts together that `_convert.py` has made arrays of.
    #[staticmethod]
    #[pyo3(name = "_of", signature = (graph, x, y, train, val, test, *, sparse=None, copy=None, name="",
        class_names=None, node_names=None))]
    #[expect(clippy::too_many_arguments, reason = "the parts of a dataset, each an object of Python's")]
    fn of(
        py: Python<'_>,
        graph: &Graph,
        x: Option<&Bound<'_, PyUntypedArray>>,
        y: Option<&Bound<'_, PyUntypedArray>>,
        train: &Bound<'_, PyUntypedArray>,
        val: &Bound<'_, PyUntypedArray>,
        test: &Bound<'_, PyUntypedArray>,
        sparse: Option<SparseParts<'_>>,
        copy: Option<bool>,
        name: &str,
        class_names: List,
        node_names: List,
    ) -> PyResult<Self> {
        let n = graph.core.nodes();
        let features = match (x, sparse) {
            (Some(x), _) => arrays::dense_features(py, x, Copying::of(copy))?,
            (None, Some(parts)) => arrays::sparse_features(py, &parts)?,
            (None, None) => Features::Dense(iglu::Mat::zeros(n, 0)),
        };
        let known = Known::read(y, [train, val, test])?;
        let core = work(py, 0, || {
            let bare = Labels::Classes { ids: vec![-1; n], classes: 0 };
            let data = Core::new(name, graph.core.clone(), features, bare, Split::default());
            let mut data = known.added_to(data)?;
            data.class_names = class_names.map(|names| names.iter().collect());
            data.node_names = node_names.map(|names| names.iter().collect());
            named(&data)?;
            Ok(data)
        })?;
        Ok(Self { core: Arc::new(core), drawn: None })
    }

    /// The same nodes with other labels and another split.
    #[pyo3(name = "_with_labels")]
    fn with_labels(
        &self,
        py: Python<'_>,
        y: Option<&Bound<'_, PyUntypedArray>>,
        train: &Bound<'_, PyUntypedArray>,
        val: &Bound<'_, PyUntypedArray>,
        test: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<Self> {
        let known = Known::read(y, [train, val, test])?;
        let core = work(py, 0, || known.added_to((*self.core).clone()))?;
        Ok(Self { core: Arc::new(core), drawn: None })
    }

    /// Number of nodes.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.core.graph.nodes()
    }

    /// Number of features of a node.
    #[getter]
    fn n_features(&self) -> usize {
        self.core.features.cols()
    }

    /// Number of classes or labels; 0 where nothing is known.
    #[getter]
    fn n_classes(&self) -> usize {
        self.core.labels.classes()
    }

    /// Whether a node has any number of labels.
    #[getter]
    fn multi_label(&self) -> bool {
        matches!(self.core.labels, Labels::Multi { .. })
    }

    /// What the data calls itself.
    #[getter]
    fn name(&self) -> &str {
        &self.core.name
    }

    /// What the data calls its classes, or None.
    #[getter]
    fn class_names(&self) -> List {
        self.core.class_names.as_ref().map(|names| names.iter().map(str::to_string).collect())
    }

    /// What the data calls its nodes, or None.
    #[getter]
    fn node_names(&self) -> List {
        self.core.node_names.as_ref().map(|names| names.iter().map(str::to_string).collect())
    }

    /// Remarks of the reader.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.core.notes.clone()
    }

    /// The graph.
    #[getter]
    fn graph(&self) -> Graph {
        Graph { core: self.core.graph.clone() }
    }

    /// The features: an array, or a SciPy matrix.
    #[getter]
    fn x<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.core.features {
            Features::Dense(m) => Ok(arrays::to_numpy(py, m.clone())?.into_any()),
            Features::Sparse(m) => {
                let parts = (
                    arrays::list(py, m.values()),
                    arrays::list(py, m.indices()),
                    arrays::list(py, m.offsets()),
                );
                let shape = PyDict::new(py);
                shape.set_item("shape", (m.rows(), m.cols()))?;
                py.import("scipy.sparse")?.getattr("csr_matrix")?.call((parts,), Some(&shape))
            }
        }
    }

    /// The labels: classes [N], or a 0/1 matrix [N, C]; -1 where unknown.
    #[getter]
    fn y<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.core.labels {
            Labels::Classes { ids, .. } => Ok(arrays::list(py, ids).into_any()),
            Labels::Multi { values, classes } => {
                let flat: Bound<'py, PyArray1<i8>> = arrays::list(py, values);
                let table: Bound<'py, PyArray2<i8>> = flat.reshape([self.core.labels.len(), *classes])?;
                Ok(table.into_any())
            }
        }
    }

    /// Ids of the training nodes.
    #[getter]
    fn train<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        arrays::list(py, &self.core.split.train)
    }

    /// Ids of the nodes that the best model is chosen on.
    #[getter]
    fn val<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        arrays::list(py, &self.core.split.val)
    }

    /// Ids of the nodes of the final score.
    #[getter]
    fn test<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        arrays::list(py, &self.core.split.test)
    }

    /// The same data with another split: "random:0.6,0.2,0.2", "per-class:20,500,1000", a number or a file.
    #[pyo3(signature = (split, seed=0))]
    fn with_split(&self, py: Python<'_>, split: &str, seed: u64) -> PyResult<Self> {
        let choice: SplitChoice = split.parse().map_err(|e| errors::raised(py, &e))?;
        let core = work(py, 0, || chosen(&self.core, &choice, seed))?;
        let drawn = (!matches!(choice, SplitChoice::Auto)).then_some((choice, seed));
        Ok(Self { core: Arc::new(core), drawn })
    }

    /// Writes the data to a file: .iglu, which opens at once, or .npz.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        work(py, 0, || saved(&self.core, &path))
    }

    fn __repr__(&self) -> String {
        let Core { graph, features, labels, split, .. } = &*self.core;
        format!(
            "Dataset({} nodes, {} edges, {} features, {} classes; {} train, {} val, {} test)",
            graph.nodes(),
            graph.counts().edges,
            features.cols(),
            labels.classes(),
            split.train.len(),
            split.val.len(),
            split.test.len()
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        if !self.core.relations.is_empty() {
            let found = "a dataset with several kinds of edges cannot be pickled";
            return Err(errors::raised(
                py,
                &Error::usage("pickle", found, "save it, and load it where it is needed"),
            ));
        }
        let parts = PyDict::new(py);
        parts.set_item("graph", Bound::new(py, self.graph())?)?;
        parts.set_item("x", self.x(py)?)?;
        parts.set_item("y", if self.core.labels.classes() > 0 { Some(self.y(py)?) } else { None })?;
        parts.set_item("train", self.train(py))?;
        parts.set_item("val", self.val(py))?;
        parts.set_item("test", self.test(py))?;
        parts.set_item("name", &self.core.name)?;
        parts.set_item("class_names", self.class_names())?;
        parts.set_item("node_names", self.node_names())?;
        Ok((py.import("iglu_gnn._convert")?.getattr("restored")?, (parts,)))
    }
}

/// Refuses names that do not belong to the classes or nodes.
fn named(data: &Core) -> Result<()> {
    let same = |place: &str, names: &Option<Names>, count: usize| match names {
        Some(names) if names.len() != count => {
            let found = format!("{} names for {count}", names.len());
            Err(Error::data(place, found, "give each one name, in order"))
        }
        _ => Ok(()),
    };
    same("class_names", &data.class_names, data.labels.classes())?;
    same("node_names", &data.node_names, data.graph.nodes())
}

/// Labels and split as arrays, not yet checked.
struct Known {
    labels: Option<Array>,
    split: [Array; 3],
}

impl Known {
    fn read(y: Option<&Bound<'_, PyUntypedArray>>, ids: [&Bound<'_, PyUntypedArray>; 3]) -> PyResult<Self> {
        let [train, val, test] = ids;
        Ok(Self {
            labels: y.map(|y| arrays::array("y", y)).transpose()?,
            split: [arrays::array("train", train)?, arrays::array("val", val)?, arrays::array("test", test)?],
        })
    }

    /// The data with these labels and this split, checked.
    fn added_to(self, mut data: Core) -> Result<Core> {
        let n = data.graph.nodes();
        data.labels = match &self.labels {
            Some(y) => plain::labels_of("y", y, n)?,
            None => Labels::Classes { ids: vec![-1; n], classes: 0 },
        };
        let [train, val, test] = &self.split;
        data.split = Split {
            train: plain::node_ids("train", train, Numbering::from_zero(n))?,
            val: plain::node_ids("val", val, Numbering::from_zero(n))?,
            test: plain::node_ids("test", test, Numbering::from_zero(n))?,
        };
        data.splits = if data.split.is_empty() { Vec::new() } else { vec![data.split.clone()] };
        data.class_names = None;
        data.validate()?;
        Ok(data)
    }
}

impl Dataset {
    /// The data and the configuration of a run: with the split that the configuration asks for, else its own.
    pub fn ready(&self, config: &CoreConfig) -> Result<(Arc<Core>, CoreConfig)> {
        let mut config = config.clone();
        let data = match (&config.data.split, &self.drawn) {
            (SplitChoice::Auto, Some((choice, seed))) => {
                config.data.split = choice.clone();
                config.data.split_seed = *seed;
                self.core.clone()
            }
            (SplitChoice::Auto, None) if !self.core.split.is_empty() => {
                config.data.split = iglu_data::decided(&SplitChoice::Auto, &self.core);
                self.core.clone()
            }
            (SplitChoice::Auto, None) => {
                let data = iglu_data::prepare((*self.core).clone(), &options(&config))?;
                config.data.split = SplitChoice::FALLBACK;
                Arc::new(data)
            }
            (choice, _) => Arc::new(chosen(&self.core, choice, config.data.split_seed)?),
        };
        Ok((data, config))
    }
}

fn chosen(data: &Core, choice: &SplitChoice, seed: u64) -> Result<Core> {
    let mut data = data.clone();
    iglu_data::choose_split(&mut data, choice, seed)?;
    Ok(data)
}

fn saved(data: &Core, path: &Path) -> Result<()> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("iglu") => iglu_data::write_store(path, data),
        Some("npz") => iglu_data::write_plain(path, data),
        _ => {
            let found = format!("`{}` ends neither in .iglu nor in .npz", path.display());
            Err(Error::usage("path", found, "name the file graph.iglu, say"))
        }
    }
}

/// How files are read, as the configuration says.
fn options(config: &CoreConfig) -> LoadOptions {
    LoadOptions { verify: Verify::Everything, ..LoadOptions::from(&config.data) }
}

/// Reads a dataset: a file or folder in any form that the command line knows, or "synth:NAME[@scale][#seed]".
///
/// `config` says how (its `data` keys); `predict=True` does without labels and splits.
///
/// >>> from iglu_gnn import load_dataset
/// >>> load_dataset("synth:village")
/// Dataset(2000 nodes, 9000 edges, 32 features, 8 classes; 1200 train, 400 val, 400 test)
#[pyfunction]
#[pyo3(signature = (source, config=None, *, predict=false))]
pub fn load_dataset(
    py: Python<'_>,
    source: std::path::PathBuf,
    config: Option<&Config>,
    predict: bool,
) -> PyResult<Dataset> {
    let config = config.map_or_else(CoreConfig::default, |c| c.core.clone());
    let mut options = options(&config);
    options.purpose = if predict { Purpose::Predict } else { Purpose::Train };
    let Some(source) = source.to_str() else {
        let e = Error::usage("source", format!("`{}` is not Unicode", source.display()), "rename the file");
        return Err(errors::raised(py, &e));
    };
    let (source, reading) = (source.to_string(), options.clone());
    let core = watched(py, config.threads, move || iglu_data::load(&source, &reading))?;
    let stored =
        matches!(config.data.split, SplitChoice::Auto | SplitChoice::Stored(_)) && !core.splits.is_empty();
    let drawn = match config.data.split {
        SplitChoice::Auto if stored || predict => None,
        SplitChoice::Auto => Some((SplitChoice::FALLBACK, options.split_seed)),
        choice => Some((choice, options.split_seed)),
    };
    Ok(Dataset { core: Arc::new(core), drawn })
}
