//! `iglu_gnn._native.train`: training in a thread of its own while the caller's thread listens.
//!
//! The caller's thread waits without the interpreter's lock. It wakes for every epoch, to call back, and every
//! now and then, to see whether a signal has come. Then training is asked to stop, and the best model so far comes with the
//! exception. As long as there is none, nobody waits: the worker ends by itself where it next looks up.

use crate::config::{Config, loads};
use crate::dataset::Dataset;
use crate::errors;
use crate::model::Model;
use crate::work::{self, Outcome, Running, pooled};
use iglu::Interrupt;
use iglu::config::Config as CoreConfig;
use iglu::observe::{Control, Event, Observer};
use iglu::run::{Fit, Trained as Finished};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a worker without a model is waited for after a signal.
const GRACE: Duration = Duration::from_millis(100);

/// A finished run: the model of the best validation score, and how it went.
#[pyclass(frozen, module = "iglu_gnn")]
pub struct Trained {
    model: Arc<iglu::model::Model>,
    /// The report, in JSON.
    text: String,
    /// The same as a dictionary, which never leaves this object.
    read: PyOnceLock<Py<PyAny>>,
}

#[pymethods]
impl Trained {
    /// The best model.
    #[getter]
    fn model(&self) -> Model {
        Model { core: self.model.clone() }
    }

    /// Everything about the run, as `summary.json` of the command line has it.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loads(py, &self.text)
    }

    /// Scores of the network after its start, before the first epoch: a dictionary, or None.
    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.report(py)?.get_item("start")
    }

    /// Scores after every evaluated epoch: a list of dictionaries, which pandas.DataFrame takes.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.report(py)?.get_item("history")
    }

    /// Name of the score.
    #[getter]
    fn metric(&self, py: Python<'_>) -> PyResult<String> {
        self.entry(py, "metric")
    }

    /// Epoch of the best model, from 1; 0 where training was stopped right after its start.
    #[getter]
    fn best_epoch(&self, py: Python<'_>) -> PyResult<usize> {
        self.entry(py, "best_epoch")
    }

    /// Whether a signal or an exception of a callback stopped the run before its end.
    #[getter]
    fn interrupted(&self, py: Python<'_>) -> PyResult<bool> {
        self.entry(py, "interrupted")
    }

    /// Its score on the validation nodes, or None.
    #[getter]
    fn val(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.entry(py, "val")
    }

    /// Its score on the test nodes, or None.
    #[getter]
    fn test(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.entry(py, "test")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let score = |s: Option<f64>| s.map_or_else(|| "none".to_string(), |v| format!("{v:.4}"));
        let (best, epochs): (usize, usize) = (self.best_epoch(py)?, self.entry(py, "epochs")?);
        let (metric, val, test) = (self.metric(py)?, score(self.val(py)?), score(self.test(py)?));
        Ok(format!("Trained(best epoch {best} of {epochs}, {metric}: {val} val, {test} test)"))
    }

    /// What pickle kept.
    #[staticmethod]
    fn _restored(model: &Model, text: String) -> Self {
        Self { model: model.core.clone(), text, read: PyOnceLock::new() }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Model, String))> {
        Ok((py.get_type::<Self>().getattr("_restored")?, (self.model(), self.text.clone())))
    }
}

/// Trains; `callback` is called with a dictionary after each epoch and stops the run by returning True.
///
/// What a callback or a signal raises is raised again when training has stopped, with the best model so far as its
/// attribute `trained`.
#[pyfunction]
#[pyo3(signature = (config, dataset, callback=None))]
pub fn train(
    py: Python<'_>,
    config: &Config,
    dataset: &Dataset,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Trained> {
    let _running = Running::new();
    let (outcome, raised) = listen(py, &config.core, dataset, callback);
    let Some(outcome) = outcome else { return Err(raised.unwrap_or_else(|| errors::closing(py))) };
    let finished = work::finished(py, outcome);
    let Some(raised) = raised else { return finished.map(Trained::of) };
    if let Ok(mut finished) = finished {
        finished.report.interrupted = true;
        // An exception that takes no attributes is still raised.
        let _ = raised.value(py).setattr("trained", Bound::new(py, Trained::of(finished))?);
    }
    Err(raised)
}

impl Trained {
    fn of(Finished { model, report, .. }: Finished) -> Self {
        let text = serde_json::to_string(&report).unwrap_or_default();
        Self { model: Arc::new(model), text, read: PyOnceLock::new() }
    }

    /// An entry of the report.
    fn entry<T>(&self, py: Python<'_>, key: &str) -> PyResult<T>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
    {
        self.read
            .get_or_try_init(py, || Ok::<_, PyErr>(loads(py, &self.text)?.unbind()))?
            .bind(py)
            .get_item(key)?
            .extract()
    }
}

/// What the worker says.
enum Message {
    /// Something happened; it waits for an answer.
    Event(Event),
    /// Nothing will happen any more.
    Over(Box<Outcome<Finished>>),
}

/// Trains in a thread of its own. It outlives this call where a signal came before there was a model.
fn start(
    config: &CoreConfig,
    dataset: &Dataset,
    interrupt: &Interrupt,
) -> (Receiver<Message>, Sender<Control>) {
    let (tell, told) = channel();
    let (answer, answers) = channel();
    let (config, dataset, interrupt) = (config.clone(), dataset.clone(), interrupt.clone());
    thread::spawn(move || {
        let _running = Running::new();
        let mut wire = Wire { tell: tell.clone(), answers };
        let outcome = pooled(config.threads, || {
            let (data, config) = dataset.ready(&config)?;
            Fit::new(&config, &*data).interrupt(&interrupt).run(&mut wire)
        });
        // Nobody may be there to hear it.
        let _ = tell.send(Message::Over(Box::new(outcome)));
    });
    (told, answer)
}

/// What became of the run, unless nobody waited for it, and what was raised meanwhile.
fn listen(
    py: Python<'_>,
    config: &CoreConfig,
    dataset: &Dataset,
    callback: Option<&Bound<'_, PyAny>>,
) -> (Option<Outcome<Finished>>, Option<PyErr>) {
    let interrupt = Interrupt::new();
    let (mut told, answer) = start(config, dataset, &interrupt);
    let (mut raised, mut since, mut kept) = (None, None, false);
    loop {
        let (message, back) = work::next(py, told);
        told = back;
        match message {
            Ok(Message::Over(outcome)) => return (Some(*outcome), raised),
            Ok(Message::Event(event)) => {
                kept |= matches!(event, Event::Epoch { best: true, .. });
                let control = if raised.is_none() { hear(py, callback, &event) } else { Ok(Control::Stop) };
                let control = control.unwrap_or_else(|e| {
                    raised = Some(e);
                    Control::Stop
                });
                // A worker that has gone needs no answer.
                let _ = answer.send(control);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return (None, raised),
        }
        raised = raised.or_else(|| work::interrupted(py));
        if raised.is_some() {
            interrupt.request();
            let since: &mut Instant = since.get_or_insert_with(Instant::now);
            if !kept && since.elapsed() > GRACE {
                return (None, raised);
            }
        }
    }
}

/// Tells the callback of an epoch, and warns of a way back.
fn hear(py: Python<'_>, callback: Option<&Bound<'_, PyAny>>, event: &Event) -> PyResult<Control> {
    py.check_signals()?;
    if let Event::RolledBack { epoch, why, rate_factor } = event {
        let text = format!("{why}; going on from epoch {epoch} with learning rates times {rate_factor}");
        py.import("warnings")?.call_method1("warn", (text, py.get_type::<PyRuntimeWarning>()))?;
    }
    let (Some(callback), Event::Epoch { epoch: epoch @ 1.., epochs, loss, scores, best, rate, seconds }) =
        (callback, event)
    else {
        return Ok(Control::Continue);
    };
    let told = PyDict::new(py);
    told.set_item("epoch", epoch)?;
    told.set_item("epochs", epochs)?;
    told.set_item("loss", loss)?;
    told.set_item("val", scores.and_then(|s| s.val))?;
    told.set_item("test", scores.and_then(|s| s.test))?;
    told.set_item("best", best)?;
    told.set_item("lr", rate)?;
    told.set_item("seconds", seconds.total)?;
    let stop = callback.call1((told,))?.is_truthy()?;
    Ok(if stop { Control::Stop } else { Control::Continue })
}

/// The worker's end: tells of epochs and waits for the answer.
struct Wire {
    tell: Sender<Message>,
    answers: Receiver<Control>,
}

impl Observer for Wire {
    fn event(&mut self, event: &Event) -> Control {
        if !matches!(event, Event::Epoch { .. } | Event::RolledBack { .. }) {
            return Control::Continue;
        }
        let sent = self.tell.send(Message::Event(event.clone()));
        sent.map_or(Control::Stop, |()| self.answers.recv().unwrap_or(Control::Stop))
    }
}
