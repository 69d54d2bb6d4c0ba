//! Results as files: an array, or a table of text or Parquet, by the ending of the file's name.

use iglu::Result;
use iglu_data::columns::{self, Cell, Table};
use iglu_report::table::csv_field;
use std::io::{self, Write};
use std::path::Path;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A NumPy array.
    Array,
    /// A table with commas.
    Csv,
    /// A Parquet table.
    Parquet,
}

impl Form {
    /// What the name of the file asks for; refused where this program cannot write it.
    pub fn of(path: &Path) -> Result<Self> {
        let ends = |ending: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
        if ends("parquet") {
            return columns::check_parquet().map(|()| Self::Parquet);
        }
        Ok(if ends("csv") { Self::Csv } else { Self::Array })
    }
}

/// Writes a table as text; an old file is replaced when all is on disk. Numbers have all their digits, or as many after
/// the point as are asked for.
pub fn write_csv(path: &Path, table: &dyn Table, digits: Option<usize>) -> Result<()> {
    iglu_data::output::replace(path, |out| write_lines(out, table, digits))
}

/// Writes the names of the columns and a line for each row.
pub fn write_lines(out: &mut impl Write, table: &dyn Table, digits: Option<usize>) -> io::Result<()> {
    let names: Vec<String> = table.columns().iter().map(|column| csv_field(&column.name)).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in 0..table.rows() {
        for (i, cell) in table.row(row).into_iter().enumerate() {
            out.write_all(if i > 0 { b"," } else { b"" })?;
            match (cell, digits) {
                (Cell::Text(text), _) => write!(out, "{}", csv_field(&text))?,
                (Cell::Whole(number), _) => write!(out, "{number}")?,
                (Cell::Number(number), None) => write!(out, "{number}")?,
                (Cell::Number(number), Some(digits)) => write!(out, "{number:.digits$}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
