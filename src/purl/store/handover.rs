//! The hand-over of a domain: offered, accepted, taken back. Only its owner in the directory changes; home, names and
//! rules stay, so it takes as long for a million names as for none.
//!
//! What hands a domain over waits for the writers that hold its lock, and raises its generation: those that come later find
//! their domain changed, and their rights are judged again.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::domains;
use crate::db;
use crate::db::audit::{self, Act, Actor, Author};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Domain;

/// A domain, whose it is, and to whom it is offered.
#[derive(Clone, Debug)]
pub struct Handover {
    /// The domain.
    pub domain: Domain,
    /// Slug of its owner.
    pub owner: String,
    /// The offer, if there is one.
    pub offer: Option<Offer>,
}

/// An offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// To whom.
    pub tenant_id: i64,
    /// The same by slug.
    pub tenant: String,
    /// Since when.
    pub at: OffsetDateTime,
}

/// A tenant that a domain goes to, by id and slug.
pub type Receiver = (i64, String);

/// The domain at a path with its offer, locked for a hand-over until the transaction ends.
pub async fn lock_handover(
    connection: &mut PgConnection,
    path: &DomainPath,
) -> Result<Option<Handover>, db::Error> {
    // First, as creations do: a child must not be made below a domain whose owner changes meanwhile.
    sqlx::query!("LOCK TABLE domains IN SHARE ROW EXCLUSIVE MODE").execute(&mut *connection).await?;
    domains::lock_domain_at(connection, path).await?;
    find_handover(connection, path).await
}

/// The same as it is now, without a lock.
pub async fn find_handover(
    connection: &mut PgConnection,
    path: &DomainPath,
) -> Result<Option<Handover>, db::Error> {
    let Some(domain) = domains::list_among(connection, &[path.as_str()]).await?.pop() else {
        return Ok(None);
    };
    let row = sqlx::query!(
        r#"SELECT o.slug AS owner, t.tenant_id AS "tenant_id?", t.slug AS "tenant?", d.offered_at
           FROM domains d
           JOIN tenants o ON o.tenant_id = d.owner_tenant_id
           LEFT JOIN tenants t ON t.tenant_id = d.offered_tenant_id
           WHERE d.domain_id = $1"#,
        domain.domain_id
    )
    .fetch_one(connection)
    .await?;
    let offer = match (row.tenant_id, row.tenant, row.offered_at) {
        (Some(tenant_id), Some(tenant), Some(at)) => Some(Offer { tenant_id, tenant, at }),
        _ => None,
    };
    Ok(Some(Handover { domain, owner: row.owner, offer }))
}

/// Offers a locked domain to a tenant, in place of whoever it was offered to, or with `None` to nobody. Both sides' logs say so.
pub async fn set_offer(
    connection: &mut PgConnection,
    actor: Actor,
    held: &Handover,
    to: Option<&Receiver>,
    now: OffsetDateTime,
) -> Result<(), db::Error> {
    let tenant_id = to.map(|(tenant_id, _)| *tenant_id);
    sqlx::query!(
        "UPDATE domains SET offered_tenant_id = $2, offered_at = $3 WHERE domain_id = $1",
        held.domain.domain_id,
        tenant_id,
        tenant_id.map(|_| now)
    )
    .execute(&mut *connection)
    .await?;
    let before = held.offer.as_ref().map(|offer| offer.tenant.as_str());
    let after = to.map(|(_, slug)| slug.as_str());
    let told = |slug: Option<&str>| serde_json::json!({"owner": held.owner, "offered_to": slug});
    let act = Act::new("domain.offered", &held.domain.path).before(told(before)).after(told(after));
    let others = [held.offer.as_ref().map(|offer| offer.tenant_id), tenant_id];
    note(connection, actor, &held.domain, others, now, &act).await
}

/// Makes a tenant the owner of a locked domain. Both sides' logs say so.
pub async fn hand_over(
    connection: &mut PgConnection,
    actor: Actor,
    held: &Handover,
    (tenant_id, tenant): &Receiver,
    now: OffsetDateTime,
) -> Result<(), db::Error> {
    sqlx::query!(
        "UPDATE domains SET owner_tenant_id = $2, offered_tenant_id = NULL, offered_at = NULL WHERE domain_id = $1",
        held.domain.domain_id,
        tenant_id
    )
    .execute(&mut *connection)
    .await?;
    let told = |slug: &str| serde_json::json!({"owner": slug});
    let act = Act::new("domain.handed_over", &held.domain.path).before(told(&held.owner)).after(told(tenant));
    note(connection, actor, &held.domain, [Some(*tenant_id), None], now, &act).await?;
    // Last, because it takes the directory's lock.
    domains::raise_generation(connection, &held.domain).await
}

/// Writes an act into the log of the domain's owner and of the others that it concerns.
async fn note(
    connection: &mut PgConnection,
    actor: Actor,
    domain: &Domain,
    others: [Option<i64>; 2],
    now: OffsetDateTime,
    act: &Act,
) -> Result<(), db::Error> {
    let mut tenants = vec![domain.owner_tenant_id];
    tenants.extend(others.into_iter().flatten());
    tenants.sort_unstable();
    tenants.dedup();
    for tenant_id in tenants {
        audit::insert(connection, Author { tenant_id, actor }, now, std::slice::from_ref(act)).await?;
    }
    Ok(())
}
