//! What a Parquet file declares, checked against its bytes before the library believes it.

use super::super::PARQUET;
use super::{DAMAGED, thrift};
use crate::Limits;
use ::parquet::basic::{Compression, Type};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use iglu::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Snappy writes at most 64 bytes for 3, so a page expands by less than this.
const SNAPPY: u64 = 24;
/// Encodings that are read: plain, dictionary (two numbers for one), run lengths.
const ENCODINGS: [i64; 4] = [0, 2, 8, 3];
const PLAIN_TABLE: &str = "save a plain table: df.to_parquet(path) with columns of numbers and text";

/// Field ids of Parquet's structures.
mod field {
    /// `FileMetaData.schema[].num_children`.
    pub const CHILDREN: &[i16] = &[2, 0, 5];
    /// `PageHeader.uncompressed_page_size`, `compressed_page_size`.
    pub const UNPACKED: &[i16] = &[2];
    pub const PACKED: &[i16] = &[3];
    /// `PageHeader.dictionary_page_header.num_values`.
    pub const DICTIONARY_VALUES: &[i16] = &[7, 1];
    /// The encodings of the values of data pages (two versions) and of a dictionary.
    pub const ENCODINGS: [&[i16]; 3] = [&[5, 2], &[8, 4], &[7, 2]];
}

fn damaged(found: impl Into<String>) -> Error {
    Error::data("", found, DAMAGED)
}

/// Refuses files without a whole footer, and schemas with nested columns.
pub fn check_schema(file: &mut File) -> Result<()> {
    let footer = footer(file)?;
    let (mut first, mut nested) = (true, false);
    let end = thrift::walk(&footer, |path, value| {
        if path == field::CHILDREN {
            // The first element is the table itself.
            nested |= !first && value != 0;
            first = false;
        }
    });
    match end {
        None => Err(damaged("the footer is malformed")),
        Some(_) if nested => Err(Error::data("", "columns inside columns", PLAIN_TABLE)),
        Some(_) => Ok(()),
    }
}

/// The description of the table at the end of the file.
fn footer(file: &mut File) -> Result<Vec<u8>> {
    let cut =
        || Error::data("", "the end of the file is missing", "the download was cut short; fetch it again");
    let size = file.seek(SeekFrom::End(0)).map_err(|e| unreadable(&e))?;
    let mut tail = [0; 8];
    let tail_at = size.checked_sub(8).ok_or_else(cut)?;
    read_at(file, tail_at, &mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != *PARQUET {
        return Err(cut());
    }
    let length = u32::from_le_bytes([a, b, c, d]);
    let Some(start) = tail_at.checked_sub(length.into()).filter(|&start| start >= 4) else {
        return Err(damaged(format!("a footer of {length} bytes is declared, the file has {size}")));
    };
    let mut bytes = vec![0; length as usize];
    read_at(file, start, &mut bytes)?;
    Ok(bytes)
}

fn unreadable(e: &std::io::Error) -> Error {
    Error::missing("", format!("cannot be read: {e}"), "check the disk and that you may read it")
}

fn read_at(file: &mut File, at: u64, into: &mut [u8]) -> Result<()> {
    let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(into));
    read.map_err(|e| unreadable(&e))
}

/// Walks the pages of all columns.
pub fn check_chunks(file: &mut File, metadata: &ParquetMetaData, limits: Limits) -> Result<()> {
    let size = file.seek(SeekFrom::End(0)).map_err(|e| unreadable(&e))?;
    let (mut left, mut packed) = (limits.max_decompressed, 0_u64);
    for group in metadata.row_groups() {
        for chunk in group.columns() {
            let within = |e: Error| e.within(&format!("column `{}`", chunk.column_descr().name()));
            packed = packed.saturating_add(chunk.byte_range().1);
            if packed > size {
                return Err(damaged(format!("columns of {packed} bytes are declared, the file has {size}")));
            }
            check_chunk(file, size, chunk, &mut left).map_err(within)?;
        }
    }
    Ok(())
}

fn check_chunk(file: &mut File, size: u64, chunk: &ColumnChunkMetaData, left: &mut u64) -> Result<()> {
    let packed_by = match chunk.compression() {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => SNAPPY,
        other => {
            let found = format!("packed with {other}; snappy or no packing is read");
            return Err(Error::data("", found, "save it with compression=\"snappy\""));
        }
    };
    let (start, length) = chunk.byte_range();
    if start.checked_add(length).is_none_or(|end| end > size) {
        return Err(damaged(format!("{length} bytes at byte {start} are declared, the file has {size}")));
    }
    let mut bytes = vec![0; length as usize];
    read_at(file, start, &mut bytes)?;
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let page = Page::read(rest).ok_or_else(|| damaged("the header of a page is malformed"))?;
        page.check(chunk.column_type(), packed_by, left)?;
        let behind =
            usize::try_from(page.packed).ok().and_then(|packed| rest.get(page.header..)?.get(packed..));
        rest = behind
            .ok_or_else(|| damaged(format!("a page of {} bytes reaches beyond its column", page.packed)))?;
    }
    Ok(())
}

/// What the header of a page declares.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    header: usize,
    packed: i64,
    unpacked: i64,
    dictionary: i64,
    encoding: i64,
}

impl Page {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut page = Self { packed: -1, unpacked: -1, ..Self::default() };
        page.header = thrift::walk(bytes, |path, value| match path {
            field::UNPACKED => page.unpacked = value,
            field::PACKED => page.packed = value,
            field::DICTIONARY_VALUES => page.dictionary = value,
            path if field::ENCODINGS.contains(&path) => page.encoding = value,
            _ => {}
        })?;
        Some(page)
    }

    fn check(&self, kind: Type, packed_by: u64, left: &mut u64) -> Result<()> {
        let (Ok(packed), Ok(unpacked)) = (u64::try_from(self.packed), u64::try_from(self.unpacked)) else {
            return Err(damaged("a page without a size"));
        };
        if unpacked > packed.saturating_mul(packed_by) + 64 {
            return Err(damaged(format!("a page of {packed} bytes that declares {unpacked} unpacked")));
        }
        let bytes_per_value = match kind {
            Type::INT64 | Type::DOUBLE => 8,
            _ => 4,
        };
        if self.dictionary < 0 || (self.dictionary as u64).saturating_mul(bytes_per_value) > unpacked {
            let found = format!("a dictionary of {} values in {unpacked} bytes", self.dictionary);
            return Err(damaged(found));
        }
        if !ENCODINGS.contains(&self.encoding) {
            let found = format!("encoding {}; plain values and dictionaries are read", self.encoding);
            return Err(Error::data("", found, PLAIN_TABLE));
        }
        *left = left.checked_sub(unpacked).ok_or_else(|| {
            let found = "unpacks to more than the limit for one file";
            Error::data("", found, "if you trust the file, raise the limit: --max-decompressed GIB")
        })?;
        Ok(())
    }
}
