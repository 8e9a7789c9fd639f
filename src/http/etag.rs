//! Strong entity tags of a revision number, and If-Match against them (RFC 9110, 13.1.1).

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderValue, header};

use super::id;
use super::problem::Problem;
use super::problem_codes as codes;

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
            for tag in text.split(',').map(str::trim) {
                if tag == "*" {
                    return Ok(Self::Any);
                }
                revisions.extend(revision(tag)?);
            }
        }
        Ok(Self::Revisions(revisions))
    }
}

fn revision(tag: &str) -> Result<Option<i64>, Problem> {
    let strong = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match strong {
        // Only as we spell it: `r+1` and `r01` are no tags of ours.
        Some(inner) => Ok(inner.strip_prefix('r').and_then(id::parse)),
        // A weak tag never matches in If-Match; anything else is not an entity tag.
        None if tag.starts_with("W/\"") && tag.ends_with('"') => Ok(None),
        None => Err(Problem::new(&codes::BAD_HEADER).detail("If-Match is not a list of quoted entity tags")),
    }
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
    fn a_tag_is_ours_only_as_we_spell_it() {
        assert_eq!(revision("\"r12\"").expect("a tag"), Some(12));
        for other in ["\"r+1\"", "\"r01\"", "\"r\"", "\"1\"", "\"r99999999999999999999\"", "W/\"r1\""] {
            assert_eq!(revision(other).expect("a tag"), None, "{other}");
        }
        assert!(revision("r1").is_err());
    }
}
