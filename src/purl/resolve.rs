//! Reads what answers a request: the domain and those of its names that could match, in one statement and
//! one round trip. Which of them answers is decided by `rules::choose`. Nothing is cached yet.

use tokio_postgres::types::Type;

use super::model::{Domain, Purl};
use super::raw_path::RawPath;
use super::{name, row};
use crate::db::statement::{Statement, flight};
use crate::db::{self, Db};

/// The longest domain of the request and its names among the candidates.
///
/// `$1` domain paths; `$2` candidate names as full paths, `$3` the same folded: the domain, found by this
/// very statement, says which of them count and how much of each is its own path. Folding keeps lengths.
pub const RESOLVE: Statement = Statement {
    name: "purl_resolve",
    sql: "/* purl_resolve */
WITH domain AS MATERIALIZED (
    SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at AS domain_created_at,
           s.generation, s.has_names, s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status,
           s.cache_seconds, s.updated_at AS domain_updated_at,
           CASE WHEN d.path = '' THEN 0 ELSE char_length(d.path) + 1 END AS own_length
    FROM domains d
    JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
    WHERE d.path = ANY ($1)
    ORDER BY octet_length(d.path) DESC
    LIMIT 1)
SELECT d.*, p.purl_id, p.name_key, p.name, p.revision, p.status, p.is_partial, p.target, p.valid_until,
       p.tombstone_reason, p.successor, p.created_at, p.updated_at
FROM domain d
CROSS JOIN LATERAL (
    SELECT array_agg(substr(c.path, d.own_length + 1)) AS keys
    FROM unnest(CASE WHEN d.case_insensitive THEN $3 ELSE $2 END) AS c (path)
    WHERE char_length(c.path) > d.own_length) AS candidates
LEFT JOIN purls p ON d.has_names AND p.tenant_id = d.home_tenant_id AND p.domain_id = d.domain_id
    AND p.name_key = ANY (candidates.keys)",
    types: &[Type::TEXT_ARRAY, Type::TEXT_ARRAY, Type::TEXT_ARRAY],
};

/// The domains among some paths, the longest last.
pub const DIRECTORY: Statement = Statement {
    name: "purl_directory",
    sql: "/* purl_directory */
SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at AS domain_created_at,
       s.generation, s.has_names, s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status, s.cache_seconds,
       s.updated_at AS domain_updated_at
FROM domains d
JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
WHERE d.path = ANY ($1)
ORDER BY octet_length(d.path)",
    types: &[Type::TEXT_ARRAY],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] = &[&RESOLVE, &DIRECTORY];

/// The domain that a request reaches, with those of its names that could answer.
#[derive(Debug)]
pub struct Found {
    /// The longest domain whose path is a prefix of the request.
    pub domain: Domain,
    /// Names with one of the candidate keys.
    pub names: Vec<Purl>,
}

/// Looks a request up; `None` where no domain covers it.
pub async fn find(db: &Db, request: &RawPath<'_>) -> Result<Option<Found>, db::Error> {
    let domains = request.domain_prefixes();
    let candidates = request.name_candidates();
    let folded: Vec<String> = candidates.iter().map(|path| name::fold(path, true)).collect();
    let client = db.hot().await?;
    let statement = RESOLVE.prepare(&client).await?;
    let rows = flight(1, client.query(&statement, &[&domains, &candidates, &folded])).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let mut names = Vec::with_capacity(rows.len());
    for found in &rows {
        if found.try_get::<_, Option<i64>>("purl_id")?.is_some() {
            names.push(row::purl(found)?);
        }
    }
    Ok(Some(Found { domain: row::domain(first)?, names }))
}

/// The registered domains among these paths, the longest last.
pub async fn list_domains(db: &Db, paths: &[&str]) -> Result<Vec<Domain>, db::Error> {
    let client = db.hot().await?;
    let statement = DIRECTORY.prepare(&client).await?;
    let rows = flight(1, client.query(&statement, &[&paths])).await?;
    rows.iter().map(row::domain).collect()
}
