//! Reports of training runs: reads the folders that `iglu train` writes and makes pages, plots and tables of them.
//!
//! [`Run::read`] reads one folder, [`page::of_run`] makes its page, [`Comparison`] sets several runs side by side. All of
//! it is text in memory; whoever calls writes the files. Knows run folders, SVG, HTML, Markdown, CSV and the event files
//! of TensorBoard; does not train and knows no networks.

pub mod compare;
mod escape;
pub mod folder;
pub mod numbers;
pub mod page;
pub mod plot;
mod profile;
pub mod record;
pub mod scores;
pub mod stats;
pub mod table;
pub mod tensorboard;

pub use compare::Comparison;
pub use escape::escape;
pub use folder::{Run, names, runs_in};
pub use profile::{ClassSize, Profile};
