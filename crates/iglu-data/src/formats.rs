//! File formats. To add one: a file in this folder, and a line in [`FORMATS`].
//!
//! The format is found by content, never by the file's name. What is not recognised is named if it is something
//! well known, with the way out.

mod authors;
mod class_map;
mod counts;
pub mod facebook100;
mod geom_gcn;
mod graphsage;
mod graphsaint;
pub mod gz;
pub mod json;
pub mod lines;
pub mod mat;
pub mod mirror;
mod musae;
mod node_link;
pub mod npy;
pub mod npz;
pub mod numbering;
mod ogb;
pub mod pickle;
pub mod plain;
mod planetoid;
mod ppi;
pub mod scipy_npz;
pub mod shchur;
pub mod store;
mod structure;
pub mod table;
pub mod yandex;

use crate::{Limits, LoadOptions, Purpose, quoted};
use iglu::run::Outline;
use iglu::{Dataset, Error, Labels, Result, Split};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// A form in which datasets lie on disks.
pub struct Format {
    /// Name for people.
    pub name: &'static str,
    /// Whether this is one.
    pub detect: fn(&Place) -> bool,
    /// Reads it.
    pub read: fn(&Path, &LoadOptions) -> Result<Dataset>,
    /// Its counts before it is read, where they can be had; what is not known counts as nothing.
    pub outline: fn(&Path, &LoadOptions) -> Option<Outline>,
    /// Whether its files number the nodes, so that [`LoadOptions::one_based`] means something.
    pub numbered: bool,
}

/// All formats, tried from the top: what asks for more comes first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "iglu store",
        detect: store::detect,
        read: store::read,
        outline: store::outline,
        numbered: false,
    },
    Format {
        name: "Planetoid",
        detect: planetoid::detect,
        read: planetoid::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format { name: "OGB", detect: ogb::detect, read: ogb::read, outline: counts::unknown, numbered: true },
    Format {
        name: "IGLU's scripts",
        detect: authors::detect,
        read: authors::read,
        outline: counts::unknown,
        numbered: true,
    },
    Format {
        name: "GraphSAINT",
        detect: graphsaint::detect,
        read: graphsaint::read,
        outline: graphsaint::outline,
        numbered: false,
    },
    Format {
        name: "GraphSAGE",
        detect: graphsage::detect,
        read: graphsage::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format {
        name: "DGL's PPI",
        detect: ppi::detect,
        read: ppi::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format {
        name: "MUSAE",
        detect: musae::detect,
        read: musae::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format {
        name: "Geom-GCN",
        detect: geom_gcn::detect,
        read: geom_gcn::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format {
        name: "Facebook100 mat",
        detect: facebook100::detect,
        read: facebook100::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format {
        name: "Shchur npz",
        detect: shchur::detect,
        read: shchur::read,
        outline: counts::unknown,
        numbered: false,
    },
    Format {
        name: "heterophilous npz",
        detect: yandex::detect,
        read: yandex::read,
        outline: yandex::outline,
        numbered: true,
    },
    Format {
        name: "plain npz",
        detect: plain::detect,
        read: plain::read,
        outline: plain::outline,
        numbered: true,
    },
    Format {
        name: "tables (csv, tsv, Parquet)",
        detect: table::detect,
        read: table::read,
        outline: counts::unknown,
        numbered: true,
    },
];

/// What is seen of a path before anybody reads it.
pub struct Place {
    /// The path.
    pub path: PathBuf,
    /// The first bytes of a file; nothing for a folder.
    pub head: Vec<u8>,
    /// Names of the arrays of an .npz file.
    pub keys: Vec<String>,
    /// Names of what is in a folder, sorted; nothing for a file.
    pub entries: Vec<String>,
}

impl Place {
    /// Bytes of [`Place::head`].
    const HEAD: u64 = 512;

    /// Looks at a path.
    pub fn look(path: &Path) -> Result<Self> {
        let mut place =
            Self { path: path.to_path_buf(), head: Vec::new(), keys: Vec::new(), entries: Vec::new() };
        if path.is_dir() {
            place.entries = list(path)?;
            return Ok(place);
        }
        open_file(path)?.take(Self::HEAD).read_to_end(&mut place.head).map_err(|e| unreadable(path, &e))?;
        if place.is_zip()
            && let Ok(npz) = npz::Npz::new(BufReader::new(open_file(path)?), Limits::default())
        {
            place.keys = npz.keys().into_iter().map(str::to_string).collect();
        }
        Ok(place)
    }

    /// Whether this is a zip archive; empty ones count.
    pub fn is_zip(&self) -> bool {
        self.head.starts_with(b"PK\x03\x04") || self.head.starts_with(b"PK\x05\x06")
    }

    /// Whether there is an array of this name.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.iter().any(|k| k == key)
    }

    /// Whether the folder holds something of this name.
    pub fn has_entry(&self, name: &str) -> bool {
        self.entries.iter().any(|e| e == name)
    }
}

/// Names in a folder, sorted.
fn list(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        let entry = entry.map_err(|e| unreadable(folder, &e))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// The counts of the dataset at `path`, where they can be had without reading it.
pub(crate) fn outline(path: &Path, options: &LoadOptions) -> Option<Outline> {
    let place = Place::look(path).ok()?;
    let format = FORMATS.iter().find(|f| (f.detect)(&place))?;
    (format.outline)(path, options)
}

/// Reads the dataset at `path` in whichever format it is.
pub fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let place = Place::look(path).map_err(|e| e.within(&quoted(path)))?;
    match FORMATS.iter().find(|f| (f.detect)(&place)) {
        Some(format) => {
            let mut data = (format.read)(path, options)?;
            if options.one_based && !format.numbered {
                data.notes
                    .push("one_based changes nothing: these files call their nodes by names".to_string());
            }
            Ok(data)
        }
        None if path.is_dir() => {
            let found = "this is a folder in no known form";
            let fix = format!("name the file inside it, or check that all its files are there; {}", known());
            Err(Error::data("", found, fix).within(&quoted(path)))
        }
        None => Err(unrecognised(&place.head, "a dataset").within(&quoted(path))),
    }
}

/// The last check of a dataset of several files: its parts fit together, and there is something to learn from. What has
/// no labels needs no split.
fn checked(mut data: Dataset, path: &Path, options: &LoadOptions) -> Result<Dataset> {
    if options.purpose == Purpose::Predict && data.labels.classes() == 0 {
        data.split = Split::default();
    }
    if options.purpose == Purpose::Train && data.split.train.is_empty() {
        let fix = "list at least one labelled node for training";
        return Err(Error::data(format!("{}: train", quoted(path)), "no training node", fix));
    }
    data.validate().map_err(|e| e.within(&quoted(path)))?;
    Ok(data)
}

/// Refuses any split but the first, where data has one split.
fn only_split(number: usize) -> Result<()> {
    if number == 0 {
        return Ok(());
    }
    let found = format!("split {number} was asked for, but this dataset has one split, number 0");
    Err(Error::usage("split", found, "leave the split out"))
}

/// The error for one of a dataset's files that is not there.
fn missing_part(path: &Path, fix: &str) -> Error {
    Error::missing(quoted(path), "this file is not there", fix)
}

/// The file `name` of a folder; its absence is an error that says `fix`.
fn part(folder: &Path, name: &str, fix: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    if path.exists() { Ok(path) } else { Err(missing_part(&path, fix)) }
}

/// Refuses a table that a small file could make large: `rows` and `cols` come from different files.
fn refuse_too_large(rows: usize, cols: usize, size: usize, limits: Limits) -> Result<()> {
    let bytes = rows.saturating_mul(cols).saturating_mul(size) as u64;
    if bytes <= limits.max_decompressed {
        return Ok(());
    }
    let found = format!("{rows} nodes with {cols} columns each need {bytes} bytes");
    Err(Error::data("", found, "if that is meant, raise the limit: --max-decompressed GIB"))
}

/// The labels of `n` nodes of which nothing is known.
fn unknown_labels(n: usize) -> Labels {
    Labels::Classes { ids: vec![-1; n], classes: 0 }
}

/// Whether the file `path` may be left out: nothing is to be learned, and it is not there.
fn left_out(path: &Path, options: &LoadOptions) -> bool {
    options.purpose == Purpose::Predict && !path.exists()
}

/// The folder that `path` names or that its file is in.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        _ if path.is_dir() => path.to_path_buf(),
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// What a folder is called, also where the path ends in dots.
fn folder_name(folder: &Path) -> String {
    let whole = if folder.file_name().is_none() { folder.canonicalize().ok() } else { None };
    file_name(whole.as_deref().unwrap_or(folder))
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a whole regular file.
fn read_whole(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok(bytes)
}

/// Opens a regular file; refuses folders, pipes and devices before they can block or never end.
fn open_file(path: &Path) -> Result<File> {
    let about = path.metadata().map_err(|e| unreadable(path, &e))?;
    if about.is_dir() {
        return Err(Error::data("", "this is a folder; expected a file", "name the .npz file inside it"));
    }
    if !about.is_file() {
        return Err(Error::data(
            "",
            "this is a pipe or device; expected a file",
            "copy the data to a file first",
        ));
    }
    File::open(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, e: &io::Error) -> Error {
    let fix = match path.to_str() {
        Some(name) if crate::synth::names().any(|n| n == name) => format!("did you mean `synth:{name}`?"),
        _ if e.kind() == io::ErrorKind::NotFound => {
            "check the path; a made-up graph is `synth:NAME`".to_string()
        }
        _ => "check that you may read it".to_string(),
    };
    Error::missing("", format!("cannot be read: {e}"), fix)
}

const LFS_POINTER: &[u8] = b"version https://git-lfs";

/// Beginnings of files that people give by mistake: bytes, what they are, the way out.
const WELL_KNOWN: &[(&[u8], &str, &str)] = &[
    (
        npy::MAGIC,
        "a single .npy array",
        "put all arrays into one file: np.savez(\"data.npz\", edges=..., x=..., ...)",
    ),
    (b"PK", "a zip archive (.npz)", "read it as a dataset; one array alone is an .npy file"),
    (b"\x1f\x8b", "a gzip file", "unpack it first"),
    (b"\x89HDF", "an HDF5 file", "convert it: np.savez(\"data.npz\", edges=..., x=..., ...)"),
    (b"PAR1", "a Parquet file", "convert it: np.savez(\"data.npz\", edges=..., x=..., ...)"),
    (b"\x80\x02", "a Python pickle", "pickles can run code and are not read; convert with np.savez"),
    (b"\x80\x03", "a Python pickle", "pickles can run code and are not read; convert with np.savez"),
    (b"\x80\x04", "a Python pickle", "pickles can run code and are not read; convert with np.savez"),
    (b"MATLAB 5.0", "a MATLAB file", "convert it: scipy.io.loadmat, then np.savez"),
    (LFS_POINTER, "a Git LFS pointer, not the file itself", "run `git lfs pull`"),
];

/// The error for bytes that are not `expected`; names what they seem to be.
pub(crate) fn unrecognised(head: &[u8], expected: &str) -> Error {
    if head.is_empty() {
        return Error::data("", "0 bytes: the file is empty", "the download failed; fetch it again");
    }
    if looks_like_html(head) {
        let found = format!("starts with {}, looks like HTML: the download failed", shown(head));
        return Error::data("", found, "fetch the file itself, not the page about it");
    }
    if let Some((_, what, fix)) = WELL_KNOWN.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Error::data("", format!("this is {what}; expected {expected}"), *fix);
    }
    Error::data("", format!("starts with {}, which is not {expected}", shown(head)), known())
}

/// All formats, for messages.
fn known() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    format!("known formats: {}", names.join(", "))
}

/// Refuses what downloads leave in place of a file: a page or a pointer.
fn refuse_stand_in(head: &[u8], expected: &str) -> Result<()> {
    let stand_in = looks_like_html(head) || head.starts_with(LFS_POINTER);
    if stand_in { Err(unrecognised(head, expected)) } else { Ok(()) }
}

fn looks_like_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let text = text[..text.len().min(16)].to_ascii_lowercase();
    [&b"<!doctype"[..], b"<html", b"<head", b"<?xml", b"<body"].iter().any(|tag| text.starts_with(tag))
}

/// The first 16 bytes, readable.
fn shown(head: &[u8]) -> String {
    format!("\"{}\"", head[..head.len().min(16)].escape_ascii())
}
