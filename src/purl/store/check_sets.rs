//! The checks of a domain, each state of them whole.

use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db;
use crate::db::audit::{self, Act, Actor, Author};
use crate::purl::checks::{self, Check};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Domain;
use crate::purl::row::Impossible;

/// The checks of a domain that are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSet {
    /// The domain's id.
    pub domain_id: i64,
    /// Where its rows live.
    pub home_tenant_id: i64,
    /// Its path.
    pub path: DomainPath,
    /// Number of the state; 0: there never were any.
    pub revision: i64,
    /// The checks.
    pub checks: Vec<Check>,
    /// Domains that their answers went through when they were last asked, in ascending order.
    pub depends_on: Vec<i64>,
}

struct SetRow {
    domain_id: i64,
    home_tenant_id: i64,
    path: String,
    revision: i64,
    checks: Option<Value>,
    depends_on: Option<Vec<i64>>,
}

impl TryFrom<SetRow> for CheckSet {
    type Error = db::Error;

    fn try_from(found: SetRow) -> Result<Self, db::Error> {
        let path = DomainPath::from_stored(found.path);
        let checks = found.checks.map_or(Ok(Vec::new()), |document| checks::read(&document, &path));
        let impossible = Impossible { table: "domain_checks", column: "checks", row: found.domain_id };
        Ok(Self {
            domain_id: found.domain_id,
            home_tenant_id: found.home_tenant_id,
            path,
            revision: found.revision,
            checks: checks.map_err(|_| impossible)?,
            depends_on: found.depends_on.unwrap_or_default(),
        })
    }
}

/// The checks of a domain.
pub async fn get_checks(connection: &mut PgConnection, domain: &Domain) -> Result<CheckSet, db::Error> {
    let found = sqlx::query_as!(
        SetRow,
        r#"SELECT d.domain_id, d.home_tenant_id, d.path, s.checks_revision AS revision, c.checks AS "checks?",
                  c.depends_on AS "depends_on?"
           FROM domains d
           JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
           LEFT JOIN domain_checks c ON c.tenant_id = s.tenant_id AND c.domain_id = s.domain_id AND c.revision = s.checks_revision
           WHERE d.domain_id = $1"#,
        domain.domain_id
    );
    found.fetch_one(connection).await?.try_into()
}

/// The checks in force of every domain that depend on this one, its own first.
pub async fn list_depending(
    connection: &mut PgConnection,
    domain_id: i64,
) -> Result<Vec<CheckSet>, db::Error> {
    let rows = sqlx::query_as!(
        SetRow,
        r#"SELECT d.domain_id, d.home_tenant_id, d.path, c.revision, c.checks AS "checks?", c.depends_on AS "depends_on?"
           FROM domain_checks c
           JOIN domain_state s ON s.tenant_id = c.tenant_id AND s.domain_id = c.domain_id AND s.checks_revision = c.revision
           JOIN domains d ON d.domain_id = c.domain_id
           WHERE c.depends_on @> ARRAY[$1::bigint]
           ORDER BY d.domain_id <> $1, d.path"#,
        domain_id
    );
    rows.fetch_all(connection).await?.into_iter().map(CheckSet::try_from).collect()
}

/// Puts checks in force, of a domain whose row is locked. Their number.
pub async fn replace_checks(
    connection: &mut PgConnection,
    actor: Actor,
    domain: &Domain,
    checks: &[Check],
    depends_on: &[i64],
    now: OffsetDateTime,
) -> Result<i64, db::Error> {
    let revision = sqlx::query_scalar!(
        "WITH written AS (
           INSERT INTO domain_checks (tenant_id, domain_id, revision, checks, depends_on, written_at, written_by)
           SELECT tenant_id, domain_id, checks_revision + 1, $3, $4, $5, $6
           FROM domain_state WHERE tenant_id = $1 AND domain_id = $2
           RETURNING revision)
         UPDATE domain_state s SET checks_revision = written.revision
         FROM written WHERE s.tenant_id = $1 AND s.domain_id = $2
         RETURNING s.checks_revision",
        domain.home_tenant_id,
        domain.domain_id,
        checks::write(checks),
        depends_on,
        now,
        actor.key_id()
    )
    .fetch_one(&mut *connection)
    .await?;
    let author = Author { tenant_id: domain.owner_tenant_id, actor };
    let act = Act::new("domain.checks_changed", &domain.path)
        .before(json!({"revision": revision - 1}))
        .after(json!({"revision": revision, "checks": checks.len()}));
    audit::insert(connection, author, now, &[act]).await?;
    Ok(revision)
}

/// Notes which domains the answers go through now.
pub async fn update_dependencies(
    connection: &mut PgConnection,
    set: &CheckSet,
    depends_on: &[i64],
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE domain_checks SET depends_on = $4 WHERE tenant_id = $1 AND domain_id = $2 AND revision = $3",
        set.home_tenant_id,
        set.domain_id,
        set.revision,
        depends_on
    )
    .execute(connection)
    .await?;
    Ok(())
}
