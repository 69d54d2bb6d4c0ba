//! Tables in Parquet files: columns of whole numbers, numbers, truth values and text, not packed or packed with snappy.
//!
//! The library that reads them believes what a file declares, and panics or takes memory for it. So the file is walked
//! first (`thrift.rs`, `pages.rs`): nested columns, unusual encodings and sizes that the bytes cannot hold are
//! refused before the library sees them, and a panic of the library becomes an error.

mod pages;
mod thrift;

use super::value::{At, Table, Value};
use crate::formats::open_file;
use crate::{Limits, caught};
use ::parquet::basic::ConvertedType;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescPtr;
use iglu::{Error, Result};
use std::fs::File;
use std::path::Path;

/// Rows decoded at a time.
const BATCH: usize = 8 << 10;
const DAMAGED: &str = "the file is damaged; save or fetch it again";

/// A Parquet file, open.
pub struct Parquet {
    reader: SerializedFileReader<File>,
    header: Vec<String>,
}

impl Parquet {
    /// Opens the file at `path`.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        pages::check_schema(&mut open_file(path)?)?;
        let file = open_file(path)?;
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let header = schema.columns().iter().map(|column| column.name().to_string()).collect();
        guarded_check(|| pages::check_chunks(&mut open_file(path)?, reader.metadata(), limits))?;
        Ok(Self { reader, header })
    }

    /// Reads one column of one row group, whose first row is `first`.
    fn chunk(
        &self,
        group: usize,
        column: usize,
        first: usize,
        each: &mut dyn FnMut(&Value<'_>, At) -> Result<()>,
    ) -> Result<()> {
        let descr = self.reader.metadata().file_metadata().schema_descr().column(column);
        let reader = guarded(|| self.reader.get_row_group(group)?.get_column_reader(column))?;
        let rows = self.reader.metadata().row_group(group).num_rows().max(0) as usize;
        let mut cells = Cells { descr: &descr, column, first, rows, each };
        match reader {
            ColumnReader::BoolColumnReader(r) => cells.read(r, |&v, _| Ok(Value::Flag(v))),
            ColumnReader::Int32ColumnReader(r) => match descr.converted_type() {
                ConvertedType::UINT_32 => cells.read(r, |&v, _| Ok(Value::Whole((v as u32).into()))),
                _ => cells.read(r, |&v, _| Ok(Value::Whole(v.into()))),
            },
            ColumnReader::Int64ColumnReader(r) => match descr.converted_type() {
                ConvertedType::UINT_64 => cells.read(r, |&v, at| match u64::try_from(v) {
                    Ok(_) => Ok(Value::Whole(v)),
                    Err(_) => {
                        Err(Error::data(at.to_string(), format!("{} does not fit", v as u64), "check it"))
                    }
                }),
                _ => cells.read(r, |&v, _| Ok(Value::Whole(v))),
            },
            ColumnReader::FloatColumnReader(r) => cells.read(r, |&v, _| Ok(Value::Number(v.into()))),
            ColumnReader::DoubleColumnReader(r) => cells.read(r, |&v, _| Ok(Value::Number(v))),
            ColumnReader::ByteArrayColumnReader(r) => cells.read(r, |v, _| Ok(text(v.data()))),
            _ => Err(self.unusable(column)),
        }
    }

    fn unusable(&self, column: usize) -> Error {
        let kind = self.reader.metadata().file_metadata().schema_descr().column(column).physical_type();
        let found = format!("column `{}` has the type {kind}", self.header[column]);
        Error::data("", found, "save it as whole numbers, numbers, truth values or text")
    }
}

fn text(bytes: &[u8]) -> Value<'_> {
    if bytes.is_empty() { Value::Missing } else { Value::Text(bytes) }
}

impl Table for Parquet {
    fn header(&self) -> Option<&[String]> {
        Some(&self.header)
    }

    fn width(&self) -> usize {
        self.header.len()
    }

    fn cells(
        &mut self,
        wanted: &[bool],
        each: &mut dyn FnMut(&Value<'_>, At) -> Result<()>,
    ) -> Result<usize> {
        let groups = self.reader.metadata().row_groups();
        let rows: Vec<usize> = groups.iter().map(|group| group.num_rows().max(0) as usize).collect();
        for column in (0..wanted.len()).filter(|&c| wanted[c]) {
            let mut first = 0;
            for (group, rows) in rows.iter().enumerate() {
                self.chunk(group, column, first, each)?;
                first += rows;
            }
        }
        Ok(rows.iter().sum())
    }
}

/// One column of one row group on its way to the caller.
struct Cells<'a> {
    descr: &'a ColumnDescPtr,
    column: usize,
    /// Row of the table that is the first of the group.
    first: usize,
    /// Rows that the group declares.
    rows: usize,
    each: &'a mut dyn FnMut(&Value<'_>, At) -> Result<()>,
}

impl Cells<'_> {
    fn read<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        of: impl Fn(&T::T, At) -> Result<Value<'_>>,
    ) -> Result<()> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let optional = self.descr.max_def_level() > 0;
        let mut done = 0;
        loop {
            levels.clear();
            values.clear();
            let wanted = optional.then_some(&mut levels);
            let (records, present, _) = guarded(|| reader.read_records(BATCH, wanted, None, &mut values))?;
            let whole = present == values.len() && (!optional || levels.len() == records);
            if records == 0 || !whole || done + records > self.rows {
                break;
            }
            let mut values = values.iter();
            for row in 0..records {
                let at = At { unit: "row", row: self.first + done + row, column: self.column };
                if optional && levels[row] == 0 {
                    (self.each)(&Value::Missing, at)?;
                    continue;
                }
                let Some(value) = values.next() else { return Err(self.wrong_count(done + row)) };
                (self.each)(&of(value, at)?, at)?;
            }
            done += records;
        }
        if done == self.rows { Ok(()) } else { Err(self.wrong_count(done)) }
    }

    fn wrong_count(&self, found: usize) -> Error {
        let name = self.descr.name();
        let found = format!("column `{name}` has {found} rows where {} are declared", self.rows);
        Error::data("", found, DAMAGED)
    }
}

/// Calls the library; its errors and its panics become ours.
fn guarded<T>(call: impl FnOnce() -> std::result::Result<T, ParquetError>) -> Result<T> {
    let refused = |e: String| Error::data("", format!("cannot be read as Parquet: {e}"), DAMAGED);
    match caught::panics(call) {
        Ok(result) => result.map_err(|e| refused(e.to_string())),
        Err(message) => Err(refused(message)),
    }
}

/// Calls a check of ours that asks the library for numbers.
fn guarded_check(check: impl FnOnce() -> Result<()>) -> Result<()> {
    caught::panics(check).unwrap_or_else(|message| {
        Err(Error::data("", format!("cannot be read as Parquet: {message}"), DAMAGED))
    })
}
