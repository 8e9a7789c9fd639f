//! Regular expressions: on bytes, with classes that mean ASCII (`\d` is 0 to 9), in time that is linear in the path
//! whatever the expression. A dot is any byte, a line end too, as in Apache. Look-around and back-references are none of it.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// Bytes that a compiled expression may take; beyond it is refused, not slow.
const SIZE_LIMIT: usize = 1 << 20;
/// The same for all expressions of a domain together.
const SET_SIZE_LIMIT: usize = 64 << 20;

/// Compiles an expression.
pub fn compile(text: &str, ignore_case: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    let built = builder.unicode(false).dot_matches_new_line(true).case_insensitive(ignore_case);
    built.size_limit(SIZE_LIMIT).build().map_err(|error| fault(text, ignore_case, &error))
}

/// Compiles expressions to be searched for together. Each must compile by itself.
pub fn compile_set(texts: &[&str], ignore_case: bool) -> Result<RegexSet, String> {
    let mut builder = RegexSetBuilder::new(texts);
    let built = builder.unicode(false).dot_matches_new_line(true).case_insensitive(ignore_case);
    built.size_limit(SET_SIZE_LIMIT).build().map_err(|error| error.to_string())
}

/// What is wrong, and at which byte.
fn fault(text: &str, ignore_case: bool, error: &regex::Error) -> String {
    let mut parser =
        regex_syntax::ParserBuilder::new().unicode(false).utf8(false).case_insensitive(ignore_case).build();
    match parser.parse(text) {
        Err(regex_syntax::Error::Parse(error)) => at(error.span().start.offset, error.kind()),
        Err(regex_syntax::Error::Translate(error)) => at(error.span().start.offset, error.kind()),
        _ => match error {
            regex::Error::CompiledTooBig(_) => "is too large when it is compiled".to_owned(),
            other => other.to_string(),
        },
    }
}

fn at(offset: usize, what: impl std::fmt::Display) -> String {
    format!("is no regular expression: {what} (at byte {})", offset + 1)
}

/// Whether an expression is one; how many captures it has, the whole counted as one.
pub fn check(text: &str, ignore_case: bool) -> Result<usize, String> {
    compile(text, ignore_case).map(|regex| regex.captures_len())
}
