//! Writes whole files so that a crash leaves the old file or the new one, never half of one.
//!
//! Temporary file beside the target, flush, fsync, rename, fsync of the directory. No locks on files. A program that is
//! ended by a signal removes its temporary files first ([`abandon`]).

use iglu::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file under construction, as handed to the function that fills it.
pub type Sink = BufWriter<File>;

/// Replaces the file at `path` by what `fill` writes; on any failure the old file stays.
pub fn replace(path: &Path, fill: impl FnOnce(&mut Sink) -> io::Result<()>) -> Result<()> {
    replace_after(path, || Ok(()), fill)
}

/// The same, the old file being moved to `previous` first: at any instant one of the two is whole, if one was.
pub fn replace_keeping(
    path: &Path,
    previous: &Path,
    fill: impl FnOnce(&mut Sink) -> io::Result<()>,
) -> Result<()> {
    let aside = || match step(|| fs::rename(path, previous)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    replace_after(path, aside, fill)
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    match step(|| fs::remove_file(path)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(path, &e)),
        _ => Ok(()),
    }
}

fn replace_after(
    path: &Path,
    before: impl FnOnce() -> io::Result<()>,
    fill: impl FnOnce(&mut Sink) -> io::Result<()>,
) -> Result<()> {
    let part = Part::of(path)?;
    let finish = || {
        let _whole = parts();
        before().and_then(|()| step(|| fs::rename(part.path(), path)))
    };
    let written = write_part(part.path(), fill).and_then(|()| finish());
    written.and_then(|()| sync_directory(path)).map_err(|e| {
        // The error that matters is `e`; a part that cannot be removed is only untidy.
        let _ = step(|| fs::remove_file(part.path()));
        failed(path, &e)
    })
}

/// Temporary files that are being written.
static PARTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn parts() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a temporary file, known to [`abandon`] as long as this lives.
#[derive(Debug)]
pub struct Part(PathBuf);

impl Part {
    /// What a file at `path` is written to first.
    pub fn of(path: &Path) -> Result<Self> {
        let part = part_of(path)?;
        parts().insert(part.clone());
        Ok(Self(part))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        parts().remove(&self.0);
    }
}

/// Removes all temporary files, for a program that is about to end. From then on no file is finished: whoever tries
/// waits for the end.
pub fn abandon() {
    let parts = parts();
    for part in parts.iter() {
        // What cannot be removed is only untidy.
        let _ = fs::remove_file(part);
    }
    std::mem::forget(parts);
}

fn write_part(part: &Path, fill: impl FnOnce(&mut Sink) -> io::Result<()>) -> io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 20, step(|| File::create(part))?);
    step(|| fill(&mut sink))?;
    step(|| sink.flush())?;
    step(|| sink.get_ref().sync_all())
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => step(|| File::open(or_here(folder))?.sync_all()),
        _ => Ok(()),
    }
}

/// One thing done to the disk; tests let any of them fail.
fn step<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(test)]
    faults::pass()?;
    work()
}

/// Failures on purpose.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::Cell;
    use std::io;

    /// Which steps fail.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(crate) enum Fault {
        None,
        /// The one after this many.
        Once(usize),
        /// All after this many: as if the machine had stopped there.
        From(usize),
    }

    thread_local!(static STATE: Cell<(Fault, usize)> = const { Cell::new((Fault::None, 0)) });

    /// Does something under a fault; also tells how many steps there were.
    pub(crate) fn under<T>(fault: Fault, work: impl FnOnce() -> T) -> (T, usize) {
        STATE.set((fault, 0));
        let result = work();
        let (_, steps) = STATE.replace((Fault::None, 0));
        (result, steps)
    }

    pub(super) fn pass() -> io::Result<()> {
        let (fault, steps) = STATE.get();
        STATE.set((fault, steps + 1));
        match fault {
            Fault::Once(n) if steps == n => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Fault::From(n) if steps >= n => Err(io::Error::other("the machine has stopped")),
            _ => Ok(()),
        }
    }
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Removes the temporary files of files of these names that killed programs have left. Nobody may be writing such a file.
pub fn sweep(folder: &Path, names: &[&str]) {
    let left = |part: &str| {
        let of = part.strip_prefix('.').and_then(|rest| rest.strip_suffix(".part"));
        let of = of.and_then(|rest| rest.rsplit_once('.')).filter(|(_, pid)| pid.parse::<u32>().is_ok());
        of.is_some_and(|(name, _)| names.contains(&name))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(left) {
            // What cannot be removed is only untidy.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn part_of(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(Error::output(crate::quoted(path), "this is no file name", "name a file to write"));
    };
    Ok(path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id())))
}

fn failed(path: &Path, e: &io::Error) -> Error {
    let fix = match e.kind() {
        io::ErrorKind::NotFound => "make the folder first",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a folder you may write to"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space; the old file is intact"
        }
        _ => "the old file, if any, is intact",
    };
    Error::output(crate::quoted(path), format!("cannot be written: {e}"), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_part() {
        let folder = crate::testing::folder("replace");
        let path = folder.join("a.txt");
        replace(&path, |f| f.write_all(b"old")).unwrap();
        let e =
            replace(&path, |f| f.write_all(b"ne").and(Err(io::Error::other("disk on fire")))).unwrap_err();
        assert_eq!(e.exit_code(), 74);
        assert!(e.to_string().contains("disk on fire"), "{e}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn only_parts_of_the_named_files_are_swept() {
        let folder = crate::testing::folder("swept");
        let others = [".b.12.part", ".a.x.part", "a.12.part", ".a.12", ".a.part", "a"];
        for name in others.iter().chain(&[".a.12.part", ".a.7.part"]) {
            fs::write(folder.join(name), "").unwrap();
        }
        sweep(&folder, &["a", "c"]);
        let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        let mut expect = others.to_vec();
        expect.sort_unstable();
        assert_eq!(left, expect);
    }

    #[test]
    fn a_missing_folder_is_named_with_its_remedy() {
        let path = crate::testing::folder("nowhere").join("deeper/a.txt");
        let e = replace(&path, |_| Ok(())).unwrap_err();
        assert!(e.to_string().contains("make the folder first"), "{e}");
    }
}
