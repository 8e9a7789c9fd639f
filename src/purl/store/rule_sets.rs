//! The rules of a domain, each state of them whole.

use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool};
use time::OffsetDateTime;
use uuid::Uuid;

use super::domains::raise_directory;
use crate::db;
use crate::db::audit::{self, Act, Actor, Author};
use crate::db::keyset::{Listing, Page, Seek, Window};
use crate::purl::model::Domain;
use crate::purl::row::Impossible;
use crate::purl::ruleset::{self, Rule};

/// The rules in force; none where a domain never had any.
pub async fn find_rules(connection: &mut PgConnection, domain: &Domain) -> Result<Vec<Rule>, db::Error> {
    if domain.rules_revision == 0 {
        return Ok(Vec::new());
    }
    let found = find_revision(connection, domain, domain.rules_revision).await?;
    Ok(found.ok_or(sqlx::Error::RowNotFound)?)
}

/// The rules as they were in this state.
pub async fn find_revision(
    connection: &mut PgConnection,
    domain: &Domain,
    revision: i64,
) -> Result<Option<Vec<Rule>>, db::Error> {
    let document = sqlx::query_scalar!(
        "SELECT rules FROM domain_rules WHERE tenant_id = $1 AND domain_id = $2 AND revision = $3",
        domain.home_tenant_id,
        domain.domain_id,
        revision
    )
    .fetch_optional(connection)
    .await?;
    document.map(|document| read(domain.domain_id, &document)).transpose()
}

/// The rules of a stored document.
pub fn read(domain_id: i64, document: &Value) -> Result<Vec<Rule>, db::Error> {
    let impossible = Impossible { table: "domain_rules", column: "rules", row: domain_id };
    Ok(ruleset::read(document).map_err(|_| impossible)?)
}

/// The newest first.
pub static RULE_REVISIONS: Listing<i64> =
    Listing { name: "rule revisions", index: "domain_rules_pkey", start: i64::MAX };

/// A state of the rules of a domain, without the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRevision {
    /// Its number, from 1.
    pub revision: i64,
    /// How many rules it has.
    pub rules: i64,
    /// From when it was in force.
    pub written_at: OffsetDateTime,
    /// The key that wrote it; none from the command line.
    pub written_by: Option<Uuid>,
}

/// The states that the rules of a domain have had.
pub async fn list_rule_revisions(
    pool: &PgPool,
    domain: &Domain,
    window: &Window<i64>,
) -> Result<Page<RuleRevision, i64>, db::Error> {
    let rows = match &window.seek {
        Seek::From(cut) => {
            sqlx::query_as!(
                RuleRevision,
                r#"/* list rule revisions */
                   SELECT revision, jsonb_array_length(rules -> 'rules')::bigint AS "rules!", written_at, written_by
                   FROM domain_rules WHERE tenant_id = $1 AND domain_id = $2 AND revision <= $3
                   ORDER BY revision DESC LIMIT $4"#,
                domain.home_tenant_id,
                domain.domain_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
        Seek::Before(cut) => {
            sqlx::query_as!(
                RuleRevision,
                r#"/* list rule revisions */
                   SELECT revision, jsonb_array_length(rules -> 'rules')::bigint AS "rules!", written_at, written_by
                   FROM domain_rules WHERE tenant_id = $1 AND domain_id = $2 AND revision > $3
                   ORDER BY revision LIMIT $4"#,
                domain.home_tenant_id,
                domain.domain_id,
                cut,
                window.fetch()
            )
            .fetch_all(pool)
            .await?
        }
    };
    Ok(window.page(rows, |state: &RuleRevision| state.revision))
}

/// Puts rules in force, of a domain whose row is locked and was read since. The domain as it is then.
pub async fn replace_rules(
    connection: &mut PgConnection,
    actor: Actor,
    domain: &Domain,
    rules: &[Rule],
    now: OffsetDateTime,
) -> Result<Domain, db::Error> {
    let version = raise_directory(connection).await?;
    let written = sqlx::query!(
        r#"WITH written AS (
             INSERT INTO domain_rules (tenant_id, domain_id, revision, rules, written_at, written_by)
             SELECT tenant_id, domain_id, rules_revision + 1, $3, $4, $5
             FROM domain_state WHERE tenant_id = $1 AND domain_id = $2
             RETURNING revision)
           UPDATE domain_state s
           SET rules_revision = written.revision, generation = generation + 1, directory_version = $6,
               updated_at = greatest($4, updated_at)
           FROM written WHERE s.tenant_id = $1 AND s.domain_id = $2
           RETURNING s.generation, s.rules_revision, s.updated_at"#,
        domain.home_tenant_id,
        domain.domain_id,
        ruleset::write(rules),
        now,
        actor.key_id(),
        version
    )
    .fetch_one(&mut *connection)
    .await?;
    let author = Author { tenant_id: domain.owner_tenant_id, actor };
    let act = Act::new("domain.rules_changed", &domain.path)
        .before(json!({"revision": domain.rules_revision}))
        .after(json!({"revision": written.rules_revision, "rules": rules.len()}));
    audit::insert(connection, author, now, &[act]).await?;
    let (generation, updated_at) = (written.generation, written.updated_at);
    Ok(Domain { generation, updated_at, rules_revision: written.rules_revision, ..domain.clone() })
}
