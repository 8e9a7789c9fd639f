//! A change of rules or of settings: put in force inside a transaction, and judged there by every check that depends on the domain.
//! Who finds a check broken rolls back; until then nobody else sees anything of it.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::judge::{Broken, Judge};
use super::model::Domain;
use super::ruleset::Rule;
use super::store::rule_sets;
use crate::db;
use crate::db::audit::Actor;

/// Why a change may not be.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Checks would not be kept, of this domain or of others.
    #[error("{} checks would be broken: {}", .0.len(), first(.0))]
    Broken(Vec<Broken>),
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

fn first(broken: &[Broken]) -> String {
    broken.first().map_or_else(String::new, |broken| {
        let location = broken.given.location.as_deref().unwrap_or("nothing");
        format!("{} would answer {} {location}", broken.check.from, broken.given.status)
    })
}

/// Puts rules in force, of a domain whose row is locked and was read since. The domain as it is then.
///
/// The row of the directory, which every such change locks, has those that are judged wait for each other: two changes that
/// are good each by itself cannot break a check together.
pub async fn change_rules(
    connection: &mut PgConnection,
    actor: Actor,
    domain: &Domain,
    rules: &[Rule],
    now: OffsetDateTime,
) -> Result<Domain, ChangeError> {
    let changed = rule_sets::replace_rules(connection, actor, domain, rules, now).await?;
    judge(connection, &changed, now).await?;
    Ok(changed)
}

/// Judges the state that the transaction sees by the checks that depend on a domain.
pub async fn judge(
    connection: &mut PgConnection,
    domain: &Domain,
    now: OffsetDateTime,
) -> Result<(), ChangeError> {
    let broken = Judge::new(connection, now).await?.judge(domain.domain_id).await?;
    if broken.is_empty() { Ok(()) } else { Err(ChangeError::Broken(broken)) }
}
