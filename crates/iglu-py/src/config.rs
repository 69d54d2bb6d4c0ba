//! `iglu_gnn.Config`: the one configuration, with the keys and the errors of the command line.

use crate::errors;
use iglu::config::Config as Core;
use iglu::{Error, Result};
use iglu_cli::Given;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

/// Who is blamed for a wrong value.
const PLACE: &str = "Config";

/// The deepest nesting of values that is followed.
const DEEPEST: usize = 8;

/// Every setting of a run: `Config(layer="gcn", layers=3, lr=0.01)`.
///
/// Keys are those of the command line's `--set`, whole (`**{"optim.lr": 0.01}`), as their last part (`lr=0.01`) or in
/// groups (`optim={"lr": 0.01}`); `lambda_` stands for `lambda`. `recipe` names a network of the paper.
///
/// >>> from iglu_gnn import Config
/// >>> config = Config(layer="gcn", lr=0.02)
/// >>> config["optim.lr"], config["layers"]
/// (0.02, 2)
/// >>> config.replace(layers=3)["network.layers"]
/// 3
#[pyclass(frozen, module = "iglu_gnn")]
pub struct Config {
    pub core: Core,
}

#[pymethods]
impl Config {
    #[new]
    #[pyo3(signature = (recipe=None, **values))]
    fn new(py: Python<'_>, recipe: Option<&str>, values: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::given(py, recipe, None, values)
    }

    /// Reads the text of a configuration file, such as the config.toml of a run; keywords win over it.
    #[staticmethod]
    #[pyo3(signature = (text, **values))]
    fn from_toml(py: Python<'_>, text: &str, values: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::given(py, None, Some(text), values)
    }

    /// The text of a configuration file with every key.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        iglu_cli::to_toml(&self.core).map_err(|e| errors::raised(py, &e))
    }

    /// Every key, in nested dictionaries.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loads(py, &serde_json::to_string(&self.core).unwrap_or_default())
    }

    /// A copy with some values changed.
    #[pyo3(signature = (**values))]
    fn replace(&self, py: Python<'_>, values: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::given(py, None, Some(&self.to_toml(py)?), values)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let whole = iglu_cli::key(key).map_err(|e| errors::raised(py, &e.within(PLACE)))?;
        whole.split('.').try_fold(self.to_dict(py)?, |inner, part| inner.get_item(part))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().core == self.core)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let default = iglu_cli::to_toml(&Core::default()).unwrap_or_default();
        let (mut group, mut said) = (String::new(), Vec::new());
        for line in self.to_toml(py)?.lines() {
            if let Some(name) = line.strip_prefix('[') {
                group = format!("{}.", name.trim_end_matches(']'));
            } else if !default.lines().any(|known| known == line) && !line.is_empty() {
                said.push(format!("{group}{line}"));
            }
        }
        Ok(format!("Config({})", said.join(", ")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let maker = py.get_type::<Self>().getattr("from_toml")?;
        Ok((maker, (self.to_toml(py)?,)))
    }
}

impl Config {
    fn given(
        py: Python<'_>,
        recipe: Option<&str>,
        text: Option<&str>,
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut flat = Vec::new();
        if let Some(values) = values {
            flatten("", values, &mut flat, DEEPEST).map_err(|e| errors::raised(py, &e))?;
        }
        let given = Given { recipe, text, values: flat, place: PLACE };
        let core = iglu_cli::configuration(&given).map_err(|e| errors::raised(py, &e))?;
        Ok(Self { core })
    }
}

/// The objects of a JSON text.
pub fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

/// Keys with their values; groups become dots, `lambda_` is `lambda`, `None` is nothing.
fn flatten(
    prefix: &str,
    values: &Bound<'_, PyDict>,
    out: &mut Vec<(String, Value)>,
    depth: usize,
) -> Result<()> {
    for (key, value) in values {
        let Ok(key) = key.extract::<String>() else {
            return Err(Error::usage(PLACE, format!("a key is {}; expected text", shown(&key)), ""));
        };
        let key = format!("{prefix}{}", key.trim_end_matches('_'));
        match value.cast::<PyDict>() {
            _ if value.is_none() => {}
            Ok(group) if depth > 0 => flatten(&format!("{key}."), group, out, depth - 1)?,
            _ => out.push((key.clone(), toml_value(&key, &value, DEEPEST)?)),
        }
    }
    Ok(())
}

/// A value of Python's as one of a configuration.
fn toml_value(key: &str, value: &Bound<'_, PyAny>, depth: usize) -> Result<Value> {
    let unfit =
        || Error::usage(format!("{PLACE}: {key}"), format!("{} is no value of a key", shown(value)), "");
    if depth == 0 {
        return Err(unfit());
    }
    if value.is_instance_of::<PyBool>() {
        return value.extract().map(Value::Boolean).map_err(|_| unfit());
    }
    if value.is_instance_of::<PyInt>() {
        return value.extract().map(Value::Integer).map_err(|_| unfit());
    }
    if value.is_instance_of::<PyFloat>() {
        return value.extract().map(Value::Float).map_err(|_| unfit());
    }
    if value.is_instance_of::<PyString>() {
        return value.extract().map(Value::String).map_err(|_| unfit());
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let mut flat = Vec::new();
        flatten("", table, &mut flat, 0)?;
        return Ok(Value::Table(flat.into_iter().collect()));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter().map_err(|_| unfit())?;
        let items = items.map(|item| toml_value(key, &item.map_err(|_| unfit())?, depth - 1));
        return items.collect::<Result<Vec<_>>>().map(Value::Array);
    }
    // Scalars and arrays of NumPy's know their Python twins.
    match value.call_method0("tolist") {
        Ok(twin) => toml_value(key, &twin, depth - 1),
        Err(_) => Err(unfit()),
    }
}

/// An object as messages show it, not too long.
fn shown(object: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 60;
    let text = object.repr().map_or_else(|_| "an object".to_string(), |r| r.to_string());
    text.chars().take(LONGEST).collect()
}
