//! The forms of what is known of a path. Everything stored is escaped: it was written by somebody else.

use std::fmt::Write as _;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::http::html::escape;
use crate::purl::accept::MediaType;
use crate::purl::model::{Domain, Purl, State};
use crate::purl::{raw_path, variant};

/// What answers the path.
pub enum Answering<'a> {
    /// A name, or one that is a prefix of the path.
    Name {
        /// The name.
        purl: &'a Purl,
        /// What it is now.
        state: State,
        /// Where the path leads without a query, if it leads anywhere.
        leads_to: Option<String>,
    },
    /// A rule of the domain.
    Rule {
        /// What it answers; none: the request begins again with another path.
        status: Option<u16>,
        /// Where the path leads without a query.
        leads_to: Option<String>,
    },
}

/// What is known of a path.
pub struct Info<'a> {
    /// Scheme and host of this server.
    pub origin: &'a str,
    /// As it was asked for, with its slash.
    pub path: String,
    /// The domain that it is in.
    pub domain: &'a Domain,
    /// What answers it there.
    pub answering: Answering<'a>,
}

/// A fact for people: what it is, the text, and whether that is an address.
type Fact = (&'static str, String, bool);

impl Info<'_> {
    fn url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    fn purl(&self) -> Option<&Purl> {
        match &self.answering {
            Answering::Name { purl, .. } => Some(purl),
            Answering::Rule { .. } => None,
        }
    }

    fn leads_to(&self) -> Option<&str> {
        let (Answering::Name { leads_to, .. } | Answering::Rule { leads_to, .. }) = &self.answering;
        leads_to.as_deref()
    }

    /// As an object, with every member in every answer.
    pub fn json(&self) -> Value {
        let policies = &self.domain.policies;
        let purl = self.purl();
        let (by, state, status) = match &self.answering {
            Answering::Name { purl, state, .. } => ("name", Some(state.as_str()), Some(purl.status)),
            Answering::Rule { status, .. } => ("rule", None, *status),
        };
        json!({
            "url": self.url(),
            "answered_by": by,
            "leads_to": self.leads_to(),
            "status": status,
            "state": state,
            "name": purl.map(|purl| &purl.name),
            "kind": purl.map(|purl| purl.kind.as_str()),
            "target": purl.and_then(|purl| purl.target.as_ref()),
            "variants": purl.map(|purl| variant::to_json(&purl.variants)),
            "valid_until": purl.and_then(|purl| purl.valid_until.and_then(written)),
            "reason": purl.and_then(|purl| purl.tombstone_reason.as_ref()),
            "successor": purl.and_then(|purl| purl.successor.as_ref()),
            "revision": purl.map(|purl| purl.revision),
            "created_at": purl.and_then(|purl| written(purl.created_at)),
            "updated_at": purl.and_then(|purl| written(purl.updated_at)),
            "domain": {
                "path": self.domain.path.to_string(),
                "url": format!("{}/{}", self.origin, raw_path::encode(self.domain.path.as_str())),
                "case_insensitive": self.domain.case_insensitive,
                "normalization": "NFC",
                "trailing_slash": policies.trailing_slash.as_str(),
                "query": policies.query.as_str(),
                "cache_seconds": policies.cache_seconds,
            },
        })
    }

    /// As linked data, in the terms of Dublin Core.
    pub fn json_ld(&self) -> Value {
        let link = |address: Option<&str>| address.map(|address| json!({"@id": address}));
        let purl = self.purl();
        let instant = |at: Option<OffsetDateTime>| {
            at.and_then(written).map(|at| json!({"@value": at, "@type": "xsd:dateTime"}))
        };
        let formats: Vec<Value> = purl
            .map(|purl| purl.variants.as_ref())
            .unwrap_or_default()
            .iter()
            .map(|variant| {
                let media_type = variant.media_type.as_ref().map(MediaType::as_str);
                json!({"@id": variant.target, "dcterms:format": media_type, "dcterms:language": variant.language})
            })
            .collect();
        let mut object = json!({
            "@context": {
                "dcterms": "http://purl.org/dc/terms/",
                "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
                "xsd": "http://www.w3.org/2001/XMLSchema#",
            },
            "@id": self.url(),
            "dcterms:identifier": self.url(),
            "rdfs:seeAlso": link(self.leads_to()),
            "dcterms:hasFormat": formats,
            "dcterms:isReplacedBy": link(purl.and_then(|purl| purl.successor.as_deref())),
            "dcterms:created": instant(purl.map(|purl| purl.created_at)),
            "dcterms:modified": instant(purl.map(|purl| purl.updated_at)),
            "dcterms:valid": instant(purl.and_then(|purl| purl.valid_until)),
            "dcterms:description": purl.and_then(|purl| purl.tombstone_reason.as_deref()),
        });
        if let Some(members) = object.as_object_mut() {
            members
                .retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        }
        object
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts: Vec<Fact> = vec![("Address", self.url(), true)];
        facts.extend(self.leads_to().map(|leads_to| ("Leads to", leads_to.to_owned(), true)));
        match &self.answering {
            Answering::Name { purl, state, .. } => {
                facts.push(("State", state.as_str().to_owned(), false));
                facts.push(("Name", purl.name.clone(), false));
                facts.push(("Kind", purl.kind.as_str().to_owned(), false));
                facts.push(("Status", purl.status.to_string(), false));
                facts.extend(purl.target.clone().map(|target| ("Target", target, true)));
                for variant in &purl.variants {
                    let media_type = variant.media_type.as_ref().map(MediaType::as_str);
                    let told_by: Vec<&str> =
                        media_type.into_iter().chain(variant.language.as_deref()).collect();
                    facts.push(("Variant", format!("{}: {}", told_by.join(", "), variant.target), false));
                }
                facts.extend(purl.valid_until.and_then(written).map(|until| ("Valid until", until, false)));
                facts.extend(purl.tombstone_reason.clone().map(|reason| ("Reason", reason, false)));
                facts.extend(purl.successor.clone().map(|successor| ("Use instead", successor, true)));
                facts.push(("Revision", purl.revision.to_string(), false));
                facts.extend(written(purl.created_at).map(|at| ("Made", at, false)));
                facts.extend(written(purl.updated_at).map(|at| ("Last changed", at, false)));
            }
            Answering::Rule { status, .. } => {
                facts.push(("Answered by", "a rule of the domain".to_owned(), false));
                facts.extend(status.map(|status| ("Status", status.to_string(), false)));
            }
        }
        let policies = &self.domain.policies;
        let case = if self.domain.case_insensitive { "ignored (ASCII)" } else { "matters" };
        facts.push(("Domain", format!("/{}", self.domain.path), false));
        facts.push(("Case of letters", case.to_owned(), false));
        facts.push(("Unicode", "names are matched in NFC".to_owned(), false));
        facts.push(("Final slash", policies.trailing_slash.as_str().to_owned(), false));
        facts.push(("Query", policies.query.as_str().to_owned(), false));
        facts
    }

    /// As a page.
    pub fn page(&self) -> String {
        let title = escape(&self.path);
        let mut rows = String::new();
        for (label, text, is_address) in self.facts() {
            let text = escape(&text);
            let is_link = is_address && (text.starts_with("https://") || text.starts_with("http://"));
            let shown =
                if is_link { format!("<a rel=\"nofollow\" href=\"{text}\">{text}</a>") } else { text };
            // Writing to a String does not fail.
            let _ = writeln!(rows, "<dt>{label}</dt><dd>{shown}</dd>");
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
             <body>\n<h1>{title}</h1>\n<dl>\n{rows}</dl>\n</body>\n</html>\n"
        )
    }

    /// As an electronic resource citation, the form in which ARKs tell of themselves: who, what, when, where, then the
    /// rest; a line each.
    pub fn erc(&self) -> String {
        let when = self.purl().and_then(|purl| written(purl.created_at));
        let what = self.purl().map_or(self.path.as_str(), |purl| purl.name.as_str());
        let mut text = String::from("erc:\n");
        let mut line = |label: &str, value: &str| {
            let value: String =
                value.chars().map(|found| if found.is_control() { ' ' } else { found }).collect();
            let _ = writeln!(text, "{label}: {value}");
        };
        line("who", "(:unav)");
        line("what", what);
        line("when", when.as_deref().unwrap_or("(:unav)"));
        line("where", &self.url());
        for (label, value, _) in self.facts().iter().skip(1) {
            line(&label.to_lowercase().replace(' ', "-"), value);
        }
        text
    }
}

fn written(at: OffsetDateTime) -> Option<String> {
    at.format(&Rfc3339).ok()
}
