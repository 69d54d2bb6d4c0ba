//! Files that may be packed with gzip, unpacked as they are read; others are read as they are.
//!
//! Guards: unpacked bytes, data cut short, bytes after the end, checksums. Several packed pieces in one file
//! follow each other, as in gzip itself. Whoever reads turns the I/O errors back with [`cause`].

use crate::Limits;
use flate2::bufread::GzDecoder;
use iglu::{Error, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// First byte of packed data; plain text and JSON never start with it.
const MAGIC: u8 = 0x1f;
const BUFFER: usize = 256 << 10;

/// A file as its unpacked bytes.
pub struct Unpacked<R = BufReader<File>> {
    state: State<R>,
    left: u64,
    limits: Limits,
}

enum State<R> {
    Plain(R),
    Packed(Box<GzDecoder<R>>),
    End,
}

impl Unpacked {
    /// Opens the regular file at `path`.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        let file = super::open_file(path)?;
        let length = file.metadata().map_or(BUFFER as u64, |about| about.len());
        let buffer = (length.min(BUFFER as u64) as usize).max(64);
        Self::new(BufReader::with_capacity(buffer, file), limits)
    }
}

impl<R: BufRead> Unpacked<R> {
    /// Looks at the first byte to see whether there is anything to unpack.
    pub fn new(mut reader: R, limits: Limits) -> Result<Self> {
        let packed = reader.fill_buf().map_err(cause)?.first() == Some(&MAGIC);
        let state =
            if packed { State::Packed(Box::new(GzDecoder::new(reader))) } else { State::Plain(reader) };
        Ok(Self { state, left: limits.max_decompressed, limits })
    }

    /// Goes on with the next packed piece, or to the end.
    fn next_piece(&mut self) -> io::Result<()> {
        let State::Packed(done) = std::mem::replace(&mut self.state, State::End) else { return Ok(()) };
        let mut reader = done.into_inner();
        match reader.fill_buf()? {
            [] => {}
            [MAGIC, ..] => self.state = State::Packed(Box::new(GzDecoder::new(reader))),
            rest => return Err(io::Error::other(trailing(rest))),
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> io::Result<()> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(too_large(self.limits))),
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                State::Plain(reader) => return reader.read(into),
                State::End => return Ok(0),
                State::Packed(reader) => {
                    let count = reader.read(into).map_err(|e| io::Error::other(damaged(&e)))?;
                    if count > 0 || into.is_empty() {
                        self.spend(count)?;
                        return Ok(count);
                    }
                    self.next_piece()?;
                }
            }
        }
    }
}

/// The first bytes of a file as they are unpacked, as far as the first packed bytes reach.
pub fn peek(head: &[u8]) -> Vec<u8> {
    const MOST: u64 = 4 << 10;
    if head.first() != Some(&MAGIC) {
        return head.to_vec();
    }
    let mut bytes = Vec::new();
    // The head is a part of the file, so the data end too early.
    let _ = GzDecoder::new(head).take(MOST).read_to_end(&mut bytes);
    bytes
}

/// The error behind an I/O error of an [`Unpacked`] file.
pub fn cause(e: io::Error) -> Error {
    match e.downcast::<Error>() {
        Ok(error) => error,
        Err(e) => {
            Error::missing("", format!("cannot be read: {e}"), "check the disk and that you may read it")
        }
    }
}

fn damaged(e: &io::Error) -> Error {
    if e.kind() == io::ErrorKind::UnexpectedEof {
        let found = "the gzip data end before they are complete";
        return Error::data("", found, "the download was cut short; fetch it again");
    }
    Error::data("", format!("cannot be unpacked: {e}"), "the file is damaged; fetch it again")
}

fn trailing(rest: &[u8]) -> Error {
    let found = format!("after the gzip data the file goes on with {}", super::shown(rest));
    Error::data("", found, "the file is damaged; fetch it again")
}

fn too_large(limits: Limits) -> Error {
    let limit = limits.max_decompressed as f64 / (1_u64 << 30) as f64;
    let found = format!("unpacks to more than the limit of {limit:.1} GiB");
    Error::data("", found, "if you trust the file, raise the limit: --max-decompressed GIB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Unpacked::new(bytes, Limits { max_decompressed: 1 << 20 })?.read_to_end(&mut out).map_err(cause)?;
        Ok(out)
    }

    fn says(bytes: &[u8], expect: &str) {
        let e = unpacked(bytes).unwrap_err();
        assert!(e.to_string().contains(expect), "{e}");
        assert_eq!(e.exit_code(), 65);
    }

    #[test]
    fn packed_and_plain_bytes_come_out_equal() {
        let text = b"0,1\n1,2\n".repeat(1000);
        assert_eq!(unpacked(&text).unwrap(), text);
        assert_eq!(unpacked(&packed(&text)).unwrap(), text);
        assert_eq!(
            unpacked(&[packed(&text), packed(b"2,3\n")].concat()).unwrap(),
            [&text[..], b"2,3\n"].concat()
        );
        assert_eq!(unpacked(&[]).unwrap(), b"");
        assert_eq!(unpacked(&packed(b"")).unwrap(), b"");
    }

    #[test]
    fn damage_is_named() {
        let good = packed(&b"0,1\n1,2\n".repeat(1000));
        for cut in 1..good.len() {
            says(&good[..cut], "end before they are complete");
        }
        says(&[&good[..], b"trailing garbage"].concat(), "goes on with \"trailing garbage\"");
        let mut flipped = good.clone();
        let crc = good.len() - 8;
        flipped[crc] ^= 1;
        says(&flipped, "cannot be unpacked: corrupt gzip stream does not have a matching checksum");
    }

    #[test]
    fn bombs_stop_at_the_limit() {
        let bomb = packed(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1 << 17);
        says(&bomb, "unpacks to more than the limit");
        // Neither do many small pieces pass.
        says(&packed(&vec![0; 600 << 10]).repeat(2), "unpacks to more than the limit");
    }
}
