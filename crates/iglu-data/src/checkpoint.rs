//! Checkpoints in files, two generations of them: `last.checkpoint` and, before it, `previous.checkpoint`.
//!
//! ```text
//! magic "IGLUCKPT" | version u32 | CRC-32 of all that follows u32 | length of the notes u64 | notes, JSON | safetensors
//! ```
//!
//! A file is written whole and moved into place; the generation before it is moved aside first. Whatever instant a
//! crash comes at, one of the two is whole, and the checksum tells which.

use crate::fingerprint::Fingerprint;
use crate::weights::{self, Weights};
use crate::{output, quoted};
use iglu::checkpoint::{Checkpoint, Notes};
use iglu::network::Network;
use iglu::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The newest generation.
pub const LAST: &str = "last.checkpoint";
/// The one before it.
pub const PREVIOUS: &str = "previous.checkpoint";

const MAGIC: &[u8; 8] = b"IGLUCKPT";
/// Version written, and the newest that is read.
const VERSION: u32 = 1;
/// Magic, version and checksum.
const HEAD: usize = 16;

/// What a run needs besides what is in its [`Checkpoint`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The data, as named by the user.
    pub source: String,
    /// The data itself.
    pub data: Fingerprint,
    /// Bytes of the events that belong to the epochs so far.
    pub events: u64,
}

/// A checkpoint read back.
#[derive(Debug, Clone)]
pub struct Found {
    /// The run.
    pub checkpoint: Checkpoint,
    /// What was around it.
    pub around: Surroundings,
    /// What is to be told: why it is not the newest one.
    pub note: Option<String>,
}

#[derive(Serialize)]
struct Written<'a> {
    around: &'a Surroundings,
    notes: &'a Notes,
}

#[derive(Deserialize)]
struct Read {
    around: Surroundings,
    notes: Notes,
}

/// Writes the newest generation; on any failure there is still a whole one.
pub fn save(folder: &Path, checkpoint: &Checkpoint, around: &Surroundings) -> Result<()> {
    let path = folder.join(LAST);
    let body = Body::new(checkpoint, around).map_err(|e| e.within(&quoted(&path)))?;
    output::replace_keeping(&path, &folder.join(PREVIOUS), |sink| body.write_file(sink))
}

/// Reads the newest generation that is whole. Nothing, if there is none at all.
pub fn load(folder: &Path) -> Result<Option<Found>> {
    let newest = folder.join(LAST);
    let damage = match read(&newest) {
        Ok(Some(found)) => return Ok(Some(found)),
        Ok(None) => None,
        Err(e) => Some(e),
    };
    let older = read(&folder.join(PREVIOUS));
    match (damage, older) {
        (damage, Ok(Some(found))) => {
            let why = damage.map_or_else(
                || format!("{}: not there", quoted(&newest)),
                |e| e.to_string().lines().next().unwrap_or_default().to_string(),
            );
            let ran = found.checkpoint.notes.ran;
            let note = format!("{why}; going on from the checkpoint before it, after epoch {ran}");
            Ok(Some(Found { note: Some(note), ..found }))
        }
        (Some(e), _) | (None, Err(e)) => Err(e),
        (None, Ok(None)) => Ok(None),
    }
}

/// Removes both generations.
pub fn remove(folder: &Path) -> Result<()> {
    [LAST, PREVIOUS].iter().try_for_each(|name| output::remove(&folder.join(name)))
}

/// All that follows the head.
struct Body<'a> {
    notes: Vec<u8>,
    weights: Weights<'a>,
}

impl<'a> Body<'a> {
    fn new(checkpoint: &'a Checkpoint, around: &Surroundings) -> Result<Self> {
        let written = Written { around, notes: &checkpoint.notes };
        let notes = serde_json::to_vec(&written).map_err(|e| weights::unwritable(&e))?;
        Ok(Self { notes, weights: Weights::new(checkpoint.tensors(), None)? })
    }

    fn write(&self, sink: &mut impl Write) -> io::Result<()> {
        sink.write_all(&(self.notes.len() as u64).to_le_bytes())?;
        sink.write_all(&self.notes)?;
        self.weights.write(sink)
    }

    /// The whole file; the body goes twice over its numbers, first for the checksum.
    fn write_file(&self, sink: &mut impl Write) -> io::Result<()> {
        let mut sum = Checksum::default();
        self.write(&mut sum)?;
        sink.write_all(MAGIC)?;
        sink.write_all(&VERSION.to_le_bytes())?;
        sink.write_all(&sum.0.finalize().to_le_bytes())?;
        self.write(sink)
    }
}

/// The CRC-32 of what is written to it.
#[derive(Default)]
struct Checksum(crc32fast::Hasher);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read(path: &PathBuf) -> Result<Option<Found>> {
    match fs::read(path) {
        Ok(bytes) => from_bytes(&bytes).map(Some).map_err(|e| e.within(&quoted(path))),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::missing(
            quoted(path),
            format!("cannot be read: {e}"),
            "check the path and its permissions",
        )),
    }
}

fn from_bytes(bytes: &[u8]) -> Result<Found> {
    let body = checked(bytes)?;
    let (notes, tensors) = split(body).ok_or_else(|| damaged("the notes end after the file"))?;
    let Read { around, notes } =
        serde_json::from_slice(notes).map_err(|e| damaged(&format!("notes: {e}")))?;
    notes.config.validate().map_err(|e| damaged(&e.to_string()))?;
    let header = weights::header(tensors)?;
    let weights = Network::size(&notes.config.network, &notes.shape)?;
    if weights > header.data_len() / size_of::<f32>() {
        return Err(damaged("fewer numbers than the network has"));
    }
    let checkpoint = Checkpoint::from_tensors(notes, weights::tensors(tensors, |_, _| Ok(()))?)?;
    Ok(Found { checkpoint, around, note: None })
}

/// What follows the head, once its checksum is right.
fn checked(bytes: &[u8]) -> Result<&[u8]> {
    let Some((head, body)) = bytes.split_at_checked(HEAD) else {
        return Err(damaged(&format!("only {} bytes", bytes.len())));
    };
    if !head.starts_with(MAGIC) {
        return Err(damaged(&format!("it starts with \"{}\"", head[..8].escape_ascii())));
    }
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (version, expect, found) = (number(8), number(12), crc32fast::hash(body));
    if found != expect {
        return Err(damaged(&format!("checksum {found:08x}, the head has {expect:08x}")));
    }
    if version > VERSION {
        let found = format!("version {version} of the format; this program reads up to version {VERSION}");
        return Err(Error::data("", found, "the run was begun by a newer iglu: update this one"));
    }
    if version == VERSION { Ok(body) } else { Err(damaged(&format!("version {version}"))) }
}

fn split(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = body.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn damaged(what: &str) -> Error {
    Error::data("", format!("damaged checkpoint: {what}"), "take the one before it, or train again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::faults::{Fault, under};
    use iglu::Dataset;
    use iglu::config::{Auto, Config};
    use iglu::observe::{Control, Event, Observer, Urgency};
    use iglu::run::Fit;

    fn village() -> Dataset {
        crate::load("synth:village@0.05", &crate::LoadOptions::default()).unwrap()
    }

    fn small() -> Config {
        let mut config = Config::default();
        config.network.hidden = Auto::Set(4);
        config.train.epochs = Auto::Set(4);
        config
    }

    #[derive(Default)]
    struct Keeper(Vec<Checkpoint>);

    impl Observer for Keeper {
        fn event(&mut self, _: &Event) -> Control {
            Control::Continue
        }

        fn checkpoint(&mut self, checkpoint: &Checkpoint, _: Urgency) -> Result<()> {
            self.0.push(checkpoint.clone());
            Ok(())
        }
    }

    /// The checkpoints of a small run.
    fn checkpoints() -> Vec<Checkpoint> {
        let mut keeper = Keeper::default();
        Fit::new(&small(), &village()).run(&mut keeper).unwrap();
        assert_eq!(keeper.0.len(), 3);
        keeper.0
    }

    fn around() -> Surroundings {
        Surroundings { source: "village".into(), data: Fingerprint::of(&village()), events: 17 }
    }

    fn to_bytes(checkpoint: &Checkpoint, around: &Surroundings) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Body::new(checkpoint, around)?.write_file(&mut bytes).unwrap();
        Ok(bytes)
    }

    fn ran(folder: &Path) -> Option<usize> {
        load(folder).unwrap().map(|found| found.checkpoint.notes.ran)
    }

    #[test]
    fn a_run_goes_on_from_the_file_as_from_memory() {
        let folder = crate::testing::folder("checkpoint");
        let all = checkpoints();
        assert_eq!(ran(&folder), None);
        for checkpoint in &all {
            save(&folder, checkpoint, &around()).unwrap();
            let found = load(&folder).unwrap().unwrap();
            assert_eq!((&found.around, found.note), (&around(), None));
            // All numbers come back as they were, to the last bit.
            assert_eq!(found.checkpoint.notes, checkpoint.notes);
            assert_eq!(found.checkpoint.tensors(), checkpoint.tensors());
            assert_eq!(to_bytes(&found.checkpoint, &around()).unwrap(), fs::read(folder.join(LAST)).unwrap());
        }
        fs::write(folder.join(LAST), b"IGLUCKPT").unwrap();
        let note = load(&folder).unwrap().unwrap().note.unwrap();
        let expect = "only 8 bytes; going on from the checkpoint before it, after epoch 2";
        assert!(note.contains(expect), "{note}");
        remove(&folder).unwrap();
        assert_eq!(ran(&folder), None);
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let bytes = to_bytes(&checkpoints()[1], &around()).unwrap();
        assert!(from_bytes(&bytes).is_ok());
        for length in 0..bytes.len() {
            assert!(from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes accepted", bytes.len());
        }
        let mut flipped = bytes.clone();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(checked(&flipped).is_err(), "bit {bit} flipped, and accepted");
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let bytes = to_bytes(&checkpoints()[0], &around()).unwrap();
        let check = |bytes: &[u8], expect: &str| {
            let e = from_bytes(bytes).unwrap_err();
            assert_eq!(e.exit_code(), 65);
            assert!(e.to_string().contains(expect), "{e}\nexpected {expect}");
        };
        check(b"PK\x03\x04 and some more bytes", "starts with \"PK\\x03\\x04 and\"");
        let mut newer = bytes.clone();
        newer[8] = 2;
        check(&newer, "begun by a newer iglu");
        let with = |body: &[u8]| [&bytes[..12], &crc32fast::hash(body).to_le_bytes()[..], body].concat();
        check(&with(&u64::MAX.to_le_bytes()), "the notes end after the file");
        check(&with(&[&2_u64.to_le_bytes()[..], b"{}"].concat()), "notes: missing field");
        let (notes, tensors) = split(&bytes[HEAD..]).unwrap();
        let with_notes = |change: fn(&mut serde_json::Value)| {
            let mut notes: serde_json::Value = serde_json::from_slice(notes).unwrap();
            change(&mut notes);
            let notes = notes.to_string();
            with(&[&(notes.len() as u64).to_le_bytes()[..], notes.as_bytes(), tensors].concat())
        };
        assert!(from_bytes(&with_notes(|_| ())).is_ok());
        check(&with_notes(|n| n["notes"]["config"]["network"]["hidden"] = 60_000.into()), "fewer numbers");
        check(&with_notes(|n| n["notes"]["config"]["network"]["hidden"] = 0.into()), "network.hidden: 0");
        check(
            &with_notes(|n| n["notes"]["config"]["network"]["hidden"] = 5.into()),
            "the configuration needs [",
        );
        check(&with_notes(|n| n["notes"]["engine"]["ages"] = serde_json::json!([1])), "clocks of 3 layers");
    }

    /// Every write, fsync and rename fails once; and the machine stops before each of them.
    #[test]
    fn whatever_fails_a_whole_generation_stays() {
        let all = checkpoints();
        let kinds: [fn(usize) -> Fault; 2] = [Fault::Once, Fault::From];
        for before in 0..=2 {
            for kind in kinds {
                let mut n = 0;
                loop {
                    let folder = crate::testing::folder("checkpoint-faults");
                    all[..before].iter().for_each(|c| save(&folder, c, &around()).unwrap());
                    let (result, steps) = under(kind(n), || save(&folder, &all[before], &around()));
                    let found = ran(&folder);
                    if let Err(e) = result {
                        assert_eq!(e.exit_code(), 74);
                        let old = (before > 0).then_some(before);
                        assert!(found == old || found == Some(before + 1), "step {n}: {found:?}, {e}");
                        save(&folder, &all[before], &around()).unwrap();
                        assert_eq!(ran(&folder), Some(before + 1), "the next one goes well");
                    } else {
                        assert_eq!(found, Some(before + 1));
                    }
                    n += 1;
                    if n > steps {
                        break;
                    }
                }
                assert!(n > 6, "creating, writing, flushing, syncing, renaming, syncing: {n}");
            }
        }
    }
}
