//! The names of a domain, page by page, all of them or those of one state.

use sqlx::PgPool;
use time::OffsetDateTime;

use super::names::NameRow;
use crate::db;
use crate::db::keyset::{Listing, Page, Seek, Window};
use crate::purl::model::{Domain, Purl, State};

/// All names, or the live ones, which are most of them: in order of the key that requests are matched on.
pub static NAMES: Listing<String> = Listing { name: "names", index: "purls_pkey", start: String::new() };

/// Names of a state that few have, in the same order. An index of their own, because few among many would be
/// looked for in the whole domain.
pub static NAMES_APART: Listing<String> =
    Listing { name: "names apart", index: "purls_apart_idx", start: String::new() };

/// The listing that serves a state.
pub fn listing_of(state: Option<State>) -> &'static Listing<String> {
    match state {
        None | Some(State::Live) => &NAMES,
        Some(State::TemporarilyGone | State::Expired | State::Withdrawn) => &NAMES_APART,
    }
}

/// Names of a domain, tombstones included; with `state`, those that are in it at `now` (see [`Purl::state`]).
pub async fn list_names(
    pool: &PgPool,
    domain: &Domain,
    state: Option<State>,
    now: OffsetDateTime,
    window: &Window<String>,
) -> Result<Page<Purl, String>, db::Error> {
    let rows = match state {
        None => list_main(pool, domain, false, now, window).await?,
        Some(State::Live) => list_main(pool, domain, true, now, window).await?,
        Some(state) => list_apart(pool, domain, state, now, window).await?,
    };
    let purls = rows.into_iter().map(Purl::try_from).collect::<Result<_, _>>()?;
    Ok(window.page(purls, |purl: &Purl| purl.name_key.clone()))
}

async fn list_main(
    pool: &PgPool,
    domain: &Domain,
    only_live: bool,
    now: OffsetDateTime,
    window: &Window<String>,
) -> Result<Vec<NameRow>, sqlx::Error> {
    let (tenant_id, domain_id) = (domain.home_tenant_id, domain.domain_id);
    match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                NameRow,
                "/* list names */
                 SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until,
                        tombstone_reason, successor, created_at, updated_at
                 FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key >= $3
                   AND (NOT $5 OR (status NOT IN (404, 410) AND (valid_until IS NULL OR valid_until > $6)))
                 ORDER BY name_key LIMIT $4",
                tenant_id,
                domain_id,
                cut,
                window.fetch(),
                only_live,
                now
            )
            .fetch_all(pool)
            .await
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                NameRow,
                "/* list names */
                 SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until,
                        tombstone_reason, successor, created_at, updated_at
                 FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key < $3
                   AND (NOT $5 OR (status NOT IN (404, 410) AND (valid_until IS NULL OR valid_until > $6)))
                 ORDER BY name_key DESC LIMIT $4",
                tenant_id,
                domain_id,
                cut,
                window.fetch(),
                only_live,
                now
            )
            .fetch_all(pool)
            .await
        }
    }
}

/// The condition `status IN (404, 410) OR valid_until IS NOT NULL` is that of the partial index. `coalesce` hides
/// the comparison from the planner, which would take it for so selective that it reads and sorts all of them.
async fn list_apart(
    pool: &PgPool,
    domain: &Domain,
    state: State,
    now: OffsetDateTime,
    window: &Window<String>,
) -> Result<Vec<NameRow>, sqlx::Error> {
    let (tenant_id, domain_id) = (domain.home_tenant_id, domain.domain_id);
    match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                NameRow,
                "/* list names apart */
                 SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until,
                        tombstone_reason, successor, created_at, updated_at
                 FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key >= $3
                   AND (status IN (404, 410) OR valid_until IS NOT NULL)
                   AND coalesce(CASE WHEN status = 410 THEN 'withdrawn' WHEN valid_until <= $5 THEN 'expired'
                                     WHEN status = 404 THEN 'temporarily_gone' ELSE 'live' END = $6, false)
                 ORDER BY name_key LIMIT $4",
                tenant_id,
                domain_id,
                cut,
                window.fetch(),
                now,
                state.as_str()
            )
            .fetch_all(pool)
            .await
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                NameRow,
                "/* list names apart */
                 SELECT purl_id, name_key, name, revision, status, kind, target, variants, valid_until,
                        tombstone_reason, successor, created_at, updated_at
                 FROM purls WHERE tenant_id = $1 AND domain_id = $2 AND name_key < $3
                   AND (status IN (404, 410) OR valid_until IS NOT NULL)
                   AND coalesce(CASE WHEN status = 410 THEN 'withdrawn' WHEN valid_until <= $5 THEN 'expired'
                                     WHEN status = 404 THEN 'temporarily_gone' ELSE 'live' END = $6, false)
                 ORDER BY name_key DESC LIMIT $4",
                tenant_id,
                domain_id,
                cut,
                window.fetch(),
                now,
                state.as_str()
            )
            .fetch_all(pool)
            .await
        }
    }
}
