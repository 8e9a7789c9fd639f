//! The query of an API request as an object of texts, read with [`super::body::Fields`] like a body. A parameter
//! that stands twice is refused: which of the two was meant cannot be known.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::body::Fields;
use super::problem::Problem;
use super::problem_codes as codes;

/// The parameters, by name.
#[derive(Debug)]
pub struct QueryObject(pub Map<String, Value>);

impl<S: Send + Sync> FromRequestParts<S> for QueryObject {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parse(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn parse(query: &str) -> Result<Map<String, Value>, Problem> {
    let mut parameters = Map::new();
    let mut twice = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if parameters.insert(name.to_string(), value.into_owned().into()).is_some() {
            twice.push(name);
        }
    }
    if twice.is_empty() {
        return Ok(parameters);
    }
    let problem = Problem::new(&codes::INVALID);
    Err(twice.iter().fold(problem, |problem, name| problem.fault(format!("/{name}"), "stands twice")))
}

impl QueryObject {
    /// A reader over the parameters.
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(&self.0, String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_one_that_stands_twice_is_refused() {
        let read = parse("reason=a+b%21&x").expect("valid");
        assert_eq!((read["reason"].as_str(), read["x"].as_str()), (Some("a b!"), Some("")));
        assert!(parse("").expect("empty").is_empty());
        assert!(parse("limit=1&li%6Dit=2").expect_err("ambiguous").has_faults());
    }
}
