//! Which sequences a column default calls, read from its text.
//!
//! Only for what the catalogue does not know: `nextval('s'::regclass)` leaves a dependency in `pg_depend`,
//! `nextval('s'::text)` does not. Triggers and functions that call `nextval` are invisible to both; their
//! sequences are judged on their own.

use super::sequence::IdRange;

/// A sequence in a default that left no dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LateBound {
    /// Named by a text constant: resolved on every insert.
    Named(String),
    /// Named by an expression.
    Computed,
}

/// Finds the late-bound calls of `nextval` in a default as `pg_get_expr` prints it.
pub fn late_bound(expression: &str) -> Vec<LateBound> {
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some((before, after)) = rest.split_once("nextval(") {
        // `setnextval(` or `my_nextval(` is another function; a quoted one ends in `"` before the bracket.
        let another = before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        rest = after;
        if another {
            continue;
        }
        let argument = after.trim_start_matches('(');
        let bracketed = argument.len() < after.len();
        match constant(argument) {
            Some((_, cast)) if !bracketed && cast.starts_with("regclass") => {}
            Some((name, cast)) if bracketed && ends_as_constant(cast) => found.push(LateBound::Named(name)),
            _ => found.push(LateBound::Computed),
        }
    }
    found
}

/// Splits `'it''s'::type…` into the unquoted text and what follows the `::`.
fn constant(argument: &str) -> Option<(String, &str)> {
    let mut rest = argument.strip_prefix('\'')?;
    let mut text = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        text.push_str(part);
        if let Some(doubled) = after.strip_prefix('\'') {
            text.push('\'');
            rest = doubled;
        } else {
            return Some((text, after.strip_prefix("::")?));
        }
    }
}

/// Whether only casts follow, up to the one to `regclass`.
fn ends_as_constant(cast: &str) -> bool {
    ["text", "character varying"]
        .iter()
        .filter_map(|kind| cast.strip_prefix(kind))
        .any(|rest| rest.trim_start_matches(")::text").starts_with(")::regclass)"))
}

/// The range that an explicit cast around the whole default leaves: `(nextval('s'::regclass))::integer`
/// fails past `integer` even in a `bigint` column.
pub fn cast_range(expression: &str) -> IdRange {
    let whole = expression.strip_prefix("(nextval(").filter(|rest| !rest.contains("nextval("));
    match whole.and_then(|rest| rest.rsplit_once("))::")) {
        Some((_, "integer")) => IdRange::INTEGER,
        Some((_, "smallint")) => IdRange::SMALLINT,
        _ => IdRange::BIGINT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> LateBound {
        LateBound::Named(name.to_owned())
    }

    #[test]
    fn a_regclass_constant_is_left_to_the_catalogue() {
        assert_eq!(late_bound("nextval('s'::regclass)"), []);
        assert_eq!(late_bound("('P'::text || nextval('\"O''d d\"'::regclass))"), []);
        assert_eq!(late_bound("42"), []);
    }

    #[test]
    fn a_text_constant_is_unquoted() {
        assert_eq!(late_bound("nextval(('s'::text)::regclass)"), [named("s")]);
        assert_eq!(late_bound("nextval((('s'::character varying)::text)::regclass)"), [named("s")]);
        assert_eq!(late_bound("nextval(('s'::character varying)::regclass)"), [named("s")]);
        assert_eq!(
            late_bound("('x'::text || nextval(('a.\"O''d\"'::text)::regclass))"),
            [named("a.\"O'd\"")]
        );
    }

    #[test]
    fn several_calls_are_all_found() {
        let expression = "(nextval('a'::regclass) + nextval(('b'::text)::regclass))";
        assert_eq!(late_bound(expression), [named("b")]);
    }

    #[test]
    fn a_computed_name_is_said_to_be_one() {
        assert_eq!(late_bound("nextval((('s'::text || '_x'::text))::regclass)"), [LateBound::Computed]);
        assert_eq!(late_bound("nextval(current_setting('a'::text)::regclass)"), [LateBound::Computed]);
        assert_eq!(late_bound("nextval('unterminated"), [LateBound::Computed]);
    }

    #[test]
    fn another_function_with_a_similar_name_is_not_taken_for_it() {
        assert_eq!(late_bound("my_nextval(('s'::text)::regclass)"), []);
    }

    #[test]
    fn a_cast_around_the_default_narrows_it() {
        assert_eq!(cast_range("(nextval('s'::regclass))::integer"), IdRange::INTEGER);
        assert_eq!(cast_range("(nextval('s'::regclass))::smallint"), IdRange::SMALLINT);
        assert_eq!(cast_range("nextval('s'::regclass)"), IdRange::BIGINT);
        assert_eq!(cast_range("(nextval('s'::regclass) * 2)"), IdRange::BIGINT);
    }
}
