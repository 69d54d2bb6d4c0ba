//! Arrays of words, as NumPy keeps names: `<U7` (UTF-32) or `|S7` (bytes), filled up with zeros.

use super::{check_length, header, tuple, unusable};
use iglu::{Error, Names, Result};

/// How the words of an array are written.
struct Writing {
    /// Bytes per word.
    size: usize,
    letters: Letters,
}

enum Letters {
    Bytes,
    Little,
    Big,
}

impl Writing {
    /// Reads NumPy's short form of a type, such as `<U7`.
    fn parse(descr: &[u8]) -> Result<Self> {
        let (letters, digits) = match descr {
            [b'|' | b'<', b'S', digits @ ..] => (Letters::Bytes, digits),
            [b'<', b'U', digits @ ..] => (Letters::Little, digits),
            [b'>', b'U', digits @ ..] => (Letters::Big, digits),
            _ => return Err(unusable(descr, descr.strip_prefix(b"|").unwrap_or(descr))),
        };
        let bytes = if matches!(letters, Letters::Bytes) { 1 } else { 4 };
        match std::str::from_utf8(digits).unwrap_or_default().parse::<u32>() {
            Ok(length @ 1..) => Ok(Self { size: bytes * length as usize, letters }),
            _ => Err(unusable(descr, b"")),
        }
    }

    fn word(&self, bytes: &[u8]) -> String {
        let letter = |code: u32| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let codes = bytes.as_chunks().0.iter().copied();
        let mut word: String = match self.letters {
            Letters::Bytes => String::from_utf8_lossy(bytes).into_owned(),
            Letters::Little => codes.map(u32::from_le_bytes).map(letter).collect(),
            Letters::Big => codes.map(u32::from_be_bytes).map(letter).collect(),
        };
        word.truncate(word.trim_end_matches('\0').len());
        word
    }
}

/// The words of a whole .npy file that holds a list of them; `None` for pickled objects, which are not opened.
pub(in crate::formats) fn words(bytes: &[u8]) -> Result<Option<Names>> {
    let header = header::parse(bytes)?;
    if header.descr == b"|O" {
        return Ok(None);
    }
    if header.shape.len() != 1 {
        let found = format!("{} words; expected one dimension", tuple(&header.shape));
        return Err(Error::data("", found, "save a flat list of names"));
    }
    all(bytes, &header).map(Some)
}

/// The one word that an .npy file holds, such as the format of a saved sparse matrix.
pub(in crate::formats) fn word(bytes: &[u8]) -> Result<String> {
    let words = all(bytes, &header::parse(bytes)?)?;
    if words.len() == 1 {
        return Ok(words.get(0).to_string());
    }
    let found = format!("{} words; expected one", words.len());
    Err(Error::data("", found, "the file is damaged; save or fetch it again"))
}

fn all(bytes: &[u8], header: &header::Header<'_>) -> Result<Names> {
    let writing = Writing::parse(header.descr)?;
    let body = &bytes[header.body..];
    check_length(&"words", writing.size, &header.shape, body.len())?;
    Ok(body.chunks_exact(writing.size).map(|word| writing.word(word)).collect())
}
