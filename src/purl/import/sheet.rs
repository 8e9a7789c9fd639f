//! What a row of an imported file means, and whether it is a valid name. Pure: which domains there are is passed in.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use time::OffsetDateTime;

use crate::http::fields;
use crate::purl::domain_path::{self, DomainPath};
use crate::purl::model::{Kind, Status, TOMBSTONE, Variant};
use crate::purl::name::Name;
use crate::purl::target::{OwnAddress, Target};
use crate::purl::variant;

/// Longest reason of a tombstone, in bytes.
const MAX_REASON: usize = 1_024;

/// A row, as written. What a file does not give is none: the default for a new name, no change for one that exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Path of the domain; `/` is the root domain.
    pub domain: String,
    /// The name.
    pub name: String,
    /// The target; empty where the status needs none.
    pub target: String,
    /// The status; 410 is a tombstone.
    pub status: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// When it expires.
    pub valid_until: Option<String>,
    /// Other targets.
    pub variants: Option<Value>,
    /// Why it is a tombstone.
    pub reason: Option<String>,
    /// What to use instead of a tombstone.
    pub successor: Option<String>,
}

/// Reads the cell of a domain. An empty one is a mistake more often than the root domain, which is `/`.
pub fn domain(text: &str) -> Result<DomainPath, String> {
    if text.is_empty() {
        return Err("the domain is empty; the root domain is written /".to_owned());
    }
    DomainPath::parse(text).map_err(|fault| fault.to_string())
}

/// The domains of a file as far as they can be used, and the tree in which they stand.
#[derive(Debug, Default)]
pub struct Places {
    /// For each domain cell: the path and whether it ignores case, or why it cannot be used.
    pub by_text: HashMap<String, Result<(DomainPath, bool), String>>,
    /// Paths of all domains, those that the file will make included.
    pub tree: HashSet<String>,
}

impl Places {
    /// The deeper domain that would answer for a name in its own domain's place.
    pub fn swallower<'a>(&self, domain: &str, full_path: &'a str) -> Option<&'a str> {
        let deepest =
            domain_path::candidates(full_path).into_iter().rev().find(|path| self.tree.contains(*path))?;
        (deepest.len() > domain.len()).then_some(deepest)
    }
}

/// A row that can be staged.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Its domain.
    pub domain: DomainPath,
    /// Its name.
    pub name: Name,
    /// What the name is unique by.
    pub name_key: String,
    /// Where it points; none only with a status that needs no target.
    pub target: Option<Target>,
    /// How it answers; none: the domain's default, or as it is.
    pub status: Option<u16>,
    /// Its kind, if the row gives one.
    pub kind: Option<Kind>,
    /// When it expires, if the row says so.
    pub valid_until: Option<OffsetDateTime>,
    /// Other targets, if the row gives any, or an empty list.
    pub variants: Option<Vec<Variant>>,
    /// Why it is a tombstone.
    pub reason: Option<String>,
    /// What to use instead of a tombstone.
    pub successor: Option<Target>,
}

/// Checks a row, or says what is wrong with it.
pub fn check(row: &Row, places: &Places, own: &OwnAddress) -> Result<Checked, String> {
    let unknown = || Err("the domain was not there when the file was read first".to_owned());
    let (domain, case_insensitive) = places.by_text.get(&row.domain).cloned().unwrap_or_else(unknown)?;
    let name = Name::parse_in(&row.name, &domain).map_err(|fault| fault.to_string())?;
    let status = row.status.as_deref().map(status).transpose()?;
    let target = Some(row.target.as_str()).filter(|text| !text.is_empty());
    let target =
        target.map(|text| Target::parse(text, own).map_err(|fault| fault.to_string())).transpose()?;
    if target.is_none() && !status.is_some_and(needs_no_target) {
        return Err("the target is empty; only the statuses 404 and 410 need none".to_owned());
    }
    let kind =
        row.kind.as_deref().map(Kind::parse).transpose().map_err(|error| format!("the kind {error}"))?;
    let valid_until = row.valid_until.as_deref().map(instant).transpose()?;
    let variants = row.variants.as_ref().map(|value| variants(value, own)).transpose()?;
    if status.is_some_and(needs_no_target) && variants.as_ref().is_some_and(|variants| !variants.is_empty()) {
        return Err("variants are of no use with the statuses 404 and 410".to_owned());
    }
    let (reason, successor) = tombstone(row, status, own)?;
    if let Some(deeper) = places.swallower(domain.as_str(), &domain.join(name.as_str())) {
        return Err(format!("requests for it reach the domain `{deeper}`; give the name there"));
    }
    let name_key = name.key(case_insensitive);
    Ok(Checked { domain, name, name_key, target, status, kind, valid_until, variants, reason, successor })
}

fn needs_no_target(status: u16) -> bool {
    status == 404 || status == TOMBSTONE
}

/// A status that a name may be given, or 410.
fn status(text: &str) -> Result<u16, String> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("the status {text:?} is no number"))?;
    if number == i64::from(TOMBSTONE) {
        return Ok(TOMBSTONE);
    }
    Status::parse(number).map(Status::code).map_err(|error| format!("the status {error}, or be 410"))
}

fn instant(text: &str) -> Result<OffsetDateTime, String> {
    fields::instant(&Value::from(text)).map_err(|error| format!("valid_until {error}"))
}

fn variants(value: &Value, own: &OwnAddress) -> Result<Vec<Variant>, String> {
    let unreadable = "variants must be a list of objects with a type, a language or both, and a target";
    let variants = variant::from_stored(Some(value)).map_err(|_| unreadable.to_owned())?;
    variant::check(&variants, own).map(|()| variants)
}

/// Reason and successor, which only a tombstone has.
fn tombstone(
    row: &Row,
    status: Option<u16>,
    own: &OwnAddress,
) -> Result<(Option<String>, Option<Target>), String> {
    let given = row.reason.is_some() || row.successor.is_some();
    if given && status != Some(TOMBSTONE) {
        return Err("reason and successor go with the status 410 only".to_owned());
    }
    if row.reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON || reason.contains('\0')) {
        return Err(format!("the reason must have at most {MAX_REASON} bytes, and no NUL"));
    }
    let successor = row.successor.as_deref().map(|text| Target::parse(text, own)).transpose();
    Ok((row.reason.clone(), successor.map_err(|fault| format!("the successor: {fault}"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_checked() {
        let mut places = Places::default();
        for path in ["d", "d/deep"] {
            places.tree.insert(path.into());
        }
        places.by_text.insert("d".into(), Ok((DomainPath::parse("d").unwrap(), true)));
        places.by_text.insert("x".into(), Err("not yours".into()));
        let row = |domain: &str, name: &str, target: &str, status: Option<&str>| {
            let row = Row {
                domain: domain.into(),
                name: name.into(),
                target: target.into(),
                status: status.map(Into::into),
                ..Row::default()
            };
            check(&row, &places, &OwnAddress::new("https://own.example"))
        };
        assert_eq!(row("d", "Name", "https://e.org/", Some("303")).unwrap().name_key, "name");
        assert_eq!(row("x", "n", "https://e.org/", None).unwrap_err(), "not yours");
        assert!(row("d", "", "https://e.org/", None).unwrap_err().contains("empty"));
        assert!(row("d", "n", "javascript:x", None).unwrap_err().contains("scheme"));
        assert!(row("d", "n", "https://own.example/x", None).unwrap_err().contains("this server"));
        assert!(row("d", "n", "https://e.org/", Some("200")).unwrap_err().contains("301"));
        assert!(row("d", "n", "https://e.org/", Some("x")).unwrap_err().contains("no number"));
        assert!(row("d", "deep/n", "https://e.org/", None).unwrap_err().contains("`d/deep`"));
        assert!(row("d", "deeper", "https://e.org/", None).is_ok());
        assert_eq!(domain("").unwrap_err(), "the domain is empty; the root domain is written /");
        assert!(domain("/").unwrap().is_root());
    }
}
