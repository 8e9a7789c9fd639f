//! The rules of all domains in memory, compiled: they are few and small, so they answer without the database. Read when
//! the directory says that a domain has others, and compiled beside the requests, which go on with the old ones.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::types::{Json, Type};

use super::model::Domain;
use super::ruleset::Program;
use super::store::rule_sets;
use crate::db::statement::{Statement, flight};
use crate::db::{self, Db};

/// Rules by domain and revision.
const FIND: Statement = Statement {
    name: "purl_domain_rules",
    sql: "/* purl_domain_rules */
SELECT r.domain_id, r.rules
FROM unnest($1, $2, $3) AS i (tenant_id, domain_id, revision)
CROSS JOIN LATERAL (
    SELECT domain_id, rules FROM domain_rules
    WHERE tenant_id = i.tenant_id AND domain_id = i.domain_id AND revision = i.revision OFFSET 0) AS r",
    types: &[Type::INT8_ARRAY, Type::INT8_ARRAY, Type::INT8_ARRAY],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] = &[&FIND];

/// The rules of a domain.
#[derive(Clone, Debug)]
pub struct Loaded {
    revision: i64,
    program: Option<Arc<Program>>,
}

/// The rules of the domains that have some, by their id.
pub type Rulebook = HashMap<i64, Loaded>;

/// The compiled rules of a domain; `None` where it has none, or none that this program understands and never had.
pub fn program(book: &Rulebook, domain: &Domain) -> Option<Arc<Program>> {
    if domain.rules_revision == 0 {
        return None;
    }
    book.get(&domain.domain_id)?.program.clone()
}

/// The rules of those domains that have others than `known` says.
pub async fn load(db: &Db, known: &Rulebook, domains: &[Domain]) -> Result<Rulebook, db::Error> {
    let is_known = |domain: &&Domain| {
        let revision = known.get(&domain.domain_id).map_or(0, |loaded| loaded.revision);
        revision != domain.rules_revision
    };
    let wanted: Vec<Domain> = domains.iter().filter(is_known).cloned().collect();
    if wanted.is_empty() {
        return Ok(Rulebook::new());
    }
    let tenants: Vec<i64> = wanted.iter().map(|domain| domain.home_tenant_id).collect();
    let ids: Vec<i64> = wanted.iter().map(|domain| domain.domain_id).collect();
    let revisions: Vec<i64> = wanted.iter().map(|domain| domain.rules_revision).collect();
    let client = db.hot().await?;
    let statement = FIND.prepare(&client).await?;
    let rows = flight(1, client.query(&statement, &[&tenants, &ids, &revisions])).await?;
    drop(client);
    let mut documents = HashMap::with_capacity(rows.len());
    for row in &rows {
        let Json(document): Json<serde_json::Value> = row.try_get("rules")?;
        documents.insert(row.try_get::<_, i64>("domain_id")?, document);
    }
    let old: HashMap<i64, Option<Arc<Program>>> =
        ids.iter().map(|id| (*id, known.get(id).and_then(|loaded| loaded.program.clone()))).collect();
    let compiling = tokio::task::spawn_blocking(move || {
        let loaded = wanted.into_iter().map(|domain| {
            let old = old.get(&domain.domain_id).cloned().flatten();
            let program = documents.get(&domain.domain_id).map_or(Ok(old.clone()), |document| compile(&domain, document));
            let program = program.unwrap_or_else(|error| {
                // What was in force stays so: better than no answer for a whole domain.
                tracing::error!(domain = %domain.path, revision = domain.rules_revision, %error, "rules cannot be compiled");
                old
            });
            (domain.domain_id, Loaded { revision: domain.rules_revision, program })
        });
        loaded.collect()
    });
    compiling.await.map_err(|error| db::Error::Internal(Box::new(error)))
}

fn compile(domain: &Domain, document: &serde_json::Value) -> Result<Option<Arc<Program>>, db::Error> {
    let rules = rule_sets::read(domain.domain_id, document)?;
    let program = Program::compile(rules, &domain.path, None).map_err(|faults| {
        let first =
            faults.first().map_or_else(String::new, |fault| format!("{} {}", fault.pointer, fault.detail));
        db::Error::Internal(first.into())
    })?;
    Ok(Some(Arc::new(program)))
}
