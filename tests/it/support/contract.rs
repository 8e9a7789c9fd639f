//! The document of the API held against every answer of every test: a status, a content, a member or a problem code
//! that no route documents fails the test that saw it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use http::Method;
use jsonschema::Validator;
use resolute::app;
use resolute::http::implied::plain_path;
use resolute::http::openapi;
use resolute::http::route::Route;
use serde_json::{Value, json};

use super::Answer;

/// The document, and the validators that this process has needed so far.
struct Contract {
    routes: Vec<Route>,
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

fn contract() -> &'static Contract {
    static CONTRACT: OnceLock<Contract> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let routes = app::operations();
        let document = openapi::document(&routes);
        Contract { routes, document, validators: Mutex::default() }
    })
}

/// Panics, naming route and status, unless the document allows this answer to a request for `path` (its query aside).
#[track_caller]
pub fn check(method: &Method, path: &str, answer: &Answer) {
    if let Err(fault) = judge(method, path, answer) {
        panic!("{method} {path}: {} {fault}\n{}", answer.status, answer.text());
    }
}

/// Whether the document allows this answer, else what it lacks.
pub fn judge(method: &Method, path: &str, answer: &Answer) -> Result<(), String> {
    let path = path.split('?').next().unwrap_or_default();
    // Documented for the operator's listener, docs/metrics.md.
    if path == app::METRICS_ROUTE.path { Ok(()) } else { contract().judge(method, path, answer) }
}

impl Contract {
    fn judge(&self, method: &Method, path: &str, answer: &Answer) -> Result<(), String> {
        let matching: Vec<&Route> = self.routes.iter().filter(|route| matches(route.path, path)).collect();
        // The most literal template takes the request; the table has resolution, which takes everything, last.
        let template = matching.iter().map(|route| route.path).max_by_key(|path| literal_parts(path));
        let template = template.ok_or("no template at all")?;
        let asked = if method == Method::HEAD { "GET" } else { method.as_str() };
        let route = matching.iter().find(|route| route.path == template && route.method == asked);
        let Some(route) = route else {
            let code = answer.json()["code"].clone();
            return match answer.status.as_u16() {
                405 if code == "method_not_allowed" => Ok(()),
                // An address of the server's own that does not exist.
                404 if code == "not_found" => Ok(()),
                _ => Err(format!("is not what an undocumented method of {template} answers")),
            };
        };
        let at = format!("{} {template}", route.method);
        let operation = &self.document["paths"][plain_path(template)][route.method.to_ascii_lowercase()];
        let mut response = &operation["responses"][answer.status.as_str()];
        if let Some(shared) = response["$ref"].as_str() {
            response =
                self.document.pointer(shared.trim_start_matches('#')).ok_or("a reference to nothing")?;
        }
        if response.is_null() {
            return Err(format!("is not documented for {at}"));
        }
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            if header["required"] == true && !answer.headers.contains_key(name) {
                return Err(format!("of {at} lacks the header {name}"));
            }
        }
        if method == Method::HEAD {
            return Ok(());
        }
        let media = answer.header("content-type").split(';').next().unwrap_or_default().trim();
        match &response["content"] {
            Value::Null if answer.body.is_empty() => Ok(()),
            Value::Object(contents) => {
                let content =
                    contents.get(media).ok_or(format!("of {at} is documented, not as `{media}`"))?;
                self.check_body(&at, media, &content["schema"], answer)
            }
            _ if answer.body.is_empty()
                && route.answers.iter().any(|it| it.status == answer.status.as_u16()) =>
            {
                Ok(())
            }
            _ => Err(format!("of {at} is documented without a body")),
        }
    }

    fn check_body(&self, at: &str, media: &str, schema: &Value, answer: &Answer) -> Result<(), String> {
        if !media.ends_with("json") {
            return Ok(());
        }
        let validator = self.validator(schema);
        let body = answer.json();
        let faults: Vec<String> =
            validator.iter_errors(&body).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(format!("of {at} has another body: {}", faults.join("; ")))
        }
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().expect("no panic holds it");
        let made = validators.entry(schema.to_string()).or_insert_with(|| {
            // References are to the components, so they come along.
            let whole =
                json!({"allOf": [schema], "components": {"schemas": self.document["components"]["schemas"]}});
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            Arc::new(options.build(&whole).unwrap_or_else(|fault| panic!("{schema}: {fault}")))
        });
        Arc::clone(made)
    }
}

/// Whether a raw path fits a template, part by part.
fn matches(template: &str, path: &str) -> bool {
    let (mut templates, mut parts) = (template.split('/'), path.split('/'));
    loop {
        match (templates.next(), parts.next()) {
            (None, None) => return true,
            (Some(rest), Some(part)) if rest.starts_with("{*") => {
                // Resolution takes the root as well; a wildcard of the API needs something.
                return template == "/{*path}" || !part.is_empty() || parts.next().is_some();
            }
            (Some(name), Some(part)) if name.starts_with('{') && !part.is_empty() => {}
            (Some(literal), Some(part)) if literal == part => {}
            _ => return false,
        }
    }
}

fn literal_parts(template: &str) -> usize {
    template.split('/').filter(|part| !part.starts_with('{')).count()
}

/// The schema of a name, compiled.
pub fn validator_of(name: &str) -> Arc<Validator> {
    contract().validator(&json!({"$ref": format!("#/components/schemas/{name}")}))
}
