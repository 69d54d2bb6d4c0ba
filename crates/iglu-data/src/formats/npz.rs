//! NumPy's .npz files: a zip of .npy members. Members are read one at a time, on demand.
//!
//! Guards: total decompressed bytes, sizes that lie, duplicate names, encryption, unknown compression, checksums.
//! Nothing is ever extracted to disk, so member names cannot lead anywhere.

use super::npy::{self, Array};
use crate::{Limits, LoadOptions, nearest, quoted};
use iglu::{Dataset, Error, Names, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::ZipArchive;
use zip::result::ZipError;

/// An .npz file opened for reading.
pub struct Npz<R = BufReader<File>> {
    archive: ZipArchive<R>,
    limits: Limits,
    spent: u64,
    /// Bytes that all members have together, as they lie in the file.
    held: u64,
}

impl Npz {
    /// Opens the file at `path`; errors name it.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        let open = || Self::new(BufReader::new(super::open_file(path)?), limits);
        open().map_err(|e| e.within(&quoted(path)))
    }
}

impl<R: Read + Seek> Npz<R> {
    /// Opens a zip archive from anything that can seek.
    pub fn new(mut reader: R, limits: Limits) -> Result<Self> {
        let start = ZipArchive::new(&mut reader).map_err(|e| container(&e))?.central_directory_start();
        refuse_duplicates(&mut reader, start)?;
        let archive = ZipArchive::new(reader).map_err(|e| container(&e))?;
        Ok(Self { archive, limits, spent: 0, held: start })
    }

    /// Names of the arrays, without `.npy`.
    pub fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.archive.file_names().filter_map(|n| n.strip_suffix(".npy")).collect();
        keys.sort_unstable();
        keys
    }

    /// Whether there is an array called `key`.
    pub fn has(&self, key: &str) -> bool {
        self.archive.index_for_name(&member(key)).is_some()
    }

    /// Reads the array called `key`; where it is missing the message says `remedy`, or offers a similar name.
    pub fn array(&mut self, key: &str, remedy: &str) -> Result<Array> {
        let Some(index) = self.archive.index_for_name(&member(key)) else {
            return Err(self.missing(key, remedy));
        };
        self.read(index).and_then(Array::parse).map_err(|e| e.within(key))
    }

    /// The shape that the array called `key` declares; only its header is read.
    pub(super) fn shape(&mut self, key: &str) -> Option<Vec<usize>> {
        let index = self.archive.index_for_name(&member(key))?;
        let file = self.archive.by_index(index).ok()?;
        let size = file.size();
        if size > self.limits.max_decompressed { None } else { npy::shape(file, size) }
    }

    /// Reads the array called `key`, which holds one word.
    pub fn word(&mut self, key: &str, remedy: &str) -> Result<String> {
        let Some(index) = self.archive.index_for_name(&member(key)) else {
            return Err(self.missing(key, remedy));
        };
        self.read(index).and_then(|bytes| npy::word(&bytes)).map_err(|e| e.within(key))
    }

    /// Reads the list of words called `key`; `None` if it holds pickled objects, which are not opened.
    pub fn words(&mut self, key: &str, remedy: &str) -> Result<Option<Names>> {
        let Some(index) = self.archive.index_for_name(&member(key)) else {
            return Err(self.missing(key, remedy));
        };
        self.read(index).and_then(|bytes| npy::words(&bytes)).map_err(|e| e.within(key))
    }

    /// The error for a missing array, listing what is there.
    pub fn missing(&self, key: &str, remedy: &str) -> Error {
        const MOST: usize = 20;
        let keys = self.keys();
        let mut listed: Vec<String> = keys.iter().take(MOST).map(|k| format!("`{k}`")).collect();
        if keys.len() > MOST {
            listed.push(format!("and {} more", keys.len() - MOST));
        }
        let list = if listed.is_empty() { "none".to_string() } else { listed.join(", ") };
        let found = format!("no such array; the file has {list}");
        match nearest(key, keys) {
            Some(near) => Error::data(key, found, format!("did you mean `{near}`? Rename it to `{key}`")),
            None => Error::data(key, found, remedy),
        }
    }

    fn read(&mut self, index: usize) -> Result<Vec<u8>> {
        let left = self.limits.max_decompressed - self.spent;
        let file = self.archive.by_index(index).map_err(|e| entry(&e))?;
        let size = file.size();
        if size > left {
            return Err(too_large(size, self.limits));
        }
        // Room for what the bytes that are there may well become; more of it as they arrive, not as declared. One byte more than
        // declared: reaches the end, where the checksum is compared, or finds the lie.
        let room = size.min(2 * file.compressed_size().min(self.held)) + 1;
        let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
        file.take(size + 1).read_to_end(&mut bytes).map_err(|e| damaged(&e))?;
        if bytes.len() as u64 != size {
            let found =
                format!("the directory of the zip declares {size} bytes, the member has another number");
            return Err(Error::data("", found, "the file is damaged; fetch or save it again"));
        }
        self.spent += size;
        Ok(bytes)
    }
}

/// Reads a dataset from the npz file at `path` and names it after the file.
pub(super) fn dataset(
    path: &Path,
    options: &LoadOptions,
    parse: impl FnOnce(&mut Npz, &LoadOptions) -> Result<Dataset>,
) -> Result<Dataset> {
    let mut npz = Npz::open(path, options.limits)?;
    let mut data = parse(&mut npz, options).map_err(|e| e.within(&quoted(path)))?;
    data.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(data)
}

fn member(key: &str) -> String {
    format!("{key}.npy")
}

/// Walks the central directory: the archive type keeps only the last of several members with one name.
fn refuse_duplicates(reader: &mut (impl Read + Seek), start: u64) -> Result<()> {
    let mut names = BTreeSet::new();
    reader.seek(SeekFrom::Start(start)).map_err(|e| damaged(&e))?;
    while let Some(name) = next_name(reader).map_err(|e| damaged(&e))? {
        if let Some(twice) = names.replace(name) {
            let found = format!("member `{}` is there twice", String::from_utf8_lossy(&twice));
            return Err(Error::data("", found, "save the file again with each name once"));
        }
    }
    Ok(())
}

/// Name of the entry that starts here; moves on to the next one. `None` after the last.
fn next_name(reader: &mut (impl Read + Seek)) -> io::Result<Option<Vec<u8>>> {
    const ENTRY: &[u8] = b"PK\x01\x02";
    let mut fixed = [0; 46];
    match reader.read_exact(&mut fixed) {
        Ok(()) if fixed.starts_with(ENTRY) => {}
        Ok(()) => return Ok(None),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(e),
    }
    let length = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
    let (mut name, declared) = (Vec::new(), length(28).into());
    if reader.by_ref().take(declared).read_to_end(&mut name)? as u64 != declared {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    reader.seek_relative(i64::from(length(30)) + i64::from(length(32)))?;
    Ok(Some(name))
}

fn container(e: &ZipError) -> Error {
    let cut = "the end of the file is missing or damaged: fetch or save it again";
    match e {
        ZipError::Io(e) => damaged(e),
        e => Error::data("", format!("not a whole zip archive: {e}"), cut),
    }
}

fn entry(e: &ZipError) -> Error {
    match e {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            Error::data("", "the member is encrypted", "save it without a password")
        }
        ZipError::UnsupportedArchive(what) => {
            Error::data("", *what, "save it with np.savez or np.savez_compressed")
        }
        e => container(e),
    }
}

fn damaged(e: &io::Error) -> Error {
    let found = match e.to_string().as_str() {
        "Invalid checksum" => "the checksum of the member does not match its bytes".to_string(),
        other => format!("cannot be unpacked: {other}"),
    };
    Error::data("", found, "the file is damaged; fetch or save it again")
}

fn too_large(size: u64, limits: Limits) -> Error {
    let gib = |bytes: u64| bytes as f64 / (1_u64 << 30) as f64;
    let (wanted, limit) = (gib(size), gib(limits.max_decompressed));
    let found = format!("would expand to {wanted:.1} GiB, limit {limit:.1} GiB for the whole file");
    Error::data("", found, "if you trust the file, raise the limit: --max-decompressed GIB")
}
