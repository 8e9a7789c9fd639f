//! Turns rows of the hot path into the model. A value that the schema rules out becomes an error that names
//! table, column and row, never a default.

use serde_json::Value;
use tokio_postgres::Row;

use super::domain_path::DomainPath;
use super::model::{Domain, Kind, Policies, Purl, QueryPolicy, Status, TrailingSlash, Variant};
use super::variant;
use crate::db;

/// What the schema rules out and was read all the same.
#[derive(Debug, thiserror::Error)]
#[error("impossible value in {table}.{column} of row {row}")]
pub struct Impossible {
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
    /// What identifies the row.
    pub row: i64,
}

impl From<Impossible> for db::Error {
    fn from(impossible: Impossible) -> Self {
        Self::Internal(Box::new(impossible))
    }
}

/// The policies of a domain from their columns.
pub fn policies(
    domain_id: i64,
    trailing_slash: &str,
    query_policy: &str,
    default_status: i16,
    cache_seconds: i32,
) -> Result<Policies, Impossible> {
    let impossible = |column| Impossible { table: "domain_state", column, row: domain_id };
    Ok(Policies {
        trailing_slash: TrailingSlash::parse(trailing_slash).map_err(|_| impossible("trailing_slash"))?,
        query: QueryPolicy::parse(query_policy).map_err(|_| impossible("query_policy"))?,
        default_status: Status::parse(default_status.into()).map_err(|_| impossible("default_status"))?,
        cache_seconds,
    })
}

/// The status of a name from its column.
pub fn status(purl_id: i64, column: i16) -> Result<u16, Impossible> {
    u16::try_from(column).map_err(|_| Impossible { table: "purls", column: "status", row: purl_id })
}

/// The kind of a name from its column.
pub fn kind(purl_id: i64, column: Option<&str>) -> Result<Kind, Impossible> {
    Kind::from_stored(column).map_err(|_| Impossible { table: "purls", column: "kind", row: purl_id })
}

/// The variants of a name from their column.
pub fn variants(purl_id: i64, column: Option<&Value>) -> Result<Box<[Variant]>, Impossible> {
    variant::from_stored(column).map(Vec::into_boxed_slice).map_err(|_| Impossible {
        table: "purls",
        column: "variants",
        row: purl_id,
    })
}

/// A domain from the columns of `domains` and `domain_state`; `domain_updated_at` is the latter's.
pub fn domain(row: &Row) -> Result<Domain, db::Error> {
    let domain_id = row.try_get("domain_id")?;
    Ok(Domain {
        domain_id,
        path: DomainPath::from_stored(row.try_get("path")?),
        home_tenant_id: row.try_get("home_tenant_id")?,
        owner_tenant_id: row.try_get("owner_tenant_id")?,
        generation: row.try_get("generation")?,
        has_names: row.try_get("has_names")?,
        case_insensitive: row.try_get("case_insensitive")?,
        policies: policies(
            domain_id,
            row.try_get("trailing_slash")?,
            row.try_get("query_policy")?,
            row.try_get("default_status")?,
            row.try_get("cache_seconds")?,
        )?,
        rules_revision: row.try_get("rules_revision")?,
        created_at: row.try_get("domain_created_at")?,
        updated_at: row.try_get("domain_updated_at")?,
    })
}

/// A name from the columns of `purls`.
pub fn purl(row: &Row) -> Result<Purl, db::Error> {
    let purl_id = row.try_get("purl_id")?;
    Ok(Purl {
        purl_id,
        name_key: row.try_get("name_key")?,
        name: row.try_get("name")?,
        revision: row.try_get("revision")?,
        status: status(purl_id, row.try_get("status")?)?,
        kind: kind(purl_id, row.try_get("kind")?)?,
        target: row.try_get("target")?,
        variants: variants(purl_id, row.try_get::<_, Option<Value>>("variants")?.as_ref())?,
        valid_until: row.try_get("valid_until")?,
        tombstone_reason: row.try_get("tombstone_reason")?,
        successor: row.try_get("successor")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
