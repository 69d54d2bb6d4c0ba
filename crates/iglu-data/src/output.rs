//! Writes whole files so that a crash leaves the old file or the new one, never half of one.
//!
//! Temporary file beside the target, flush, fsync, rename, fsync of the directory. No locks, no generations.

use iglu::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file under construction, as handed to the function that fills it.
pub type Sink = BufWriter<File>;

/// Replaces the file at `path` by what `fill` writes; on any failure the old file stays.
pub fn replace(path: &Path, fill: impl FnOnce(&mut Sink) -> io::Result<()>) -> Result<()> {
    let part = part_of(path)?;
    let written = write_part(&part, fill).and_then(|()| fs::rename(&part, path));
    written.and_then(|()| sync_directory(path)).map_err(|e| {
        // The error that matters is `e`; a part that cannot be removed is only untidy.
        let _ = fs::remove_file(&part);
        failed(path, &e)
    })
}

fn write_part(part: &Path, fill: impl FnOnce(&mut Sink) -> io::Result<()>) -> io::Result<()> {
    let mut sink = BufWriter::with_capacity(1 << 20, File::create(part)?);
    fill(&mut sink)?;
    sink.flush()?;
    sink.get_ref().sync_all()
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(or_here(folder))?.sync_all(),
        _ => Ok(()),
    }
}

fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
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
    fn a_missing_folder_is_named_with_its_remedy() {
        let path = crate::testing::folder("nowhere").join("deeper/a.txt");
        let e = replace(&path, |_| Ok(())).unwrap_err();
        assert!(e.to_string().contains("make the folder first"), "{e}");
    }
}
