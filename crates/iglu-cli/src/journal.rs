//! Writes down what a run tells: `events.jsonl`, and event files for TensorBoard. A line is on its way to the disk
//! before the next epoch starts.

use crate::clock::Moment;
use crate::folder::{Appended, RunFolder};
use crate::rhythm::{Beat, Rhythm};
use crate::{memory, settings, trials};
use iglu::Result;
use iglu::checkpoint::Checkpoint;
use iglu::config::Config;
use iglu::metrics::Metric;
use iglu::observe::{Control, Event, HistoryPoint, Observer, RefreshPoint, Report, Seconds, Urgency};
use iglu_data::Fingerprint;
use iglu_data::checkpoint::Surroundings;
use iglu_report::record::{End, Epoch, Origin, Prepared, Record, Tried};
use iglu_report::{names, tensorboard};

/// Listens to a run and writes into its folder. After a failure it asks the run to stop.
#[derive(Debug)]
pub struct Journal<'a> {
    keeping: Keeping<'a>,
    beat: Beat,
    events: Appended,
    board: Option<Appended>,
    refreshes: Vec<RefreshPoint>,
    written: Result<()>,
}

/// What a journal has to be told of a run.
#[derive(Debug, Clone, Copy)]
pub struct Keeping<'a> {
    /// The folder of the run.
    pub folder: &'a RunFolder,
    /// Seconds of reading the data, which the run does not know.
    pub load: f64,
    /// Whether to write for TensorBoard.
    pub board: Board,
    /// How often to write a checkpoint.
    pub rhythm: Rhythm,
    /// The data, as named by the user.
    pub source: &'a str,
    /// The data itself.
    pub data: &'a Fingerprint,
}

/// Whether to write for TensorBoard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// Write.
    On,
    /// Do not.
    Off,
}

impl<'a> Journal<'a> {
    /// Begins with what is run, in the place of an old run if there is one.
    pub fn begin(keeping: Keeping<'a>, origin: Origin) -> Result<Self> {
        let events = keeping.folder.begin(&line(&Record::Run(origin))?)?;
        Self::new(keeping, events, 0)
    }

    /// Goes on after epoch `ran`, the events being cut back to the length they had then.
    pub fn resume(keeping: Keeping<'a>, ran: usize, length: u64) -> Result<Self> {
        Self::new(keeping, keeping.folder.append_from(names::EVENTS, length)?, ran)
    }

    fn new(keeping: Keeping<'a>, events: Appended, ran: usize) -> Result<Self> {
        let board = (keeping.board == Board::On).then(|| open_board(keeping.folder)).transpose()?;
        let beat = Beat::new(keeping.rhythm, ran);
        Ok(Self { keeping, beat, events, board, refreshes: Vec::new(), written: Ok(()) })
    }

    fn keep(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let around = Surroundings {
            source: self.keeping.source.to_string(),
            data: self.keeping.data.clone(),
            events: self.events.sync()?,
        };
        iglu_data::checkpoint::save(self.keeping.folder.path(), checkpoint, &around)
    }

    /// Ends with the result; the first failure on the way, if there was one.
    pub fn end(mut self, report: &Report) -> Result<()> {
        self.written.clone()?;
        self.write(&Record::End(End {
            epochs: report.epochs,
            best_epoch: report.best_epoch,
            val: report.val,
            test: report.test,
            seconds: report.seconds,
        }))
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        self.events.write(line(record)?.as_bytes())
    }

    fn take(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Prepared { params, config, seconds } => self.prepared(*params, config, *seconds),
            &Event::Started { loss, epochs, seconds } => {
                self.write(&Record::Started { loss: finite(loss), epochs, seconds })
            }
            Event::Tried { config, scores, seconds } => {
                let settings = trials::values(config)?;
                let HistoryPoint { epoch, loss, val, test, .. } = *scores;
                let seconds = self.with_load(*seconds);
                self.write(&Record::Tried(Tried { settings, epoch, loss: finite(loss), val, test, seconds }))
            }
            Event::Decided { config } => self.configured(config),
            Event::RolledBack { epoch, why, rate_factor } => {
                self.refreshes.clear();
                let (epoch, why, rate_factor) = (*epoch, why.clone(), *rate_factor);
                self.write(&Record::RolledBack { epoch, why, rate_factor })
            }
            Event::Refreshed(point) => {
                self.refreshes.push(point.clone());
                Ok(())
            }
            &Event::Epoch { epoch, epochs, loss, scores, best, rate, seconds } => {
                let refreshes = std::mem::take(&mut self.refreshes);
                let of = |score: fn(HistoryPoint) -> Option<f64>| scores.and_then(score);
                self.epoch(Epoch {
                    epoch,
                    epochs,
                    loss: finite(loss),
                    val: of(|p| p.val),
                    test: of(|p| p.test),
                    best,
                    learning_rate: rate,
                    seconds: self.with_load(seconds),
                    refreshes,
                    peak_rss_bytes: memory::peak_bytes(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Reading the data is known here only.
    fn with_load(&self, seconds: Seconds) -> Seconds {
        let load = self.keeping.load;
        Seconds { load, total: seconds.total + load, ..seconds }
    }

    fn prepared(&mut self, params: usize, config: &Config, seconds: f64) -> Result<()> {
        self.configured(config)?;
        let metric = config.select.metric.or(Metric::Accuracy).name().to_string();
        self.write(&Record::Prepared(Prepared { params, metric, seconds }))
    }

    fn configured(&self, config: &Config) -> Result<()> {
        self.keeping.folder.add(names::CONFIG, &settings::to_toml(config)?)
    }

    fn epoch(&mut self, epoch: Epoch) -> Result<()> {
        if let Some(board) = &mut self.board {
            let now = Moment::now().seconds();
            board.write(&tensorboard::scalars(now, epoch.epoch as u64, &scalars(&epoch)))?;
        }
        self.write(&Record::Epoch(epoch))
    }
}

impl Observer for Journal<'_> {
    fn event(&mut self, event: &Event) -> Control {
        if self.written.is_ok() {
            self.written = self.take(event);
        }
        if self.written.is_ok() { Control::Continue } else { Control::Stop }
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint, urgency: Urgency) -> Result<()> {
        let ran = checkpoint.notes.ran;
        let wanted = match urgency {
            Urgency::Routine => self.beat.due(ran),
            Urgency::Last => self.beat.last() != ran,
        };
        if wanted { self.keep(checkpoint) } else { Ok(()) }
    }
}

fn line(record: &Record) -> Result<String> {
    let line = serde_json::to_string(record);
    let line = line.map_err(|e| iglu::Error::output(names::EVENTS, e.to_string(), "report this"))?;
    Ok(line + "\n")
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn open_board(folder: &RunFolder) -> Result<Appended> {
    let now = Moment::now();
    let mut board = folder.board(now)?;
    board.write(&tensorboard::head(now.seconds()))?;
    Ok(board)
}

/// What TensorBoard shows of an epoch; of several refreshes the last one.
fn scalars(epoch: &Epoch) -> Vec<(String, f64)> {
    let mut out = vec![("learning_rate".to_string(), epoch.learning_rate)];
    let mut add = |tag: String, value: Option<f64>| out.extend(value.map(|v| (tag, v)));
    add("loss".into(), epoch.loss);
    add("val".into(), epoch.val);
    add("test".into(), epoch.test);
    if let Some(refresh) = epoch.refreshes.last() {
        add("lambda".into(), Some(refresh.lambda));
        add("rho".into(), refresh.rho);
        for layer in &refresh.layers {
            add(format!("bias/layer{}", layer.k), layer.bias);
            add(format!("cosine/layer{}", layer.k), layer.cosine);
            add(format!("staleness/layer{}", layer.k), Some(layer.age as f64));
        }
    }
    out
}
