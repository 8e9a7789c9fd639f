//! Text on its way into a page. No templates: the few pages of the server are made where their facts are.

/// For text and for attribute values in double quotes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escaped, with what stands in backticks as code.
pub fn with_code(text: &str) -> String {
    let mut page = String::new();
    for (place, part) in text.split('`').enumerate() {
        let (before, after) = if place % 2 == 1 { ("<code>", "</code>") } else { ("", "") };
        page.extend([before, &escape(part), after]);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_everything_is_escaped() {
        assert_eq!(with_code("a `<b>` & c"), "a <code>&lt;b&gt;</code> &amp; c");
    }
}
