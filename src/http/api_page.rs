//! The page of the API: every operation with its parameters, schemas and problems, rendered here, so that it can be
//! read without a script. The script only adds a form to each, which sends the request with the reader's own key.

use std::fmt::Write;

use serde_json::Value;

use super::describe::{Body, Content, Place, Schema};
use super::html::{escape, with_code};
use super::implied::{operation_id, parameters, plain_path, problems};
use super::openapi::{schemas, tags};
use super::route::{Access, Route};

/// All of its style.
pub const STYLE: &str = include_str!("api_page.css");
/// All of its script.
pub const SCRIPT: &str = include_str!("api_page.js");

/// The whole page.
pub fn page(routes: &[Route]) -> String {
    let (mut contents, mut main) = (String::new(), String::new());
    for tag in tags(routes) {
        let of_tag = || routes.iter().filter(move |route| route.tag == tag);
        let links: String = of_tag().map(link).collect();
        let operations: String = of_tag().map(operation).collect();
        let (anchor, tag) = (anchor(tag), escape(tag));
        let _ = writeln!(contents, "<li><a href=\"#{anchor}\">{tag}</a><ul>{links}</ul></li>");
        let _ = write!(main, "<section id=\"{anchor}\">\n<h2>{tag}</h2>\n{operations}</section>\n");
    }
    let shapes: String = schemas(routes).into_iter().map(shape).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>API · resolute</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the operations</a>\n\
         <header>\n<h1>API of resolute {version}</h1>\n\
         <p>The same as a document: <a href=\"/api/v1/openapi.json\">openapi.json</a> (OpenAPI 3.1). \
         Every error is explained at <a href=\"/docs/problems\">/docs/problems</a>.</p>\n\
         <p id=\"credential\" hidden><label for=\"key\">Key or ballot token for the requests sent from here \
         (kept in this page only)</label> <input id=\"key\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\"></p>\n\
         <noscript><p>Without a script this page can be read; requests cannot be sent from it.</p></noscript>\n\
         </header>\n<nav aria-label=\"Operations\"><ul>\n{contents}<li><a href=\"#schemas\">Schemas</a></li>\n</ul></nav>\n\
         <main id=\"main\">\n{main}<section id=\"schemas\">\n<h2>Schemas</h2>\n{shapes}</section>\n</main>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}

fn anchor(tag: &str) -> String {
    let words = tag.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold("tag".to_owned(), |id, word| format!("{id}-{}", word.to_ascii_lowercase()))
}

fn link(route: &Route) -> String {
    format!("<li><a href=\"#{}\">{}</a></li>", operation_id(route), escape(route.summary))
}

fn operation(route: &Route) -> String {
    let id = operation_id(route);
    let help =
        if route.help.is_empty() { String::new() } else { format!("<p>{}</p>\n", with_code(route.help)) };
    format!(
        "<article id=\"{id}\">\n<details>\n<summary><h3><span class=\"method\">{method}</span> <code>{path}</code> \
         <span class=\"summary\">{summary}</span></h3></summary>\n{help}<p>May be called by {access}.</p>\n\
         {parameters}{body}{answers}{problems}{form}</details>\n</article>\n",
        method = route.method,
        path = escape(&plain_path(route.path)),
        summary = escape(route.summary),
        access = access(route.access),
        parameters = parameter_table(route),
        body = body_line(route),
        answers = answer_list(route),
        problems = problem_list(route),
        form = form(route, &id),
    )
}

fn access(access: Access) -> String {
    if access == Access::Public {
        return "anybody, without a key".to_owned();
    }
    let scopes = access.scopes().iter().map(|scope| format!("<code>{}</code>", scope.as_str()));
    let mut who: Vec<String> = scopes.collect();
    if access.takes_ballot_tokens() {
        who.push("the holder of a ballot token".to_owned());
    }
    who.join(", ")
}

fn parameter_table(route: &Route) -> String {
    let mut rows = String::new();
    for parameter in parameters(route) {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}, {}</td><td>{}</td><td><code>{}</code></td></tr>",
            escape(parameter.name),
            parameter.place.as_str(),
            if parameter.required { "required" } else { "optional" },
            with_code(parameter.help),
            linked(&(parameter.schema)().to_string()),
        );
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<table>\n<caption>Parameters</caption>\n<tr><th scope=\"col\">name</th><th scope=\"col\">where</th>\
         <th scope=\"col\">what</th><th scope=\"col\">schema</th></tr>\n{rows}</table>\n"
    )
}

fn body_line(route: &Route) -> String {
    match route.body {
        Body::None => String::new(),
        Body::Required(schema) => format!("<p>Body: {}</p>\n", to_shape(schema)),
        Body::Optional(schema) => format!("<p>Body, may be left out: {}</p>\n", to_shape(schema)),
    }
}

fn answer_list(route: &Route) -> String {
    let items = route.answers.iter().map(|answer| {
        let content = match answer.content {
            Content::Nothing => String::new(),
            Content::Page => " A page.".to_owned(),
            Content::Text => " A text.".to_owned(),
            Content::Json(schema) => format!(" {}", to_shape(schema)),
            Content::JsonOf(media_type, schema) => {
                format!(" As <code>{}</code>: {}", escape(media_type), to_shape(schema))
            }
        };
        let names: Vec<String> =
            answer.headers.iter().map(|header| format!("<code>{}</code>", escape(header.name))).collect();
        let heads = if names.is_empty() { String::new() } else { format!(" With {}.", names.join(", ")) };
        format!("<li><strong>{}</strong> {}{content}{heads}</li>\n", answer.status, with_code(answer.help))
    });
    format!("<h4>Answers</h4>\n<ul>\n{}</ul>\n", items.collect::<String>())
}

fn problem_list(route: &Route) -> String {
    let items = problems(route).into_iter().map(|problem| {
        let (code, status, title) = (problem.code, problem.status, escape(problem.title));
        format!("<li><strong>{status}</strong> <a href=\"/docs/problems#{code}\"><code>{code}</code></a> {title}</li>\n")
    });
    format!("<h4>Problems</h4>\n<ul>\n{}</ul>\n", items.collect::<String>())
}

/// Hidden until the script has given it a meaning.
fn form(route: &Route, id: &str) -> String {
    let mut fields = String::new();
    for parameter in parameters(route) {
        let place = parameter.place.as_str();
        let (name, field) = (escape(parameter.name), format!("{id}-{place}-{}", escape(parameter.name)));
        let rest = parameter.place == Place::Path && route.path.contains(&format!("{{*{}}}", parameter.name));
        let _ = writeln!(
            fields,
            "<p><label for=\"{field}\">{name}</label> <input id=\"{field}\" name=\"{name}\" data-place=\"{place}\"{rest}{required} \
             autocomplete=\"off\" spellcheck=\"false\"></p>",
            rest = if rest { " data-rest" } else { "" },
            required = if parameter.required { " required" } else { "" },
        );
    }
    if let Body::Required(schema) | Body::Optional(schema) = route.body {
        let example = (schema.make)()["examples"][0].clone();
        let example = if example.is_null() { String::new() } else { escape(&format!("{example:#}")) };
        let _ = writeln!(
            fields,
            "<p><label for=\"{id}-body\">Body</label> <textarea id=\"{id}-body\" name=\"body\" rows=\"8\" \
             spellcheck=\"false\">{example}</textarea></p>"
        );
    }
    format!(
        "<form hidden data-method=\"{method}\" data-path=\"{path}\"{public}>\n<h4>Try it</h4>\n{fields}\
         <p><button type=\"submit\">Send {method}</button></p>\n\
         <output aria-live=\"polite\" aria-label=\"The answer\" hidden></output>\n</form>\n",
        method = route.method,
        path = escape(&plain_path(route.path)),
        public = if route.access == Access::Public { " data-public" } else { "" },
    )
}

fn shape(schema: Schema) -> String {
    let value: Value = (schema.make)();
    let name = schema.name;
    format!(
        "<article id=\"schema-{name}\">\n<h3>{name}</h3>\n<pre>{}</pre>\n</article>\n",
        linked(&format!("{value:#}"))
    )
}

fn to_shape(schema: Schema) -> String {
    format!("<a href=\"#schema-{0}\"><code>{0}</code></a>", schema.name)
}

/// A schema as text, its references as links within the page.
fn linked(text: &str) -> String {
    let mut page = String::new();
    let mut parts = text.split("#/components/schemas/");
    page.push_str(&escape(parts.next().unwrap_or_default()));
    for part in parts {
        let (name, rest) =
            part.split_at(part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len()));
        let _ = write!(page, "<a href=\"#schema-{name}\">#/components/schemas/{name}</a>{}", escape(rest));
    }
    page
}
