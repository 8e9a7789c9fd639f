//! Domains. Creation holds a table lock, so that the tree of domains stands still while a new one is
//! placed in it, and the lock of the domain above, so that no name slips in under it meanwhile.

use serde_json::{Value, json};
use sqlx::{PgConnection, PgExecutor, PgPool};
use time::OffsetDateTime;
use uuid::Uuid;

use super::domain_list::DomainRow;
use crate::db::audit::{self, Act, Actor, Author};
use crate::db::quota::{self, Defaults, Exceeded, Quota};
use crate::db::{self, Db};
use crate::purl::domain_path::{self, DomainPath};
use crate::purl::model::{Domain, Policies};
use crate::purl::rules::{self, Creator, DomainRefusal};

/// Most names that a refusal for shadowing lists.
pub const SHADOWED_LISTED: usize = 20;

/// A domain to be made.
#[derive(Debug, Clone)]
pub struct NewDomain {
    /// Where.
    pub path: DomainPath,
    /// For whom.
    pub tenant_id: i64,
    /// Whether names ignore ASCII case, for ever.
    pub case_insensitive: bool,
    /// The rest of its settings.
    pub policies: Policies,
    /// Whether names of the domain above may become unreachable.
    pub shadow: bool,
    /// The key that asked for it; none from the command line.
    pub created_by: Option<Uuid>,
    /// Now.
    pub created_at: OffsetDateTime,
}

/// Why a domain was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is one at this path, of whatever tenant.
    #[error("there is a domain at this path already")]
    PathTaken,
    /// The creator may not.
    #[error(transparent)]
    Refused(#[from] DomainRefusal),
    /// Names of the domain above would no longer be reached.
    #[error("it would hide names of the domain `{above}`: {}", names.join(", "))]
    Shadows {
        /// The domain above.
        above: String,
        /// Some of the names, at most [`SHADOWED_LISTED`].
        names: Vec<String>,
    },
    /// The tenant has as many domains as it may have.
    #[error(transparent)]
    Quota(#[from] Exceeded),
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl From<sqlx::Error> for CreateError {
    fn from(error: sqlx::Error) -> Self {
        Self::Db(error.into())
    }
}

/// Makes a domain, in a transaction of its own.
pub async fn create_domain(
    db: &Db,
    creator: Creator<'_>,
    new: &NewDomain,
    quotas: &Defaults,
) -> Result<Domain, CreateError> {
    let mut tx = db.begin().await?;
    let domain = insert_domain(&mut tx, creator, new, quotas).await?;
    db::commit(tx).await?;
    Ok(domain)
}

/// Whether a domain could be made now, without making it.
pub async fn check_domain(pool: &PgPool, creator: Creator<'_>, path: &DomainPath) -> Result<(), CreateError> {
    check(&mut *pool.acquire().await?, creator, path, false).await.map(|_| ())
}

/// The rules for a new domain, against the tree as it is; the domain above it, if there is one.
async fn check(
    connection: &mut PgConnection,
    creator: Creator<'_>,
    path: &DomainPath,
    shadow: bool,
) -> Result<Option<Domain>, CreateError> {
    let known = list_among(connection, &domain_path::candidates(path.as_str())).await?;
    let (same, mut above): (Vec<Domain>, Vec<Domain>) =
        known.into_iter().partition(|domain| domain.path == *path);
    // Rights first: whoever may not make it may not learn that it exists.
    rules::may_create_domain(creator, path, &above)?;
    if !same.is_empty() {
        return Err(CreateError::PathTaken);
    }
    let Some(nearest) = above.pop() else { return Ok(None) };
    let names = list_shadowed(connection, &nearest, path).await?;
    if !names.is_empty() && !shadow {
        return Err(CreateError::Shadows { above: nearest.path.to_string(), names });
    }
    Ok(Some(nearest))
}

/// Makes a domain. What it locks stays locked until the transaction ends.
pub async fn insert_domain(
    connection: &mut PgConnection,
    creator: Creator<'_>,
    new: &NewDomain,
    quotas: &Defaults,
) -> Result<Domain, CreateError> {
    // Against other creations only; readers and writers of names are not held up.
    sqlx::query!("LOCK TABLE domains IN SHARE ROW EXCLUSIVE MODE").execute(&mut *connection).await?;
    let above = check(connection, creator, &new.path, new.shadow).await?;
    admit_domains(connection, new.tenant_id, quotas, 1).await??;
    if let Some(above) = above {
        lock_domain(connection, &above).await?;
        // Again, now that no name can come in between; and names that were checked before are checked again.
        check(connection, creator, &new.path, new.shadow).await?;
        raise_generation(connection, &above).await?;
    }
    let version = raise_directory(connection).await?;
    let domain_id = sqlx::query_scalar!(
        "INSERT INTO domains (path, home_tenant_id, owner_tenant_id, created_at, created_by)
         VALUES ($1, $2, $2, $3, $4) RETURNING domain_id",
        new.path.as_str(),
        new.tenant_id,
        new.created_at,
        new.created_by
    )
    .fetch_one(&mut *connection)
    .await?;
    let default_status = i16::try_from(new.policies.default_status.code()).unwrap_or_default();
    sqlx::query!(
        "INSERT INTO domain_state (tenant_id, domain_id, case_insensitive, trailing_slash, query_policy,
                                   default_status, cache_seconds, updated_at, directory_version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        new.tenant_id,
        domain_id,
        new.case_insensitive,
        new.policies.trailing_slash.as_str(),
        new.policies.query.as_str(),
        default_status,
        new.policies.cache_seconds,
        new.created_at,
        version
    )
    .execute(&mut *connection)
    .await?;
    let actor = new.created_by.map_or(Actor::CommandLine, Actor::Key);
    let author = Author { tenant_id: new.tenant_id, actor };
    let mut after = settings(new.policies);
    after["id"] = domain_id.to_string().into();
    after["case_insensitive"] = new.case_insensitive.into();
    let entry = Act::new("domain.created", &new.path).after(after);
    audit::insert(connection, author, new.created_at, &[entry]).await?;
    Ok(Domain {
        domain_id,
        path: new.path.clone(),
        home_tenant_id: new.tenant_id,
        owner_tenant_id: new.tenant_id,
        generation: 1,
        has_names: false,
        case_insensitive: new.case_insensitive,
        policies: new.policies,
        rules_revision: 0,
        created_at: new.created_at,
        updated_at: new.created_at,
    })
}

/// Whether the tenant may have `wanted` more domains, with the tenant locked until the transaction ends.
pub async fn admit_domains(
    connection: &mut PgConnection,
    tenant_id: i64,
    quotas: &Defaults,
    wanted: i64,
) -> Result<Result<(), Exceeded>, db::Error> {
    let Some(limit) = quota::lock(connection, tenant_id, Quota::Domains, quotas).await? else {
        return Ok(Ok(()));
    };
    let used = sqlx::query_scalar!(
        r#"SELECT count(*) AS "used!" FROM (SELECT FROM domain_state WHERE tenant_id = $1 LIMIT $2) AS counted"#,
        tenant_id,
        limit.count_to()
    )
    .fetch_one(connection)
    .await?;
    Ok(limit.admit(used, wanted))
}

/// The domains among these paths, the longest last.
pub async fn list_domains(pool: &PgPool, paths: &[&str]) -> Result<Vec<Domain>, db::Error> {
    list_among(&mut *pool.acquire().await?, paths).await
}

/// The same, as the transaction sees them.
pub async fn list_among(connection: &mut PgConnection, paths: &[&str]) -> Result<Vec<Domain>, db::Error> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let rows = sqlx::query_as!(
        DomainRow,
        "SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at, s.generation, s.has_names,
                s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status, s.cache_seconds, s.rules_revision,
                s.updated_at
         FROM domains d
         JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id
         WHERE d.path = ANY ($1) ORDER BY octet_length(d.path)",
        &paths
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(Domain::try_from).collect()
}

/// Every domain, as the transaction sees it.
pub async fn list_all(connection: &mut PgConnection) -> Result<Vec<Domain>, db::Error> {
    let rows = sqlx::query_as!(
        DomainRow,
        "SELECT d.domain_id, d.path, d.home_tenant_id, d.owner_tenant_id, d.created_at, s.generation, s.has_names,
                s.case_insensitive, s.trailing_slash, s.query_policy, s.default_status, s.cache_seconds, s.rules_revision,
                s.updated_at
         FROM domains d
         JOIN domain_state s ON s.tenant_id = d.home_tenant_id AND s.domain_id = d.domain_id"
    );
    rows.fetch_all(connection).await?.into_iter().map(Domain::try_from).collect()
}

/// The domain at this path with its row locked until the transaction ends, as it is then.
pub async fn lock_domain_at(
    connection: &mut PgConnection,
    path: &DomainPath,
) -> Result<Option<Domain>, db::Error> {
    let Some(domain) = list_among(connection, &[path.as_str()]).await?.pop() else { return Ok(None) };
    lock_domain(connection, &domain).await?;
    Ok(list_among(connection, &[path.as_str()]).await?.pop())
}

/// The whole directory's paths, for a check of many names at once.
pub async fn list_paths(pool: &PgPool) -> Result<Vec<String>, db::Error> {
    Ok(sqlx::query_scalar!("SELECT path FROM domains").fetch_all(pool).await?)
}

/// Slug of the tenant that owns a domain.
pub async fn find_owner(executor: impl PgExecutor<'_>, tenant_id: i64) -> Result<Option<String>, db::Error> {
    let slug = sqlx::query_scalar!("SELECT slug FROM tenants WHERE tenant_id = $1", tenant_id);
    Ok(slug.fetch_optional(executor).await?)
}

/// Id of the tenant with this slug.
pub async fn find_tenant_id(executor: impl PgExecutor<'_>, slug: &str) -> Result<Option<i64>, db::Error> {
    let id = sqlx::query_scalar!("SELECT tenant_id FROM tenants WHERE slug = $1", slug);
    Ok(id.fetch_optional(executor).await?)
}

/// Replaces the policies of a domain if it still has its owner and the `expected` generation (none: whichever it
/// has); the domain as it is then, or `None`.
pub async fn update_policies(
    connection: &mut PgConnection,
    actor: Actor,
    domain: &Domain,
    expected: Option<i64>,
    policies: &Policies,
    now: OffsetDateTime,
) -> Result<Option<Domain>, db::Error> {
    lock_domain(connection, domain).await?;
    let current = list_among(connection, &[domain.path.as_str()]).await?.pop();
    // It may have been handed over since whoever changes it was found to be its owner.
    let is_same = |now: &Domain| {
        now.owner_tenant_id == domain.owner_tenant_id && expected.is_none_or(|seen| seen == now.generation)
    };
    let Some(before) = current.filter(is_same) else {
        return Ok(None);
    };
    let default_status = i16::try_from(policies.default_status.code()).unwrap_or_default();
    let version = raise_directory(connection).await?;
    let written = sqlx::query!(
        "UPDATE domain_state
         SET trailing_slash = $3, query_policy = $4, default_status = $5, cache_seconds = $6,
             updated_at = greatest($7, updated_at), generation = generation + 1, directory_version = $8
         WHERE tenant_id = $1 AND domain_id = $2
         RETURNING generation, updated_at",
        before.home_tenant_id,
        before.domain_id,
        policies.trailing_slash.as_str(),
        policies.query.as_str(),
        default_status,
        policies.cache_seconds,
        now,
        version
    )
    .fetch_one(&mut *connection)
    .await?;
    let author = Author { tenant_id: before.owner_tenant_id, actor };
    let act = Act::new("domain.changed", &before.path);
    let act = act.before(settings(before.policies)).after(settings(*policies));
    audit::insert(connection, author, now, &[act]).await?;
    let (generation, updated_at) = (written.generation, written.updated_at);
    Ok(Some(Domain { generation, updated_at, policies: *policies, ..before }))
}

/// Policies as the log has them, in the words of the API.
fn settings(policies: Policies) -> Value {
    json!({
        "trailing_slash": policies.trailing_slash.as_str(),
        "query": policies.query.as_str(),
        "default_status": policies.default_status.code(),
        "cache_seconds": policies.cache_seconds,
    })
}

/// The next version of the directory. Its row is the last lock of the transaction.
pub async fn raise_directory(connection: &mut PgConnection) -> Result<i64, db::Error> {
    let version = sqlx::query_scalar!("UPDATE domain_directory SET version = version + 1 RETURNING version");
    Ok(version.fetch_one(connection).await?)
}

async fn lock_domain(connection: &mut PgConnection, domain: &Domain) -> Result<(), db::Error> {
    sqlx::query!(
        "SELECT domain_id FROM domain_state WHERE tenant_id = $1 AND domain_id = $2 FOR UPDATE",
        domain.home_tenant_id,
        domain.domain_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(())
}

/// Marks a locked domain as changed. The directory's row is the last lock of the transaction.
pub async fn raise_generation(connection: &mut PgConnection, domain: &Domain) -> Result<(), db::Error> {
    sqlx::query!(
        "WITH raised AS (UPDATE domain_directory SET version = version + 1 RETURNING version)
         UPDATE domain_state s SET generation = generation + 1, directory_version = raised.version
         FROM raised WHERE s.tenant_id = $1 AND s.domain_id = $2",
        domain.home_tenant_id,
        domain.domain_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Names of `above` that a domain at `path` would answer in their place: those at or below it, and partial
/// names above it, which would lose what is below. Tombstones count: a withdrawn name must stay withdrawn.
async fn list_shadowed(
    connection: &mut PgConnection,
    above: &Domain,
    path: &DomainPath,
) -> Result<Vec<String>, db::Error> {
    let Some(relative) = path.below(&above.path) else { return Ok(Vec::new()) };
    let relative = above.fold(relative);
    let prefixes: Vec<String> = relative
        .match_indices('/')
        .flat_map(|(at, _)| [relative[..at].to_owned(), relative[..=at].to_owned()])
        .collect();
    let limit = i64::try_from(SHADOWED_LISTED).unwrap_or(i64::MAX);
    // `0` is the character after `/`: the range holds exactly the keys that begin with `relative/`.
    let names = sqlx::query_scalar!(
        "SELECT name FROM purls
         WHERE tenant_id = $1 AND domain_id = $2
           AND (name_key = $3 OR (name_key >= $3 || '/' AND name_key < $3 || '0') OR (name_key = ANY ($4) AND kind IS NOT NULL))
         ORDER BY name_key LIMIT $5",
        above.home_tenant_id,
        above.domain_id,
        relative,
        &prefixes,
        limit
    );
    Ok(names.fetch_all(connection).await?)
}
