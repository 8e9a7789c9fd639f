//! One OBO file as it is written. Every fault and every oddity with its line.

use super::yaml::{self, Node, Remark};
use crate::purl::model::Status;

/// Where identifiers of terms lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermBrowser {
    /// ontobee.org.
    Ontobee,
    /// The Ontology Lookup Service.
    Ols,
    /// What the entries say.
    Custom,
}

/// How an entry is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// The base address and this, whole.
    Exact,
    /// The base address and this, at the beginning.
    Prefix,
    /// An expression on the whole path.
    Regex,
}

/// A text and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The text.
    pub text: String,
    /// Its line.
    pub line: usize,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// How it is compared.
    pub kind: EntryKind,
    /// With what.
    pub pattern: Located,
    /// Where it leads.
    pub replacement: String,
    /// How.
    pub status: Status,
}

/// An answer that the file states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is asked for, below the base address.
    pub from: String,
    /// The answer.
    pub to: String,
    /// Where that is stated.
    pub line: usize,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name without path and extension.
    pub name: String,
    /// The prefix of its terms.
    pub idspace: String,
    /// Where it lies, such as `/obo/go`.
    pub base_url: String,
    /// Where its terms lead.
    pub term_browser: TermBrowser,
    /// Where its base address leads.
    pub base_redirect: Option<Located>,
    /// Names beside the base address, and where they lead.
    pub products: Vec<(Located, String)>,
    /// Its entries, in their order.
    pub entries: Vec<Entry>,
    /// The answers that it states.
    pub checks: Vec<Check>,
}

/// Reads a file; with it, what is odd. Every fault at once.
pub fn read(name: &str, text: &str) -> Result<(Document, Vec<Remark>), Vec<Remark>> {
    let yaml = yaml::parse(text).map_err(|fault| vec![fault])?;
    let mut reader = Reader { faults: Vec::new(), warnings: Vec::new() };
    let document = reader.document(name, Node::of(&yaml));
    match document {
        Some(document) if reader.faults.is_empty() => Ok((document, reader.warnings)),
        _ => Err(reader.faults),
    }
}

struct Reader {
    faults: Vec<Remark>,
    warnings: Vec<Remark>,
}

impl Reader {
    /// Notes a fault.
    fn good<T>(&mut self, result: Result<T, Remark>) -> Option<T> {
        result.map_err(|fault| self.faults.push(fault)).ok()
    }

    fn unknown(&mut self, node: Node<'_>, key: &str) {
        self.warnings.push(node.remark(format!("{key:?} is no known key and has no effect")));
    }

    fn document(&mut self, name: &str, node: Node<'_>) -> Option<Document> {
        let fields = self.good(node.map())?;
        let (mut idspace, mut base_url, mut browser, mut base_redirect) = (None, None, None, None);
        let (mut products, mut entries, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        for (key, value) in fields {
            if value.is_null() {
                continue;
            }
            match key {
                "idspace" => idspace = self.good(word(value)),
                "base_url" => base_url = self.good(base(value)),
                "term_browser" => browser = self.good(term_browser(value)),
                "base_redirect" => {
                    base_redirect = self
                        .good(value.text())
                        .map(|text| Located { text: text.to_owned(), line: value.line() });
                }
                "products" => products = self.products(value),
                "entries" => entries = self.entries(value, &mut checks),
                "tests" => checks.append(&mut self.checks(value)),
                "example_terms" => {}
                _ => self.unknown(value, key),
            }
        }
        for (name, missing) in [("idspace", idspace.is_none()), ("base_url", base_url.is_none())] {
            if missing && self.faults.is_empty() {
                self.faults.push(node.remark(format!("`{name}` is missing")));
            }
        }
        Some(Document {
            name: name.to_owned(),
            idspace: idspace?,
            base_url: base_url?,
            term_browser: browser.unwrap_or(TermBrowser::Custom),
            base_redirect,
            products,
            entries,
            checks,
        })
    }

    fn products(&mut self, node: Node<'_>) -> Vec<(Located, String)> {
        let mut products = Vec::new();
        for item in self.good(node.list()).unwrap_or_default() {
            for (key, value) in self.good(item.map()).unwrap_or_default() {
                let product = Located { text: key.to_owned(), line: value.line() };
                products.extend(self.good(value.text()).map(|target| (product, target.to_owned())));
            }
        }
        products
    }

    fn entries(&mut self, node: Node<'_>, checks: &mut Vec<Check>) -> Vec<Entry> {
        let items = self.good(node.list()).unwrap_or_default();
        items.into_iter().filter_map(|item| self.entry(item, checks)).collect()
    }

    fn entry(&mut self, node: Node<'_>, checks: &mut Vec<Check>) -> Option<Entry> {
        let (mut patterns, mut replacement, mut status) = (Vec::new(), None, Status::FOUND);
        for (key, value) in self.good(node.map())? {
            let kind = match key {
                "exact" => EntryKind::Exact,
                "prefix" => EntryKind::Prefix,
                "regex" => EntryKind::Regex,
                "replacement" => {
                    replacement = self.good(value.text());
                    continue;
                }
                "status" => {
                    status = self.good(entry_status(value)).unwrap_or(status);
                    continue;
                }
                "tests" => {
                    checks.append(&mut self.checks(value));
                    continue;
                }
                _ => {
                    self.unknown(value, key);
                    continue;
                }
            };
            let text = self.good(value.text())?.to_owned();
            patterns.push((kind, Located { text, line: value.line() }));
        }
        let mut patterns = patterns.into_iter();
        let (Some((kind, pattern)), None) = (patterns.next(), patterns.next()) else {
            self.faults.push(node.remark("an entry has exactly one of `exact`, `prefix`, `regex`"));
            return None;
        };
        if replacement.is_none() {
            self.faults.push(node.remark("an entry needs a `replacement`"));
        }
        Some(Entry { kind, pattern, replacement: replacement?.to_owned(), status })
    }

    fn checks(&mut self, node: Node<'_>) -> Vec<Check> {
        let mut checks = Vec::new();
        for item in self.good(node.list()).unwrap_or_default() {
            let (mut from, mut to) = (None, None);
            for (key, value) in self.good(item.map()).unwrap_or_default() {
                match key {
                    "from" => from = self.good(value.text()),
                    "to" => to = self.good(value.text()),
                    _ => self.unknown(value, key),
                }
            }
            match (from, to) {
                (Some(from), Some(to)) => {
                    checks.push(Check { from: from.to_owned(), to: to.to_owned(), line: item.line() });
                }
                _ => self.faults.push(item.remark("a test has `from` and `to`")),
            }
        }
        checks
    }
}

fn word(node: Node<'_>) -> Result<String, Remark> {
    let text = node.text()?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
        return Err(node.remark("must be letters, digits, `_` and `-`"));
    }
    Ok(text.to_owned())
}

fn base(node: Node<'_>) -> Result<String, Remark> {
    let text = node.text()?.trim_end_matches('/');
    if text == "/obo" || text.starts_with("/obo/") {
        return Ok(text.to_owned());
    }
    Err(node.remark("must begin with /obo"))
}

fn term_browser(node: Node<'_>) -> Result<TermBrowser, Remark> {
    match node.text()? {
        "ontobee" => Ok(TermBrowser::Ontobee),
        "ols" => Ok(TermBrowser::Ols),
        "custom" => Ok(TermBrowser::Custom),
        _ => Err(node.remark("must be one of ontobee, ols, custom")),
    }
}

fn entry_status(node: Node<'_>) -> Result<Status, Remark> {
    let number = match node.text()? {
        "permanent" => 301,
        "temporary" => 302,
        "see other" => 303,
        _ => return Err(node.remark("must be one of permanent, temporary, see other")),
    };
    Status::parse(number).map_err(|fault| node.remark(fault.to_string()))
}
