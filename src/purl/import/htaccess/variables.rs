//! Server variables of Apache, `%{NAME}`, in the words of our rules.

use super::{Site, Wrong};
use crate::purl::ruleset::Variable;

/// What a variable is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A part of the request.
    Part(Variable),
    /// The same text for every request.
    Text(String),
    /// A path in the file system, of which nothing exists but the directory itself.
    File,
}

/// Reads the name of a variable.
pub fn read(name: &str, site: &Site<'_>) -> Result<Value, Wrong> {
    let header = |name: &str| Ok(Value::Part(Variable::Header(name.to_owned())));
    let text = |text: &str| Ok(Value::Text(text.to_owned()));
    if let Some(name) = name.strip_prefix("HTTP:") {
        return match http::HeaderName::from_bytes(name.trim().as_bytes()) {
            Ok(name) => header(name.as_str()),
            Err(_) => Err(format!("{name:?} is no name of a header")),
        };
    }
    match name {
        "HTTP_ACCEPT" => header("accept"),
        "HTTP_USER_AGENT" => header("user-agent"),
        "HTTP_REFERER" => header("referer"),
        "HTTP_COOKIE" => header("cookie"),
        "HTTP_FORWARDED" => header("forwarded"),
        "HTTP_HOST" | "SERVER_NAME" => text(site.host()),
        "HTTPS" => text(if site.scheme() == "https" { "on" } else { "off" }),
        "REQUEST_SCHEME" => text(site.scheme()),
        "SERVER_PROTOCOL" => text("HTTP/1.1"),
        "QUERY_STRING" => Ok(Value::Part(Variable::Query)),
        "REQUEST_URI" => Ok(Value::Part(Variable::Path)),
        "REQUEST_METHOD" => Ok(Value::Part(Variable::Method)),
        "THE_REQUEST" => Ok(Value::Part(Variable::RequestLine)),
        "REQUEST_FILENAME" | "SCRIPT_FILENAME" => Ok(Value::File),
        _ if name.starts_with("ENV:") => {
            Err(format!("uses the environment variable %{{{name}}}, which rules here do not have"))
        }
        _ => Err(format!("uses the variable %{{{name}}}, which rules here do not have")),
    }
}

/// How a target of ours asks for a part of the request.
pub fn insert(part: &Variable) -> String {
    match part {
        Variable::Header(name) => format!("${{header:{name}}}"),
        Variable::Query => "${query}".to_owned(),
        Variable::Path => "${path}".to_owned(),
        Variable::Name => "${name}".to_owned(),
        Variable::Method => "${method}".to_owned(),
        Variable::RequestLine => "${request_line}".to_owned(),
        Variable::Text(text) => text.clone(),
    }
}
