//! Text from outside made harmless in HTML and SVG.

/// The text with everything replaced that markup would take for its own, and control characters for the sign of
/// something unreadable.
///
/// ```
/// assert_eq!(iglu_report::escape("<b a='1'>&\u{7}"), "&lt;b a=&#39;1&#39;&gt;&amp;\u{fffd}");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            c if c.is_control() || is_direction(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Signs that turn the direction of the text after them.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
