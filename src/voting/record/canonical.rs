//! Canonical JSON in the form of RFC 8785: one text for one value.
//!
//! The type has no floats and only fixed ASCII keys, so that everything it can hold has a canonical form
//! and encoding cannot fail. It writes; reading is left to any JSON parser.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

/// A value with exactly one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Canonical {
    /// `null`
    Null,
    /// `true` or `false`
    Flag(bool),
    /// A whole number. Counts and places in a log only, which stay below 2^53; ids are texts.
    Whole(i64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Canonical>),
    /// An object. Byte order of ASCII keys is the UTF-16 order that RFC 8785 asks for.
    Object(BTreeMap<&'static str, Canonical>),
}

impl Canonical {
    /// An object of the members given; of members with one key the last counts.
    pub fn object(members: impl IntoIterator<Item = (&'static str, Canonical)>) -> Self {
        Self::Object(members.into_iter().collect())
    }

    /// An array.
    pub fn list(items: impl IntoIterator<Item = Canonical>) -> Self {
        Self::List(items.into_iter().collect())
    }

    /// Anything that has a text: ids, weights, hashes.
    pub fn text(value: impl Display) -> Self {
        Self::Text(format!("{value}"))
    }

    /// The canonical text.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Whole(number) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "{number}");
            }
            Self::Text(text) => write_string(out, text),
            Self::List(items) => {
                write_joined(out, ('[', ']'), items, |out, item| item.write(out));
            }
            Self::Object(members) => {
                write_joined(out, ('{', '}'), members, |out, (key, value)| {
                    write_string(out, key);
                    out.push(':');
                    value.write(out);
                });
            }
        }
    }
}

fn write_joined<T>(
    out: &mut String,
    (open, close): (char, char),
    items: impl IntoIterator<Item = T>,
    mut write_item: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_item(out, item);
    }
    out.push(close);
}

/// RFC 8785, 3.2.2.2: the two-character escapes where JSON has one, `\u00xx` in lower case for the other
/// controls, and everything else as it is.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (place, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..place]);
        plain = place + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            8 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            12 => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_sorted_and_there_is_no_blank() {
        let value = Canonical::object([
            ("b", Canonical::list([Canonical::Whole(1), Canonical::Null])),
            ("a", Canonical::text("x")),
            ("B", Canonical::object([])),
        ]);
        assert_eq!(value.encode(), r#"{"B":{},"a":"x","b":[1,null]}"#);
    }

    #[test]
    fn strings_are_escaped_as_rfc_8785_says() {
        // The string of the example in RFC 8785, 3.2.2.
        let value = Canonical::text("\u{20ac}$\u{000F}\u{000a}A'\u{0042}\u{0022}\u{005c}\\\"/");
        assert_eq!(value.encode(), "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    }

    proptest! {
        #[test]
        fn any_json_parser_reads_back_the_same_text(text in ".*") {
            let encoded = Canonical::text(&text).encode();
            prop_assert_eq!(serde_json::from_str::<String>(&encoded).unwrap(), text);
        }
    }
}
