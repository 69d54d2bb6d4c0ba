//! Tables on their way to a file: named columns of one kind each, rows made when they are written. Parquet is written
//! here, where the program was built with it; text is the caller's business.

use iglu::{Error, Result};
use std::path::Path;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// Whole numbers.
    Whole,
    /// Numbers, float32.
    Number,
}

/// One value, of the kind of its column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A word.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f32),
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

impl Column {
    /// A column of this name and kind.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A table to write.
pub trait Table {
    /// Its columns, in order.
    fn columns(&self) -> Vec<Column>;

    /// Number of rows.
    fn rows(&self) -> usize;

    /// The cells of a row, one for each column.
    fn row(&self, row: usize) -> Vec<Cell>;
}

/// Refuses to write Parquet where the program was built without it.
pub fn check_parquet() -> Result<()> {
    if cfg!(feature = "parquet") {
        return Ok(());
    }
    let found = "this is to be a Parquet file, and this program was built without them";
    Err(Error::usage("--out", found, "build it with `--features parquet`, or name a .csv or .npy file"))
}

/// Writes a table as a Parquet file, replacing an old file only when all is on disk. Equal tables are equal files.
///
/// ```no_run
/// use iglu_data::columns::{Cell, Column, Kind, Table, write_parquet};
/// struct Squares;
/// impl Table for Squares {
///     fn columns(&self) -> Vec<Column> {
///         vec![Column::new("n", Kind::Whole), Column::new("square", Kind::Number)]
///     }
///     fn rows(&self) -> usize {
///         10
///     }
///     fn row(&self, n: usize) -> Vec<Cell> {
///         vec![Cell::Whole(n as i64), Cell::Number((n * n) as f32)]
///     }
/// }
/// write_parquet("squares.parquet".as_ref(), &Squares)?;
/// # Ok::<(), iglu::Error>(())
/// ```
#[cfg(feature = "parquet")]
pub fn write_parquet(path: &Path, table: &dyn Table) -> Result<()> {
    crate::output::replace(path, |sink| parquet::write(sink, table).map_err(std::io::Error::other))
}

/// Refuses: the program was built without Parquet.
#[cfg(not(feature = "parquet"))]
pub fn write_parquet(_path: &Path, _table: &dyn Table) -> Result<()> {
    check_parquet()
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::{Cell, Column, Kind, Table};
    use crate::output::Sink;
    use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
    use ::parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int64Type};
    use ::parquet::errors::Result;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
    use ::parquet::schema::types::{ColumnPath, Type};
    use std::ops::Range;
    use std::sync::Arc;

    /// Values of a row group, which are in memory at once.
    const GROUP: usize = 4 << 20;

    /// The values of a column in one row group.
    enum Values {
        Text(Vec<ByteArray>),
        Whole(Vec<i64>),
        Number(Vec<f32>),
    }

    impl Values {
        fn new(kind: Kind) -> Self {
            match kind {
                Kind::Text => Self::Text(Vec::new()),
                Kind::Whole => Self::Whole(Vec::new()),
                Kind::Number => Self::Number(Vec::new()),
            }
        }

        fn push(&mut self, cell: Cell) {
            match (self, cell) {
                (Self::Text(values), Cell::Text(text)) => values.push(text.into_bytes().into()),
                (Self::Whole(values), Cell::Whole(number)) => values.push(number),
                (Self::Number(values), Cell::Number(number)) => values.push(number),
                (_, cell) => panic!("{cell:?} is not of the kind of its column"),
            }
        }

        fn write(&self, out: &mut SerializedColumnWriter<'_>) -> Result<usize> {
            match self {
                Self::Text(v) => out.typed::<ByteArrayType>().write_batch(v, None, None),
                Self::Whole(v) => out.typed::<Int64Type>().write_batch(v, None, None),
                Self::Number(v) => out.typed::<FloatType>().write_batch(v, None, None),
            }
        }
    }

    pub(super) fn write(sink: &mut Sink, table: &dyn Table) -> Result<()> {
        let columns = table.columns();
        let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        for column in columns.iter().filter(|c| c.kind != Kind::Text) {
            // Numbers hardly repeat.
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
        let mut file = SerializedFileWriter::new(sink, schema(&columns)?, Arc::new(properties.build()))?;
        let step = (GROUP / columns.len().max(1)).max(1);
        for first in (0..table.rows()).step_by(step) {
            write_group(&mut file, table, &columns, first..(first + step).min(table.rows()))?;
        }
        file.close().map(drop)
    }

    fn write_group(
        file: &mut SerializedFileWriter<&mut Sink>,
        table: &dyn Table,
        columns: &[Column],
        rows: Range<usize>,
    ) -> Result<()> {
        let mut values: Vec<Values> = columns.iter().map(|column| Values::new(column.kind)).collect();
        for row in rows {
            let cells = table.row(row);
            assert_eq!(cells.len(), columns.len(), "one cell for each column in row {row}");
            values.iter_mut().zip(cells).for_each(|(values, cell)| values.push(cell));
        }
        let mut group = file.next_row_group()?;
        for values in &values {
            let mut out = group.next_column()?.expect("as many columns as in the schema");
            values.write(&mut out)?;
            out.close()?;
        }
        group.close().map(drop)
    }

    fn schema(columns: &[Column]) -> Result<Arc<Type>> {
        let field = |column: &Column| {
            let (physical, logical) = match column.kind {
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Kind::Whole => (Physical::INT64, None),
                Kind::Number => (Physical::FLOAT, None),
            };
            let builder = Type::primitive_type_builder(&column.name, physical);
            let field = builder.with_repetition(Repetition::REQUIRED).with_logical_type(logical).build()?;
            Ok(Arc::new(field))
        };
        let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
    }
}
