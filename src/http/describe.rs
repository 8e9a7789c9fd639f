//! How a route describes itself beside its row: schemas, parameters, answers. Everything is `const`, so that a
//! table of routes stays one readable constant; `openapi` makes the document of it. What follows from a route's
//! access, path, parameters and body is not said here: the generator adds it.

use serde_json::Value;

use super::problem::ProblemCode;

/// A JSON schema (draft 2020-12) that the document has once, under its name.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// UpperCamelCase, unique over all features.
    pub name: &'static str,
    /// Makes the schema; it may refer to the shared ones of `schema`.
    pub make: fn() -> Value,
    /// Other named schemas that it refers to. Those that a route takes or answers with need not be among them.
    pub parts: &'static [Schema],
}

impl Schema {
    /// A named schema.
    pub const fn new(name: &'static str, make: fn() -> Value) -> Self {
        Self { name, make, parts: &[] }
    }

    /// The same, referring to these.
    #[must_use]
    pub const fn with(mut self, parts: &'static [Self]) -> Self {
        self.parts = parts;
        self
    }
}

/// Where a parameter stands in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the path, always required.
    Path,
    /// In the query.
    Query,
    /// In the head.
    Header,
}

impl Place {
    /// OpenAPI's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

/// One parameter, and what can be wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Where it stands.
    pub place: Place,
    /// As in the request.
    pub name: &'static str,
    /// For people.
    pub help: &'static str,
    /// Whether the request needs it.
    pub required: bool,
    /// What it may be.
    pub schema: fn() -> Value,
    /// The problems that a route has because it takes this.
    pub problems: &'static [&'static ProblemCode],
}

impl Parameter {
    /// A parameter of the path. A route needs this only where the generator's own idea of `{id}`, `{slug}` and
    /// `{*path}` does not fit.
    pub const fn path(name: &'static str, help: &'static str, schema: fn() -> Value) -> Self {
        Self { place: Place::Path, name, help, required: true, schema, problems: &[] }
    }

    /// A parameter of the query; what is wrong with one is 422 `invalid`.
    pub const fn query(name: &'static str, help: &'static str, schema: fn() -> Value) -> Self {
        let problems = &[&super::problem_codes::INVALID];
        Self { place: Place::Query, name, help, required: false, schema, problems }
    }

    /// A request header with the problems that it brings.
    pub const fn header(
        name: &'static str,
        help: &'static str,
        schema: fn() -> Value,
        problems: &'static [&'static ProblemCode],
    ) -> Self {
        Self { place: Place::Header, name, help, required: false, schema, problems }
    }

    /// The same, required.
    #[must_use]
    pub const fn required(mut self, problems: &'static [&'static ProblemCode]) -> Self {
        self.required = true;
        self.problems = problems;
        self
    }
}

/// The body that a route reads.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// None: whatever is sent is not looked at.
    None,
    /// A JSON object.
    Required(Schema),
    /// A JSON object, or nothing.
    Optional(Schema),
}

/// A header of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// For people.
    pub help: &'static str,
    /// Whether every such answer has it.
    pub always: bool,
}

impl Header {
    /// A header that every such answer has.
    pub const fn always(name: &'static str, help: &'static str) -> Self {
        Self { name, help, always: true }
    }

    /// A header that such an answer may have.
    pub const fn sometimes(name: &'static str, help: &'static str) -> Self {
        Self { name, help, always: false }
    }
}

/// What an answer carries.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// `application/json`.
    Json(Schema),
    /// The same in another media type of JSON.
    JsonOf(&'static str, Schema),
    /// `text/html`.
    Page,
    /// `text/plain`.
    Text,
}

/// An answer that is no problem; one status may have several with different contents.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// When it is given.
    pub help: &'static str,
    /// What it carries.
    pub content: Content,
    /// Its headers, beside those that every answer has.
    pub headers: &'static [Header],
}

impl Answer {
    /// An answer in JSON.
    pub const fn json(status: u16, help: &'static str, schema: Schema) -> Self {
        Self { status, help, content: Content::Json(schema), headers: &[] }
    }

    /// An answer in a media type that is JSON by its suffix.
    pub const fn json_of(status: u16, help: &'static str, media_type: &'static str, schema: Schema) -> Self {
        Self { status, help, content: Content::JsonOf(media_type, schema), headers: &[] }
    }

    /// A text.
    pub const fn text(status: u16, help: &'static str) -> Self {
        Self { status, help, content: Content::Text, headers: &[] }
    }

    /// An answer without a body.
    pub const fn empty(status: u16, help: &'static str) -> Self {
        Self { status, help, content: Content::Nothing, headers: &[] }
    }

    /// A page for people.
    pub const fn page(status: u16, help: &'static str) -> Self {
        Self { status, help, content: Content::Page, headers: &[] }
    }

    /// The same with these headers.
    #[must_use]
    pub const fn headers(mut self, headers: &'static [Header]) -> Self {
        self.headers = headers;
        self
    }
}
