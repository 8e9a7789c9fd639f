//! The domains of a tenant, page by page.

use sqlx::PgPool;
use time::OffsetDateTime;

use crate::db;
use crate::db::keyset::{Listing, Page, Seek, Window};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Domain;
use crate::purl::row;

/// In order of path; the root domain, whose path is empty, first.
pub static DOMAINS: Listing<String> =
    Listing { name: "domains", index: "domains_owner_tenant_id_idx", start: String::new() };

/// A domain with its state row.
pub(super) struct DomainRow {
    pub(super) domain_id: i64,
    pub(super) path: String,
    pub(super) home_tenant_id: i64,
    pub(super) owner_tenant_id: i64,
    pub(super) created_at: OffsetDateTime,
    pub(super) generation: i64,
    pub(super) has_names: bool,
    pub(super) case_insensitive: bool,
    pub(super) trailing_slash: String,
    pub(super) query_policy: String,
    pub(super) default_status: i16,
    pub(super) cache_seconds: i32,
    pub(super) rules_revision: i64,
    pub(super) updated_at: OffsetDateTime,
}

impl TryFrom<DomainRow> for Domain {
    type Error = db::Error;

    fn try_from(found: DomainRow) -> Result<Self, db::Error> {
        let (slash, query) = (&found.trailing_slash, &found.query_policy);
        let policies =
            row::policies(found.domain_id, slash, query, found.default_status, found.cache_seconds)?;
        Ok(Self {
            domain_id: found.domain_id,
            path: DomainPath::from_stored(found.path),
            home_tenant_id: found.home_tenant_id,
            owner_tenant_id: found.owner_tenant_id,
            generation: found.generation,
            has_names: found.has_names,
            case_insensitive: found.case_insensitive,
            policies,
            rules_revision: found.rules_revision,
            created_at: found.created_at,
            updated_at: found.updated_at,
        })
    }
}

/// Domains that a tenant owns. With `limits` (of a key), those among them and what lies below them: see
/// [`crate::purl::rules::may_use_domain`].
pub async fn list_owned(
    pool: &PgPool,
    owner_tenant_id: i64,
    limits: Option<&[i64]>,
    window: &Window<String>,
) -> Result<Page<Domain, String>, db::Error> {
    let rows = match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                DomainRow,
                "/* list domains */
                 SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at, s.generation,
                        s.has_names, s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status,
                        s.cache_seconds, s.rules_revision, s.updated_at
                 FROM domains d
                 JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
                 WHERE d.owner_tenant_id = $1 AND d.path >= $2
                   AND ($3::bigint[] IS NULL OR EXISTS (
                       SELECT FROM domains l WHERE l.domain_id = ANY ($3)
                         AND (l.path IN ('', d.path) OR starts_with(d.path, l.path || '/'))))
                 ORDER BY d.path LIMIT $4",
                owner_tenant_id,
                cut,
                limits,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                DomainRow,
                "/* list domains */
                 SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at, s.generation,
                        s.has_names, s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status,
                        s.cache_seconds, s.rules_revision, s.updated_at
                 FROM domains d
                 JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
                 WHERE d.owner_tenant_id = $1 AND d.path < $2
                   AND ($3::bigint[] IS NULL OR EXISTS (
                       SELECT FROM domains l WHERE l.domain_id = ANY ($3)
                         AND (l.path IN ('', d.path) OR starts_with(d.path, l.path || '/'))))
                 ORDER BY d.path DESC LIMIT $4",
                owner_tenant_id,
                cut,
                limits,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    let domains = rows.into_iter().map(Domain::try_from).collect::<Result<_, _>>()?;
    Ok(window.page(domains, |domain: &Domain| domain.path.as_str().to_owned()))
}
