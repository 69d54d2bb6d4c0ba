//! The folder of a run, and the one place that writes into it: claimed and tried before training starts, filled while
//! it goes on. One process at a time has a folder.

use crate::clock::Moment;
use iglu::model::Model;
use iglu::{Error, Result};
use iglu_data::{checkpoint, output};
use iglu_report::{names, tensorboard};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where runs go that were given no folder.
const RUNS: &str = "runs";

/// The file that is locked while a folder is in use; it stays.
const LOCK: &str = ".lock";

/// A file that is never finished: whether a folder can be written to.
const TRIAL: &str = "trial";

/// What a folder must have room for before training starts.
const ROOM: usize = 1 << 20;

/// Files that only who has the lock writes; `iglu report` alone writes its page without.
const OWN: [&str; 8] = [
    names::EVENTS,
    names::CONFIG,
    names::SUMMARY,
    names::MODEL,
    names::REPORT,
    names::SEEDS,
    checkpoint::LAST,
    checkpoint::PREVIOUS,
];

/// What is done with a run that is in a folder already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    /// It stays, and the folder is refused.
    Refuse,
    /// It is removed when the new run starts.
    Replace,
}

/// A folder that exists, can be written to and is ours alone. One made for this run vanishes again if nothing is put
/// into it.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    made: bool,
    /// Holds the lock; closing it lets go.
    _lock: Option<File>,
}

impl RunFolder {
    /// The folder asked for, made if it is not there.
    pub fn given(path: &Path, old: Old) -> Result<Self> {
        let made = !path.exists();
        fs::create_dir_all(path).map_err(|e| unwritable(path, &e))?;
        let folder = Self::claim(path.to_path_buf(), made)?;
        match run_files(path).first() {
            Some(found) if old == Old::Refuse => Err(occupied(path, found)),
            _ => Ok(folder),
        }
    }

    /// The folder of a run that goes on.
    pub fn of_run(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            let fix = "name a folder that `iglu train` has written";
            return Err(Error::missing(quoted(path), "there is no such folder", fix));
        }
        Self::claim(path.to_path_buf(), false)
    }

    /// A new folder `runs/NAME-YYYYMMDD-HHMMSS`.
    pub fn fresh(name: &str, now: Moment) -> Result<Self> {
        Self::fresh_in(Path::new(RUNS), name, now)
    }

    pub(crate) fn fresh_in(runs: &Path, name: &str, now: Moment) -> Result<Self> {
        fs::create_dir_all(runs).map_err(|e| unwritable(runs, &e))?;
        let name = format!("{}-{}", file_name(name), now.stamp());
        let mut number = 1;
        loop {
            let path = runs.join(if number == 1 { name.clone() } else { format!("{name}-{number}") });
            match fs::create_dir(&path) {
                Ok(()) => return Self::claim(path, true),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(unwritable(&path, &e)),
            }
        }
    }

    /// The folder of one seed in this one, made if it is not there.
    pub fn seed(&self, seed: u64) -> Result<Self> {
        let path = self.path.join(format!("{}{seed}", names::SEED));
        fs::create_dir_all(&path).map_err(|e| unwritable(&path, &e))?;
        Self::claim(path, true)
    }

    fn claim(path: PathBuf, made: bool) -> Result<Self> {
        let lock = lock(&path)?;
        if made {
            made_folders().push(path.clone());
        }
        if lock.is_some() {
            output::sweep(&path, &OWN);
            output::sweep(&path, &[TRIAL]);
        }
        let folder = Self { path, made, _lock: lock };
        folder.try_writing()?;
        Ok(folder)
    }

    /// Writes and removes a file: permission bits and free blocks alone do not tell.
    fn try_writing(&self) -> Result<()> {
        let trial = output::Part::of(&self.path.join(TRIAL))?;
        let written = File::create(trial.path())
            .and_then(|mut file| file.write_all(&vec![0; ROOM]).and_then(|()| file.sync_all()));
        let removed = fs::remove_file(trial.path());
        written.and(removed).map_err(|e| unwritable(&self.path, &e))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the model goes.
    pub fn model(&self) -> PathBuf {
        self.path.join(names::MODEL)
    }

    /// Removes the files of a run.
    pub fn clear(&self) -> Result<()> {
        clear(&self.path, |_| true)
    }

    /// Puts a run in the place of an old one, if there is one: its events, with their first text. Whoever is killed
    /// meanwhile leaves the old run or the new one, and either can go on.
    pub fn begin(&self, first: &str) -> Result<Appended> {
        clear(&self.path, |path| path != self.path.join(names::EVENTS))?;
        self.add(names::EVENTS, first)?;
        self.append(names::EVENTS)
    }

    /// Opens a file that grows while the run goes on.
    pub fn append(&self, name: &str) -> Result<Appended> {
        let path = self.path.join(name);
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let file = opened.map_err(|e| unwritable(&path, &e))?;
        let length = file.metadata().map_err(|e| unwritable(&path, &e))?.len();
        Ok(Appended { file, path, length })
    }

    /// Opens a file that has grown, and cuts it back to the length it had at some moment.
    pub fn append_from(&self, name: &str, length: u64) -> Result<Appended> {
        let mut appended = self.append(name)?;
        if appended.length < length {
            let found = format!("{} bytes, the checkpoint was written at {length}", appended.length);
            let fix = "put the file of the run back, or train again";
            return Err(Error::data(quoted(&appended.path), found, fix));
        }
        appended.file.set_len(length).map_err(|e| unwritable(&appended.path, &e))?;
        appended.length = length;
        Ok(appended)
    }

    /// Opens a new file for TensorBoard, which reads the files of a run in the order of their names: the last one of these
    /// comes last, whatever the clock says.
    pub fn board(&self, now: Moment) -> Result<Appended> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let number =
            |name: &str| name.strip_prefix(tensorboard::NAME)?.split('.').nth(1)?.parse::<u64>().ok();
        let last = entries.filter_map(|e| number(e.file_name().to_str()?)).max();
        let second = (now.seconds() as u64).max(last.map_or(0, |last| last.saturating_add(1)));
        self.append(&format!("{}.{second:010}.iglu.{}", tensorboard::NAME, std::process::id()))
    }

    /// What to go on from.
    pub fn checkpoint(&self) -> Result<Option<checkpoint::Found>> {
        checkpoint::load(&self.path)
    }

    /// Whether a run has come to its end here.
    pub fn finished(&self) -> bool {
        self.path.join(names::SUMMARY).exists()
    }

    /// Whether a run could go on from here.
    pub fn has_checkpoint(&self) -> bool {
        [checkpoint::LAST, checkpoint::PREVIOUS].iter().any(|name| self.path.join(name).exists())
    }

    /// Writes the model.
    pub fn keep(&self, model: &Model) -> Result<()> {
        iglu_data::model::save(&self.model(), model)
    }

    /// Writes a text beside the model.
    pub fn add(&self, name: &str, text: &str) -> Result<()> {
        iglu_data::model::write_text(&self.path.join(name), text)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.made {
            made_folders().retain(|path| *path != self.path);
            remove_empty(&self.path);
        }
    }
}

/// Folders that were made for the runs under way.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn made_folders() -> MutexGuard<'static, Vec<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what was written into the folders that were made, for a program that is about to end before its first epoch:
/// whatever has a result or a checkpoint stays.
pub fn clear_begun() {
    let kept = [names::SUMMARY, names::MODEL, checkpoint::LAST, checkpoint::PREVIOUS];
    for path in made_folders().iter().rev() {
        let keeps = |file: &PathBuf| file.is_dir() || kept.iter().any(|name| file.ends_with(name));
        if !run_files(path).iter().any(keeps) {
            // What cannot be removed is only untidy.
            let _ = clear(path, |_| true);
        }
        remove_empty(path);
    }
}

/// Removes the folders that were made and have stayed empty, for a program that is about to end; those inside others
/// first.
pub fn abandon() {
    made_folders().iter().rev().for_each(|path| remove_empty(path));
}

/// Removes a folder that holds nothing but its lock.
fn remove_empty(folder: &Path) {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    if entries.all(|e| e.file_name() == LOCK) {
        // What cannot be removed is only untidy.
        let _ = fs::remove_file(folder.join(LOCK));
        let _ = fs::remove_dir(folder);
    }
}

/// A file to whose end is written, at once.
#[derive(Debug)]
pub struct Appended {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Appended {
    /// Writes all of this in one go.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.failed(&e))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Waits until everything is on the disk; tells how long it is.
    pub fn sync(&self) -> Result<u64> {
        self.file.sync_data().map_err(|e| self.failed(&e))?;
        Ok(self.length)
    }

    fn failed(&self, e: &io::Error) -> Error {
        let fix = "free some space; what is written so far is intact";
        Error::output(quoted(&self.path), format!("cannot be written: {e}"), fix)
    }
}

/// Takes the lock of a folder; nothing where the file system has none.
fn lock(folder: &Path) -> Result<Option<File>> {
    let path = folder.join(LOCK);
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(|e| unwritable(folder, &e))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(folder, &path)),
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(unwritable(folder, &e)),
    }
    let named = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    named.map(|()| Some(file)).map_err(|e| unwritable(folder, &e))
}

fn in_use(folder: &Path, lock: &Path) -> Error {
    let owner = fs::read_to_string(lock).unwrap_or_default();
    let owner = if owner.is_empty() { String::new() } else { format!(" (process {owner})") };
    let found = format!("another run{owner} is writing into it");
    Error::locked(quoted(folder), found, "wait for it to end, or name another folder with --out")
}

fn occupied(folder: &Path, found: &Path) -> Error {
    let name = found.file_name().unwrap_or_default().to_string_lossy();
    let found = format!("{} holds a run already (`{name}`)", quoted(folder));
    let fix = "name another folder, replace the run with --force, or go on with it: --resume";
    Error::usage("--out", found, fix)
}

/// Removes those files of a run and of its seeds that are not wanted; other files stay.
fn clear(folder: &Path, unwanted: impl Fn(&Path) -> bool + Copy) -> Result<()> {
    for path in run_files(folder).into_iter().filter(|path| unwanted(path)) {
        if path.is_dir() {
            clear(&path, unwanted)?;
            // Fails, as it should, if somebody else put anything into it.
            let _ = fs::remove_file(path.join(LOCK)).and_then(|()| fs::remove_dir(&path));
        } else {
            fs::remove_file(&path)
                .map_err(|e| Error::output(quoted(&path), format!("cannot be removed: {e}"), ""))?;
        }
    }
    Ok(())
}

/// What a run has left in a folder; first of all what says that it is finished.
fn run_files(folder: &Path) -> Vec<PathBuf> {
    let ours = |name: &str| {
        let seed = name.starts_with(names::SEED) && folder.join(name).join(names::EVENTS).exists();
        OWN.contains(&name) || seed || name.starts_with(tensorboard::NAME)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.filter(|e| e.file_name().to_str().is_some_and(ours)).map(|e| e.path()).collect();
    found.sort_by_key(|path| (!path.ends_with(names::SUMMARY), path.clone()));
    found
}

fn unwritable(path: &Path, e: &io::Error) -> Error {
    let found = format!("cannot be written to: {e}");
    Error::output(quoted(path), found, "name a folder you may write to, with some room, after --out")
}

fn quoted(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// A dataset's name without what shells and file systems might misread.
pub fn file_name(name: &str) -> String {
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
    fn fresh_folders_differ_and_empty_ones_vanish() {
        let runs = scratch("fresh");
        let now = Moment::now();
        let first = RunFolder::fresh_in(&runs, "a", now).unwrap();
        let second = RunFolder::fresh_in(&runs, "a", now).unwrap();
        let stamp = now.stamp();
        let expect = [runs.join(format!("a-{stamp}")), runs.join(format!("a-{stamp}-2"))];
        assert_eq!([first.path.clone(), second.path.clone()], expect);
        fs::write(second.path.join("kept"), "").unwrap();
        drop(first);
        drop(second);
        assert!(!expect[0].exists() && expect[1].exists());
        fs::remove_dir_all(&runs).unwrap();
    }

    #[test]
    fn a_given_folder_that_was_there_stays() {
        let path = scratch("given");
        fs::create_dir_all(&path).unwrap();
        drop(RunFolder::given(&path, Old::Refuse).unwrap());
        assert!(path.exists());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_folder_has_one_owner_at_a_time() {
        let path = scratch("locked");
        let owner = RunFolder::given(&path, Old::Refuse).unwrap();
        let e = RunFolder::given(&path, Old::Replace).unwrap_err();
        assert_eq!(e.exit_code(), 73);
        let pid = format!("process {}", std::process::id());
        assert!(e.to_string().contains(&pid), "{e}");
        fs::write(path.join("kept"), "").unwrap();
        drop(owner);
        drop(RunFolder::given(&path, Old::Refuse).unwrap());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_run_takes_the_place_of_an_old_one() {
        let path = scratch("begun");
        fs::create_dir_all(path.join("seed-1")).unwrap();
        for name in
            [names::EVENTS, names::SUMMARY, checkpoint::LAST, "seed-1/events.jsonl", "seed-1/.lock", "mine"]
        {
            fs::write(path.join(name), "old\n").unwrap();
        }
        let folder = RunFolder::given(&path, Old::Replace).unwrap();
        assert!(run_files(&path)[0].ends_with(names::SUMMARY), "what is half removed is not finished");
        let mut events = folder.begin("first\n").unwrap();
        events.write(b"second\n").unwrap();
        assert_eq!(events.sync().unwrap(), 13);
        assert_eq!(fs::read_to_string(path.join(names::EVENTS)).unwrap(), "first\nsecond\n");
        let mut left: Vec<_> = fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".lock", names::EVENTS, "mine"]);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn an_old_run_is_refused_or_replaced_and_other_files_stay() {
        let path = scratch("old");
        for seed in ["seed-3", "seed-4", "seed-5"] {
            fs::create_dir_all(path.join(seed)).unwrap();
        }
        let old = [names::EVENTS, names::MODEL, "events.out.tfevents.1.iglu", "seed-3/events.jsonl"];
        let locks = ["seed-3/.lock", "seed-5/.lock", "seed-5/events.jsonl"];
        for name in old.iter().chain(&locks).chain(&["notes.txt", "seed-4/mine", "seed-5/mine"]) {
            fs::write(path.join(name), "x").unwrap();
        }
        let e = RunFolder::given(&path, Old::Refuse).unwrap_err();
        assert_eq!(e.exit_code(), 64);
        assert!(e.to_string().contains("--force"), "{e}");
        let folder = RunFolder::given(&path, Old::Replace).unwrap();
        assert!(path.join(names::MODEL).exists(), "nothing is removed before the run starts");
        folder.clear().unwrap();
        let mut left: Vec<_> = fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".lock", "notes.txt", "seed-4", "seed-5"]);
        assert!(path.join("seed-4/mine").exists() && path.join("seed-5/mine").exists());
        fs::remove_dir_all(&path).unwrap();
    }
}
