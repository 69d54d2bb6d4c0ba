//! Pieces of a page. What is called `html` is markup already; every other text is made harmless here.

use crate::escape;
use crate::plot::STYLE;

const PAGE_STYLE: &str = include_str!("page.css");

/// A whole page: one file that needs nothing from elsewhere and runs nothing.
pub(super) fn page(title: &str, html: &str) -> String {
    let title = escape(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{STYLE}{PAGE_STYLE}</style>
</head>
<body>
{html}</body>
</html>
"#
    )
}

/// A part of the page under a heading; nothing if it is empty.
pub(super) fn section(title: &str, html: &str) -> String {
    if html.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>{}</h2>\n{html}\n</section>\n", escape(title))
}

pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

pub(super) fn remark(text: &str) -> String {
    format!("<p class=\"muted\">{}</p>\n", escape(text))
}

pub(super) fn warning(text: &str) -> String {
    format!("<p class=\"warning\">{}</p>\n", escape(text))
}

/// A number with its name and a word about it.
pub(super) struct Card {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) about: String,
}

/// Numbers in a row; the first one is the main one.
pub(super) fn cards(cards: &[Card]) -> String {
    let card = |(at, card): (usize, &Card)| {
        let class = if at == 0 { " class=\"main\"" } else { "" };
        let [name, value, about] = [card.name, &card.value, &card.about].map(escape);
        format!("<div{class}><span>{name}</span><strong>{value}</strong><small>{about}</small></div>")
    };
    let cards: String = cards.iter().enumerate().map(card).collect();
    format!("<div class=\"cards\">{cards}</div>\n")
}

/// Plots side by side where there is room; those that show nothing are left out.
pub(super) fn figures(plots: impl IntoIterator<Item = (String, Option<String>)>) -> String {
    let figure = |(title, svg): (String, Option<String>)| {
        svg.map(|svg| format!("<figure><figcaption>{}</figcaption>{svg}</figure>\n", escape(&title)))
    };
    let all: String = plots.into_iter().filter_map(figure).collect();
    if all.is_empty() { all } else { format!("<div class=\"figures\">\n{all}</div>\n") }
}

/// Names and values, one below the other.
pub(super) fn list(entries: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| {
        format!("<tr><td>{}</td><td>{}</td></tr>", escape(name), escape(value))
    };
    let rows: String = entries.iter().filter(|(_, value)| !value.is_empty()).map(row).collect();
    format!("<table class=\"origin\"><tbody>{rows}</tbody></table>\n")
}

pub(super) fn code(text: &str) -> String {
    format!("<pre>{}</pre>\n", escape(text))
}

/// The word with a capital letter.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
