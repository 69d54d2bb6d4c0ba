//! A table, for pages (HTML), notes (Markdown) and programs (CSV).

use crate::escape;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Words, aligned to the left.
    Words(&'static str),
    /// Numbers, aligned to the right.
    Numbers(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Words(name) | Self::Numbers(name) => name,
        }
    }
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    text: String,
    /// A share of 1 that the page shows as a bar.
    share: Option<f64>,
}

impl Cell {
    /// A share of 1, with a bar on pages; a dash where it is not defined.
    pub fn share(value: Option<f64>) -> Self {
        let text = value.map_or_else(|| "-".to_string(), |v| format!("{v:.3}"));
        Self { text, share: value.filter(|v| v.is_finite()) }
    }

    fn html(&self, column: Column) -> String {
        let Some(share) = self.share else { return html_cell("td", column, &self.text) };
        let (width, text) = (100.0 * share.clamp(0.0, 1.0), escape(&self.text));
        format!("<td class=\"number share\"><i style=\"width:{width:.1}%\"></i><b>{text}</b></td>")
    }
}

fn html_cell(tag: &str, column: Column, text: &str) -> String {
    let class = if matches!(column, Column::Numbers(_)) { " class=\"number\"" } else { "" };
    format!("<{tag}{class}>{}</{tag}>", escape(text))
}

impl<S: Into<String>> From<S> for Cell {
    fn from(text: S) -> Self {
        Self { text: text.into(), share: None }
    }
}

/// Rows under a head.
///
/// ```
/// use iglu_report::table::{Column, Table};
/// let mut table = Table::new(&[Column::Words("name"), Column::Numbers("size")]);
/// table.push(["a|b".into(), "3".into()]);
/// assert_eq!(table.markdown(), "| name | size |\n|---|---:|\n| a\\|b | 3 |\n");
/// assert_eq!(table.csv(), "name,size\na|b,3\n");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Without rows.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, which has a cell for each column.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = row.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "cells and columns");
        self.rows.push(row);
    }

    /// Without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For a page; wide tables scroll on their own.
    pub fn html(&self) -> String {
        let head: Vec<String> = self.columns.iter().map(|c| html_cell("th", *c, c.name())).collect();
        let row = |row: &Vec<Cell>| {
            let cells: Vec<String> = self.columns.iter().zip(row).map(|(c, cell)| cell.html(*c)).collect();
            format!("<tr>{}</tr>", cells.concat())
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        let (head, rows) = (head.concat(), rows.concat());
        format!(
            "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n"
        )
    }

    /// For a terminal: columns aligned, two blanks between them.
    pub fn text(&self) -> String {
        let head: Vec<&str> = self.columns.iter().map(|c| c.name()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect());
        let lines: Vec<Vec<&str>> = std::iter::once(head).chain(rows).collect();
        let width = |at: usize| lines.iter().map(|l| l[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &Vec<&str>| {
            let columns = self.columns.iter().zip(&widths).zip(cells);
            let padded: Vec<String> = columns
                .map(|((column, &width), cell)| match column {
                    Column::Words(_) => format!("{cell:<width$}"),
                    Column::Numbers(_) => format!("{cell:>width$}"),
                })
                .collect();
            padded.join("  ").trim_end().to_string()
        };
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// For notes.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let plain = |cell: &Cell| cell.text.replace('|', "\\|").replace(['\n', '\r'], " ");
        let rule = |c: &Column| if matches!(c, Column::Numbers(_)) { "---:|" } else { "---|" };
        let mut out = line(self.columns.iter().map(|c| c.name().to_string()).collect());
        out.push('|');
        out.extend(self.columns.iter().map(rule));
        out.push('\n');
        out.extend(self.rows.iter().map(|row| line(row.iter().map(plain).collect())));
        out
    }

    /// For programs, as RFC 4180 has it.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let head = line(self.columns.iter().map(|c| csv_field(c.name())).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(|c| csv_field(&c.text)).collect()));
        std::iter::once(head).chain(rows).collect()
    }
}

/// A field of a CSV file, quoted where it has to be.
///
/// ```
/// assert_eq!(iglu_report::table::csv_field("say \"hi\", now"), "\"say \"\"hi\"\", now\"");
/// ```
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_escape_and_show_shares() {
        let mut table = Table::new(&[Column::Words("a"), Column::Numbers("b")]);
        table.push(["<x>".into(), Cell::share(Some(0.25))]);
        table.push(["y,\"z\"".into(), Cell::share(None)]);
        let html = table.html();
        assert!(html.contains("&lt;x&gt;") && html.contains("width:25.0%") && html.contains(">-<"), "{html}");
        assert_eq!(table.text(), "a          b\n<x>    0.250\ny,\"z\"      -");
        assert_eq!(table.csv(), "a,b\n<x>,0.250\n\"y,\"\"z\"\"\",-\n");
    }
}
