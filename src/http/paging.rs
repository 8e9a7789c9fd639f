//! The two query parameters that every listing has, `limit` and `cursor`, and its answer: a page with links to its
//! neighbours, in the body and as `Link` headers (RFC 8288). What a listing holds is no matter here.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, header};
use percent_encoding::{CONTROLS, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded;

use super::arrival::Arrival;
use super::body::Fields;
use super::cursor::{Cursors, Place};
use super::problem::Problem;
use super::problem_codes as codes;
use super::query::QueryObject;
use crate::db::keyset::{Listing, Page, Seek, Window};
use crate::ids;

/// Rows of a page when nothing is said.
const DEFAULT_LIMIT: usize = 50;
/// Most rows of a page.
const MAX_LIMIT: usize = 200;

/// The query of a listing, not judged yet. The route needs [`Tools`](super::arrival::Tools).
#[derive(Debug)]
pub struct Query {
    cursors: Option<Cursors>,
    path: String,
    given: QueryObject,
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let given = QueryObject::from_request_parts(parts, state).await?;
        let cursors = Arrival::tools(&parts.extensions).map(|tools| tools.cursors.clone());
        Ok(Self { cursors, path: parts.uri.path().to_owned(), given })
    }
}

impl Query {
    /// A reader for the filters; `limit` and `cursor` are read already. Its `finish` gives all faults at once.
    pub fn fields(&self) -> Fields<'_> {
        let mut fields = self.given.fields();
        let _ = fields.optional("limit", limit);
        // Any text: what is no cursor of this listing is 400, whatever it looks like.
        let _ = fields.optional("cursor", |_| Ok(()));
        fields
    }

    /// The query of a listing without filters: 422 for anything but `limit` and `cursor`.
    pub fn unfiltered(&self) -> Result<(), Problem> {
        self.fields().finish()
    }

    /// The page that is asked for, of this tenant's listing restricted by `filters` (whatever else the statement
    /// depends on). 400 `cursor_invalid` for a cursor that was not made for exactly that.
    pub fn page_of<K: Clone + DeserializeOwned>(
        self,
        listing: &Listing<K>,
        tenant_id: i64,
        filters: Vec<String>,
    ) -> Result<Asked<K>, Problem> {
        let cursors =
            self.cursors.ok_or_else(|| Problem::new(&codes::INTERNAL).source("no cursors on this route"))?;
        let limit = match self.given.0.get("limit") {
            Some(value) => {
                limit(value).map_err(|detail| Problem::new(&codes::INVALID).fault("/limit", detail))?
            }
            None => DEFAULT_LIMIT,
        };
        let place = Place { listing: listing.name, tenant_id, filters: &filters };
        let window = match self.given.0.get("cursor").and_then(Value::as_str) {
            None => Window::first(listing, limit),
            Some(cursor) => {
                let seek = cursors.open(&place, cursor);
                Window::at(seek.ok_or_else(|| Problem::new(&codes::CURSOR_INVALID))?, limit)
            }
        };
        let (name, path, given) = (listing.name, self.path, self.given);
        Ok(Asked { window, cursors, name, tenant_id, filters, path, given })
    }
}

/// A number in a query, which arrives as text.
fn limit(value: &Value) -> Result<usize, String> {
    let number = value.as_str().and_then(ids::parse).and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| (1..=MAX_LIMIT).contains(number))
        .ok_or_else(|| format!("must be a whole number from 1 to {MAX_LIMIT}"))
}

/// A page that was asked for, and what its answer needs to link on.
#[derive(Debug)]
pub struct Asked<K> {
    /// What the store is to give.
    pub window: Window<K>,
    cursors: Cursors,
    name: &'static str,
    tenant_id: i64,
    filters: Vec<String>,
    path: String,
    given: QueryObject,
}

/// A page as it is answered.
#[derive(Serialize)]
struct Body<T> {
    items: Vec<T>,
    /// Address of the page after; null: there was nothing behind this one.
    next: Option<String>,
    /// Address of the page before; null: this is the first.
    prev: Option<String>,
}

impl<K: Serialize> Asked<K> {
    /// The page with its links.
    pub fn answer<T: Serialize>(self, page: Page<T, K>) -> Result<Response, Problem> {
        let next = page.next.as_ref().map(|seek| self.address(seek)).transpose()?;
        let prev = page.prev.as_ref().map(|seek| self.address(seek)).transpose()?;
        let links = [("next", &next), ("prev", &prev)];
        let links: Vec<HeaderValue> = links
            .into_iter()
            .filter_map(|(relation, address)| {
                let link = format!("<{}>; rel=\"{relation}\"", address.as_deref()?);
                HeaderValue::try_from(link).ok()
            })
            .collect();
        let headers = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        let mut response = (headers, Json(Body { items: page.items, next, prev })).into_response();
        for link in links {
            response.headers_mut().append(header::LINK, link);
        }
        Ok(response)
    }

    /// The request's own address with another cursor.
    fn address(&self, seek: &Seek<K>) -> Result<String, Problem> {
        let place = Place { listing: self.name, tenant_id: self.tenant_id, filters: &self.filters };
        let cursor = self.cursors.seal(&place, seek).map_err(|error| {
            Problem::new(&codes::INTERNAL).source(format!("a key of {} is no JSON: {error}", self.name))
        })?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        let kept = self.given.0.iter().filter(|(name, _)| *name != "cursor");
        query.extend_pairs(kept.filter_map(|(name, value)| Some((name, value.as_str()?))));
        query.append_pair("cursor", &cursor);
        Ok(format!("{}?{}", utf8_percent_encode(&self.path, CONTROLS), query.finish()))
    }
}
