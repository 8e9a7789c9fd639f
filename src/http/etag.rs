//! Strong entity tags of a revision number, and If-Match against them (RFC 9110, 13.1.1).

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderValue, header};

use super::problem::Problem;
use super::problem_codes as codes;
use crate::ids;

/// The ETag of revision `n`.
pub fn of_revision(n: i64) -> HeaderValue {
    HeaderValue::try_from(format!("\"r{n}\"")).expect("digits and quotes are a header value")
}

/// What If-Match asks for; absent when the header is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// The header is absent.
    Absent,
    /// `*`: any revision, as long as it exists.
    Any,
    /// One of these revisions. A tag of another form can match none and is left out.
    Revisions(Vec<i64>),
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut values = parts.headers.get_all(header::IF_MATCH).iter().peekable();
        if values.peek().is_none() {
            return Ok(Self::Absent);
        }
        let mut revisions = Vec::new();
        for value in values {
            let text = value
                .to_str()
                .map_err(|_| Problem::new(&codes::BAD_HEADER).detail("If-Match is not ASCII"))?;
            if text.trim() == "*" {
                return Ok(Self::Any);
            }
            for tag in tags(text).ok_or_else(malformed)? {
                revisions.extend(revision(tag));
            }
        }
        Ok(Self::Revisions(revisions))
    }
}

fn malformed() -> Problem {
    Problem::new(&codes::BAD_HEADER).detail("If-Match is not a list of quoted entity tags")
}

/// The entity tags of a list, as they stand; None if it is no such list. A comma may be part of a tag, and a list
/// may have empty items (RFC 9110, 5.6.1 and 8.8.3).
fn tags(list: &str) -> Option<Vec<&str>> {
    let mut tags = Vec::new();
    let mut rest = list.trim_start_matches([',', ' ', '\t']);
    while !rest.is_empty() {
        let opening = if rest.starts_with("W/\"") { 3 } else { 1 };
        let inner = rest.get(opening..).filter(|_| rest.starts_with('"') || opening == 3)?;
        let length = opening + inner.find('"')? + 1;
        let (tag, behind) = rest.split_at(length);
        if !tag.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        tags.push(tag);
        let behind = behind.trim_start_matches([' ', '\t']);
        if !behind.is_empty() && !behind.starts_with(',') {
            return None;
        }
        rest = behind.trim_start_matches([',', ' ', '\t']);
    }
    (!tags.is_empty()).then_some(tags)
}

/// The revision that a tag names; None for a weak one, which never matches in If-Match, or one of another form.
fn revision(tag: &str) -> Option<i64> {
    // Only as we spell it: `r+1` and `r01` are no tags of ours.
    let number = tag.strip_prefix("\"r")?.strip_suffix('"')?;
    // Of what has had no state yet, the state is 0.
    if number == "0" { Some(0) } else { ids::parse(number) }
}

impl IfMatch {
    /// 428 when absent, for writes where a lost update would hurt.
    pub fn required(self) -> Result<Self, Problem> {
        if self == Self::Absent { Err(Problem::new(&codes::PRECONDITION_REQUIRED)) } else { Ok(self) }
    }

    /// Whether the current revision is one that the client accepts.
    pub fn accepts(&self, current: i64) -> bool {
        match self {
            Self::Absent | Self::Any => true,
            Self::Revisions(revisions) => revisions.contains(&current),
        }
    }

    /// 412 unless the current revision is accepted.
    pub fn check(&self, current: i64) -> Result<(), Problem> {
        if self.accepts(current) {
            return Ok(());
        }
        Err(Problem::new(&codes::PRECONDITION_FAILED).header(header::ETAG, of_revision(current)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_may_stand_in_a_tag_and_between_two() {
        assert_eq!(tags("\"r1\""), Some(vec!["\"r1\""]));
        assert_eq!(tags("\"a,b\" , ,W/\"r2\",\"r3\""), Some(vec!["\"a,b\"", "W/\"r2\"", "\"r3\""]));
        for bad in ["", " ", ",", "r1", "\"r1", "\"r1\"\"r2\"", "\"r1\" *", "w/\"r1\"", "\"a b\""] {
            assert_eq!(tags(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_tag_is_ours_only_as_we_spell_it() {
        assert_eq!(revision("\"r12\""), Some(12));
        for other in ["\"r+1\"", "\"r01\"", "\"r\"", "\"1\"", "\"r99999999999999999999\"", "W/\"r1\""] {
            assert_eq!(revision(other), None, "{other}");
        }
    }
}
