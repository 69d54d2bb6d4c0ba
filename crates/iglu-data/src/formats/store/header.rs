//! Header and table of a store: where its sections are, and the checksums of them.

use iglu::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;

/// First bytes of every store; a transfer as text damages them.
pub(super) const MAGIC: [u8; 8] = *b"\x89IGLU\r\n\x1a";
/// Newest version that is read; written where nodes have another order than in the file they came from.
pub(super) const VERSION: u32 = 2;
/// Version written where they have not, for programs that do not know of the other.
const PLAIN_VERSION: u32 = 1;
/// Bytes of the header.
pub(super) const HEADER: usize = 64;
/// Sections start at multiples of this.
pub(super) const ALIGN: u64 = 64;
/// Bytes of an entry of the table.
const ENTRY: usize = 32;
/// More than any dataset has.
const MOST_SECTIONS: u32 = 1 << 16;

const DAMAGED: &str = "the file is damaged; convert the data again, or fetch it again";

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(super) enum Kind {
    /// JSON: names and counts.
    About = 1,
    /// u64: row offsets of a graph.
    Offsets,
    /// u32: its neighbour lists.
    Neighbours,
    /// f32: their weights.
    Weights,
    /// f32: features, row by row.
    Dense,
    /// u64: row offsets of sparse features.
    SparseOffsets,
    /// u32: their columns.
    SparseIndices,
    /// f32: their values.
    SparseValues,
    /// i32: class of each node.
    Classes,
    /// i8: labels of each node, row by row.
    Labels,
    /// u32: train, val and test of each split, one after the other.
    Splits,
    /// UTF-8: names of the nodes, one after the other.
    NodeLetters,
    /// u64: where each of them ends.
    NodeEnds,
    /// UTF-8: names of the classes.
    ClassLetters,
    /// u64: where each of them ends.
    ClassEnds,
    /// u32: number of each node in the file that the store was made of; from version 2 on.
    Order,
}

impl Kind {
    const ALL: [Self; 16] = [
        Self::About,
        Self::Offsets,
        Self::Neighbours,
        Self::Weights,
        Self::Dense,
        Self::SparseOffsets,
        Self::SparseIndices,
        Self::SparseValues,
        Self::Classes,
        Self::Labels,
        Self::Splits,
        Self::NodeLetters,
        Self::NodeEnds,
        Self::ClassLetters,
        Self::ClassEnds,
        Self::Order,
    ];

    fn of(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == code)
    }
}

/// One array of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    pub kind: Kind,
    /// 0, or the number of a kind of edges.
    pub number: u32,
    pub start: u64,
    /// In bytes, without padding.
    pub length: u64,
    /// Of the bytes and their padding.
    pub checksum: u32,
}

impl Section {
    /// The array.
    pub fn bytes(&self) -> Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }

    /// The array and its padding.
    pub fn padded(&self) -> Range<usize> {
        self.start as usize..self.end() as usize
    }

    /// Where the next section starts.
    pub fn end(&self) -> u64 {
        self.start + self.length.next_multiple_of(ALIGN)
    }

    /// For messages.
    pub fn name(&self) -> String {
        let number = if self.number > 0 { format!(" {}", self.number) } else { String::new() };
        format!("section {:?}{number}", self.kind)
    }

    /// Reads the whole section and compares its checksum.
    pub fn verify(&self, file: &[u8]) -> Result<()> {
        let found = checksum(&file[self.padded()]);
        if found == self.checksum {
            return Ok(());
        }
        let found = format!("checksum {found:08x}, the table has {:08x}", self.checksum);
        Err(Error::data(self.name(), found, DAMAGED))
    }
}

/// CRC-32 of a long stretch of bytes, on all threads.
fn checksum(bytes: &[u8]) -> u32 {
    const PIECE: usize = 8 << 20;
    let hash = |piece: &[u8]| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(piece);
        hasher
    };
    let pieces: Vec<_> = bytes.par_chunks(PIECE).map(hash).collect();
    let mut all = crc32fast::Hasher::new();
    pieces.iter().for_each(|piece| all.combine(piece));
    all.finalize()
}

/// Where the first section of `count` starts.
pub(super) fn first_section(count: usize) -> u64 {
    ((HEADER + count * ENTRY) as u64).next_multiple_of(ALIGN)
}

/// Header and table, up to the first section.
pub(super) fn write(sections: &[Section]) -> Vec<u8> {
    let start = first_section(sections.len());
    let length = sections.last().map_or(start, Section::end);
    let mut table = Vec::with_capacity(start as usize - HEADER);
    for section in sections {
        table.extend((section.kind as u32).to_le_bytes());
        table.extend(section.number.to_le_bytes());
        table.extend(section.start.to_le_bytes());
        table.extend(section.length.to_le_bytes());
        table.extend(section.checksum.to_le_bytes());
        table.extend([0; 4]);
    }
    table.resize(start as usize - HEADER, 0);
    let mut out = Vec::with_capacity(start as usize);
    out.extend(MAGIC);
    let ordered = sections.iter().any(|section| section.kind == Kind::Order);
    let version = if ordered { VERSION } else { PLAIN_VERSION };
    out.extend(version.to_le_bytes());
    out.extend((sections.len() as u32).to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(crc32fast::hash(&table).to_le_bytes());
    out.resize(HEADER - 4, 0);
    out.extend(crc32fast::hash(&out).to_le_bytes());
    out.extend(table);
    out
}

/// A whole number at a place of the file.
fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(word(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(word(bytes, at))
}

/// Checks the header of a file; says where the table is.
pub(super) fn parse_header(header: &[u8; HEADER], length: u64) -> Result<Header> {
    let damaged = |found: String| Err(Error::data("header", found, DAMAGED));
    if header[..8] != MAGIC {
        let found = format!("starts with \"{}\", not as a store: sent as text?", header[..8].escape_ascii());
        return Err(Error::data("header", found, "send the file in binary mode"));
    }
    let (found, expected) = (crc32fast::hash(&header[..HEADER - 4]), u32_at(header, HEADER - 4));
    if found != expected {
        return damaged(format!("checksum {found:08x}, the header has {expected:08x}"));
    }
    let (version, sections) = (u32_at(header, 8), u32_at(header, 12));
    if version > VERSION {
        let found = format!("version {version} of the store; this program reads up to version {VERSION}");
        return Err(Error::data("header", found, "the file was made by a newer iglu: update this one"));
    }
    if u64_at(header, 16) != length {
        return damaged(format!("declares {} bytes, the file has {length}", u64_at(header, 16)));
    }
    if sections > MOST_SECTIONS || first_section(sections as usize) > length {
        return damaged(format!("declares {sections} sections in {length} bytes"));
    }
    let end = first_section(sections as usize) as usize;
    Ok(Header { table: HEADER..end, sections: sections as usize, checksum: u32_at(header, 24) })
}

/// What the header says.
pub(super) struct Header {
    /// Where the table is, with its padding.
    pub table: Range<usize>,
    sections: usize,
    checksum: u32,
}

impl Header {
    /// Reads the table; its sections follow each other without gaps to the end of the file.
    pub fn parse_table(&self, file: &[u8]) -> Result<Vec<Section>> {
        let damaged = |found: String| Error::data("table", found, DAMAGED);
        let table = &file[self.table.clone()];
        let found = crc32fast::hash(table);
        if found != self.checksum {
            return Err(damaged(format!("checksum {found:08x}, the header has {:08x}", self.checksum)));
        }
        let mut end = self.table.end as u64;
        let mut sections = Vec::with_capacity(self.sections);
        for entry in table.chunks_exact(ENTRY).take(self.sections) {
            let section =
                parse_entry(entry).ok_or_else(|| damaged("an unknown kind of section".to_string()))?;
            let room = file.len() as u64 - end;
            if section.start != end || section.length > room || section.end() > file.len() as u64 {
                let found = format!("{} is not where it should be", section.name());
                return Err(damaged(found));
            }
            end = section.end();
            sections.push(section);
        }
        if end != file.len() as u64 {
            return Err(damaged(format!("the sections end at {end}, the file at {}", file.len())));
        }
        Ok(sections)
    }
}

fn parse_entry(entry: &[u8]) -> Option<Section> {
    Some(Section {
        kind: Kind::of(u32_at(entry, 0))?,
        number: u32_at(entry, 4),
        start: u64_at(entry, 8),
        length: u64_at(entry, 16),
        checksum: u32_at(entry, 24),
    })
}
