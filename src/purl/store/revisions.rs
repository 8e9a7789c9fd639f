//! The history of a name, page by page. The row in `purls` is its newest state; the others are in `purl_revisions`.

use serde_json::Value;
use sqlx::PgPool;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::db;
use crate::db::keyset::{Listing, Page, Seek, Window};
use crate::purl::model::{Domain, Kind, Variant};
use crate::purl::row;

/// The newest first.
pub static REVISIONS: Listing<i64> =
    Listing { name: "revisions", index: "purl_revisions_pkey", start: i64::MAX };

/// One state of a name, current or superseded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub revision: i64,
    /// 301, 302, 303, 307, 308, 404 or 410.
    pub status: u16,
    /// Whether it answered for everything below it.
    pub kind: Kind,
    /// Where it pointed.
    pub target: Option<String>,
    /// Other targets.
    pub variants: Box<[Variant]>,
    /// When it was to expire.
    pub valid_until: Option<OffsetDateTime>,
    /// Of a tombstone: why.
    pub tombstone_reason: Option<String>,
    /// Of a tombstone: what to use instead.
    pub successor: Option<String>,
    /// From when it was in force.
    pub written_at: OffsetDateTime,
    /// The key that wrote it; none from the command line.
    pub written_by: Option<Uuid>,
    /// Until when it was in force; none for the current one.
    pub superseded_at: Option<OffsetDateTime>,
}

struct RevisionRow {
    revision: i64,
    status: i16,
    kind: Option<String>,
    target: Option<String>,
    variants: Option<Value>,
    valid_until: Option<OffsetDateTime>,
    tombstone_reason: Option<String>,
    successor: Option<String>,
    written_at: OffsetDateTime,
    written_by: Option<Uuid>,
    superseded_at: Option<OffsetDateTime>,
}

impl TryFrom<RevisionRow> for Revision {
    type Error = db::Error;

    fn try_from(found: RevisionRow) -> Result<Self, db::Error> {
        Ok(Self {
            revision: found.revision,
            status: row::status(found.revision, found.status)?,
            kind: row::kind(found.revision, found.kind.as_deref())?,
            target: found.target,
            variants: row::variants(found.revision, found.variants.as_ref())?,
            valid_until: found.valid_until,
            tombstone_reason: found.tombstone_reason,
            successor: found.successor,
            written_at: found.written_at,
            written_by: found.written_by,
            superseded_at: found.superseded_at,
        })
    }
}

/// States of a name, the current one included.
///
/// Two statements: a union would have to be sorted. A write between them is not missed and gives nothing twice,
/// because the second reads only what is older than the state that the first has read.
pub async fn list_revisions(
    pool: &PgPool,
    domain: &Domain,
    name_key: &str,
    window: &Window<i64>,
) -> Result<Page<Revision, i64>, db::Error> {
    let current = find_current(pool, domain, name_key).await?;
    let newest = current.as_ref().map_or(0, |current| current.revision);
    let mut rows = list_superseded(pool, domain, name_key, newest, window).await?;
    match &window.seek {
        Seek::From(cut) if newest <= *cut => rows.splice(0..0, current).for_each(drop),
        Seek::Before(cut) if newest > *cut => rows.extend(current),
        Seek::From(_) | Seek::Before(_) => {}
    }
    rows.truncate(usize::try_from(window.fetch()).unwrap_or(usize::MAX));
    let states = rows.into_iter().map(Revision::try_from).collect::<Result<_, _>>()?;
    Ok(window.page(states, |state: &Revision| state.revision))
}

async fn find_current(
    pool: &PgPool,
    domain: &Domain,
    name_key: &str,
) -> Result<Option<RevisionRow>, sqlx::Error> {
    sqlx::query_as!(
        RevisionRow,
        r#"SELECT revision, status, kind, target, variants, valid_until, tombstone_reason, successor,
                  updated_at AS written_at, updated_by AS written_by, NULL::timestamptz AS superseded_at
           FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3"#,
        domain.home_tenant_id,
        domain.domain_id,
        name_key
    )
    .fetch_optional(pool)
    .await
}

/// The superseded state with this number.
pub async fn find_revision(
    pool: &PgPool,
    domain: &Domain,
    name_key: &str,
    revision: i64,
) -> Result<Option<Revision>, db::Error> {
    let found = sqlx::query_as!(
        RevisionRow,
        r#"SELECT revision, status, kind, target, variants, valid_until, tombstone_reason, successor,
                  written_at, written_by, superseded_at AS "superseded_at?"
           FROM purl_revisions WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3 AND revision = $4"#,
        domain.home_tenant_id,
        domain.domain_id,
        name_key,
        revision
    );
    found.fetch_optional(pool).await?.map(Revision::try_from).transpose()
}

/// The last state before this revision in which the name was no tombstone. It is at most two back: no tombstone follows
/// another.
pub async fn find_last_in_force(
    pool: &PgPool,
    domain: &Domain,
    name_key: &str,
    before: i64,
) -> Result<Option<Revision>, db::Error> {
    let found = sqlx::query_as!(
        RevisionRow,
        r#"SELECT revision, status, kind, target, variants, valid_until, tombstone_reason, successor,
                  written_at, written_by, superseded_at AS "superseded_at?"
           FROM purl_revisions
           WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3 AND revision < $4 AND status <> 410
           ORDER BY revision DESC LIMIT 1"#,
        domain.home_tenant_id,
        domain.domain_id,
        name_key,
        before
    );
    found.fetch_optional(pool).await?.map(Revision::try_from).transpose()
}

/// States older than revision `newest`.
async fn list_superseded(
    pool: &PgPool,
    domain: &Domain,
    name_key: &str,
    newest: i64,
    window: &Window<i64>,
) -> Result<Vec<RevisionRow>, sqlx::Error> {
    match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                RevisionRow,
                r#"/* list revisions */
                   SELECT revision, status, kind, target, variants, valid_until, tombstone_reason, successor,
                          written_at, written_by, superseded_at AS "superseded_at?"
                   FROM purl_revisions
                   WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3 AND revision < $4 AND revision <= $5
                   ORDER BY revision DESC LIMIT $6"#,
                domain.home_tenant_id,
                domain.domain_id,
                name_key,
                newest,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                RevisionRow,
                r#"/* list revisions */
                   SELECT revision, status, kind, target, variants, valid_until, tombstone_reason, successor,
                          written_at, written_by, superseded_at AS "superseded_at?"
                   FROM purl_revisions
                   WHERE tenant_id = $1 AND domain_id = $2 AND name_key = $3 AND revision < $4 AND revision > $5
                   ORDER BY revision LIMIT $6"#,
                domain.home_tenant_id,
                domain.domain_id,
                name_key,
                newest,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await
        }
    }
}
