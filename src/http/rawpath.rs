//! The part of the request's path that a wildcard route captured, byte for byte as it was sent. A framework's
//! decoded parameters lose the difference between `/` and `%2F`.

use http::Uri;

/// What follows `prefix` in the raw path; None if the path does not begin so.
pub fn after<'u>(uri: &'u Uri, prefix: &str) -> Option<&'u str> {
    uri.path().strip_prefix(prefix)
}
