//! The folder of a run: chosen and tried before training starts, filled when it has ended.

use iglu::model::Model;
use iglu::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the model inside a run's folder.
pub const MODEL: &str = "model.safetensors";

/// Where runs go that were given no folder.
const RUNS: &str = "runs";

/// A folder that exists and can be written to. One made for this run vanishes again if nothing is put into it.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    made: bool,
}

impl RunFolder {
    /// The folder asked for, made if it is not there.
    pub fn given(path: &Path) -> Result<Self> {
        let made = !path.exists();
        fs::create_dir_all(path).map_err(|e| unwritable(path, &e))?;
        Self { path: path.to_path_buf(), made }.tried()
    }

    /// A new folder `runs/NAME-1`, `-2`, ...
    pub fn fresh(name: &str) -> Result<Self> {
        Self::fresh_in(Path::new(RUNS), name)
    }

    fn fresh_in(runs: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(runs).map_err(|e| unwritable(runs, &e))?;
        let mut number = 1;
        loop {
            let path = runs.join(format!("{}-{number}", file_name(name)));
            match fs::create_dir(&path) {
                Ok(()) => return Self { path, made: true }.tried(),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(unwritable(&path, &e)),
            }
        }
    }

    /// Writes and removes a small file: permission bits alone do not tell.
    fn tried(self) -> Result<Self> {
        let trial = self.path.join(format!(".trial.{}", std::process::id()));
        fs::write(&trial, b"iglu")
            .and_then(|()| fs::remove_file(&trial))
            .map_err(|e| unwritable(&self.path, &e))?;
        Ok(self)
    }

    /// Where the model goes.
    pub fn model(&self) -> PathBuf {
        self.path.join(MODEL)
    }

    /// Writes the model; replaces that of an earlier run.
    pub fn keep(&self, model: &Model) -> Result<()> {
        iglu_data::model::save(&self.model(), model)
    }

    /// Writes a text beside the model; replaces that of an earlier run.
    pub fn add(&self, name: &str, text: &str) -> Result<()> {
        iglu_data::model::write_text(&self.path.join(name), text)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.made {
            // Fails, as it should, if there is anything in it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn unwritable(path: &Path, e: &io::Error) -> Error {
    let found = format!("cannot be written to: {e}");
    Error::output(format!("`{}`", path.display()), found, "name a folder you may write to with --out")
}

/// A dataset's name without what shells and file systems might misread.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@') { c } else { '-' };
    let plain: String = name.trim_start_matches('.').chars().take(64).map(plain).collect();
    if plain.is_empty() { "graph".to_string() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("iglu-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn names_are_fit_for_files() {
        for (name, expect) in [
            ("village", "village"),
            ("arxiv@0.1#7", "arxiv@0.1-7"),
            ("../up", "-up"),
            ("a b/c", "a-b-c"),
            ("", "graph"),
        ] {
            assert_eq!(file_name(name), expect);
        }
    }

    #[test]
    fn fresh_folders_are_counted_and_empty_ones_vanish() {
        let runs = scratch("fresh");
        let first = RunFolder::fresh_in(&runs, "a").unwrap();
        let second = RunFolder::fresh_in(&runs, "a").unwrap();
        assert_eq!((first.path.clone(), second.path.clone()), (runs.join("a-1"), runs.join("a-2")));
        fs::write(second.path.join("kept"), "").unwrap();
        drop(first);
        drop(second);
        assert!(!runs.join("a-1").exists() && runs.join("a-2").exists());
        fs::remove_dir_all(&runs).unwrap();
    }

    #[test]
    fn a_given_folder_that_was_there_stays() {
        let path = scratch("given");
        fs::create_dir_all(&path).unwrap();
        drop(RunFolder::given(&path).unwrap());
        assert!(path.exists());
        fs::remove_dir_all(&path).unwrap();
    }
}
