//! `resolute import`, with the operator's rights: names from files, one line on standard output for every line of a file;
//! rules from files, whole or not at all. Exit status 0 only if everything was imported or had been before.

mod htaccess;
mod names;
mod obo;
mod printer;

use anyhow::anyhow;
use clap::Subcommand;
use serde_json::{Value, json};

use super::database::Place;
use super::{Outcome, shown};
use crate::purl::import::rule_files::Finding;
use crate::purl::import::source::Format;
use crate::tenancy::store;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// CSV with the columns domain, name, target and, optional, status, kind, `valid_until`, reason, successor.
    Csv(names::Args),
    /// JSON Lines: an object a line with the same members, and variants.
    Jsonl(names::Args),
    /// Batch XML of PURLz. A name is in the deepest domain that there is above it, else in that of its path without the
    /// last segment.
    PurlzXml(names::Args),
    /// Rules of the OBO Foundry's PURLs, from its YAML files.
    Obo(obo::OboArgs),
    /// Rules from a tree of Apache's `.htaccess` files, as w3id.org keeps them.
    Htaccess(htaccess::HtaccessArgs),
}

pub async fn run(command: &Command, place: &Place) -> Outcome {
    let database = place.connect().await?;
    let db = &database.db;
    let done = match command {
        Command::Csv(args) => names::import(Format::Csv, args, place, db).await,
        Command::Jsonl(args) => names::import(Format::Jsonl, args, place, db).await,
        Command::PurlzXml(args) => names::import(Format::PurlzXml, args, place, db).await,
        Command::Obo(args) => obo::import(args, place, db).await,
        Command::Htaccess(args) => htaccess::import(args, place, db).await,
    };
    database.close().await?;
    done
}

/// Id of the tenant with this slug.
async fn tenant(db: &crate::db::Db, slug: &str) -> anyhow::Result<i64> {
    let tenant = store::find_tenant(db.management(), slug).await?;
    Ok(tenant.ok_or_else(|| anyhow!("there is no tenant `{slug}`"))?.tenant_id)
}

/// What is said about a line of a file of rules, as a line of the report.
fn finding(finding: &Finding, word: &str, as_json: bool) -> String {
    let Finding { file, line, detail } = finding;
    if as_json {
        let line = line.map_or(Value::Null, Value::from);
        return json!({"file": file, "line": line, "outcome": word, "reason": detail}).to_string();
    }
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}: {word}: {}", shown(file), shown(detail))
}
