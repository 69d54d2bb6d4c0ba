//! `iglu_gnn.Model`: a trained network that predicts.

use crate::arrays;
use crate::config::Config;
use crate::dataset::Dataset;
use crate::errors;
use crate::work::{watched, work};
use iglu::model::Model as Core;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// A trained network with everything that a prediction needs.
#[pyclass(frozen, module = "iglu_gnn")]
pub struct Model {
    pub core: Arc<Core>,
}

#[pymethods]
impl Model {
    /// Logits of every node, float32 [N, C]; labels and splits of the dataset do not matter.
    #[pyo3(signature = (dataset, *, threads=0))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        dataset: &Dataset,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (model, data) = (self.core.clone(), dataset.core.clone());
        let logits = watched(py, threads, move || model.predict(&data))?;
        arrays::to_numpy(py, logits)
    }

    /// What layer `layer` (from 1) makes of every node, float32 [N, d].
    #[pyo3(signature = (dataset, layer, *, threads=0))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        dataset: &Dataset,
        layer: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (model, data) = (self.core.clone(), dataset.core.clone());
        let embeddings = watched(py, threads, move || model.embed(&data, layer))?;
        arrays::to_numpy(py, embeddings)
    }

    /// What the network was trained with, every `auto` decided.
    #[getter]
    fn config(&self) -> Config {
        Config { core: self.core.config().clone() }
    }

    /// Number of layers, the classifier included.
    #[getter]
    fn depth(&self) -> usize {
        self.core.network().depth()
    }

    /// Number of features of a node.
    #[getter]
    fn n_features(&self) -> usize {
        self.core.shape().features
    }

    /// Number of classes or labels.
    #[getter]
    fn n_classes(&self) -> usize {
        self.core.shape().classes
    }

    /// Whether a node has any number of labels.
    #[getter]
    fn multi_label(&self) -> bool {
        self.core.shape().multi_label
    }

    /// Everything learned, by name.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (name, t) in self.core.tensors() {
            out.set_item(name, arrays::to_numpy(py, t.into())?)?;
        }
        Ok(out)
    }

    /// Writes the network to a safetensors file, which `iglu predict` reads, too. Equal networks give equal files.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        work(py, 1, || iglu_data::model::save(&path, &self.core))
    }

    /// The bytes of that file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work(py, 1, || iglu_data::model::to_bytes(&self.core))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The network in such bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let core = iglu_data::model::from_bytes(bytes).map_err(|e| errors::raised(py, &e))?;
        Ok(Self { core: Arc::new(core) })
    }

    fn __repr__(&self) -> String {
        let (shape, network) = (self.core.shape(), &self.core.config().network);
        format!(
            "Model({} layers of {}, {} features, {} classes, {} parameters)",
            network.layers,
            network.layer,
            shape.features,
            shape.classes,
            self.core.network().params()
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let maker = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((maker, (self.to_bytes(py)?,)))
    }
}

/// Reads a network: a safetensors file, or the folder of a run.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
    let path = if path.is_dir() { path.join("best.safetensors") } else { path };
    let core = work(py, 1, || iglu_data::model::load(&path))?;
    Ok(Model { core: Arc::new(core) })
}
