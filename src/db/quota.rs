//! What a tenant may have at most: the limits in force, and the lock under which one is used up. What there is
//! already, the features count, each in the transaction that makes more; names, which nobody could count, have a
//! mechanism of their own in `purl`. Requests are limited by `http`.
//!
//! Lock order: tenant → domain → name, and tenant → meeting → poll.

use sqlx::{PgConnection, PgExecutor};
use time::OffsetDateTime;

use super::error::Error;
use crate::config;

/// What is limited in number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Domains at home with the tenant.
    Domains,
    /// Names in them, tombstones included.
    Names,
    /// Meetings, in whatever state.
    Meetings,
    /// Participants of all meetings, those who left included.
    Participants,
    /// API keys that are neither revoked nor expired.
    ApiKeys,
}

impl Quota {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::Domains, Self::Names, Self::Meetings, Self::Participants, Self::ApiKeys];

    /// The word in settings, bodies and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domains => "domains",
            Self::Names => "names",
            Self::Meetings => "meetings",
            Self::Participants => "participants",
            Self::ApiKeys => "api_keys",
        }
    }
}

/// Limits of the configuration, for tenants that have none of their own; 0: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults([i64; 5]);

impl Defaults {
    /// That of one quota; 0: no limit.
    pub fn of(&self, quota: Quota) -> i64 {
        self.0[place(quota)]
    }
}

impl From<&config::Quotas> for Defaults {
    fn from(quotas: &config::Quotas) -> Self {
        let config::Quotas { domains, names, meetings, participants, api_keys, .. } = *quotas;
        let all = [domains, names, meetings, participants, api_keys];
        Self(all.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

/// In the order of [`Quota::ALL`].
fn place(quota: Quota) -> usize {
    Quota::ALL.iter().position(|other| *other == quota).unwrap_or_default()
}

/// What a tenant has in place of the configuration; None: the configuration's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// See [`Quota::Domains`].
    pub domains: Option<i64>,
    /// See [`Quota::Names`].
    pub names: Option<i64>,
    /// See [`Quota::Meetings`].
    pub meetings: Option<i64>,
    /// See [`Quota::Participants`].
    pub participants: Option<i64>,
    /// See [`Quota::ApiKeys`].
    pub api_keys: Option<i64>,
    /// Requests a second with the tenant's API keys; 0: no limit.
    pub requests_per_second: Option<i32>,
    /// The same at once.
    pub requests_burst: Option<i32>,
}

impl Overrides {
    /// The limit of one quota in force; None: no limit.
    pub fn limit(&self, quota: Quota, defaults: &Defaults) -> Option<i64> {
        let own = match quota {
            Quota::Domains => self.domains,
            Quota::Names => self.names,
            Quota::Meetings => self.meetings,
            Quota::Participants => self.participants,
            Quota::ApiKeys => self.api_keys,
        };
        Some(own.unwrap_or(defaults.of(quota))).filter(|limit| *limit > 0)
    }
}

/// There is no room for what is to be made. Nothing was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tenant may have {limit} {}, has {used}, and this needs {wanted} more", quota.as_str())]
pub struct Exceeded {
    /// Of what.
    pub quota: Quota,
    /// How many there may be.
    pub limit: i64,
    /// How many there are, counted no further than one beyond the limit.
    pub used: i64,
    /// How many were to be made.
    pub wanted: i64,
}

/// A limit in force, with the tenant locked until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    quota: Quota,
    most: i64,
}

impl Limit {
    /// How far it is worth counting.
    pub fn count_to(&self) -> i64 {
        self.most.saturating_add(1)
    }

    /// Whether there is room for `wanted` more beside the `used`, which were counted after the lock.
    pub fn admit(&self, used: i64, wanted: i64) -> Result<(), Exceeded> {
        let Self { quota, most } = *self;
        if used.saturating_add(wanted) <= most {
            Ok(())
        } else {
            Err(Exceeded { quota, limit: most, used, wanted })
        }
    }
}

/// Locks the tenant against others who use up a quota, if one is in force here: then count, with a statement of its
/// own, and [`Limit::admit`].
pub async fn lock(
    conn: &mut PgConnection,
    tenant_id: i64,
    quota: Quota,
    defaults: &Defaults,
) -> Result<Option<Limit>, Error> {
    let (before, _) = find_overrides(&mut *conn, tenant_id).await?;
    if before.limit(quota, defaults).is_none() {
        return Ok(None);
    }
    lock_tenant(conn, tenant_id).await?;
    let (now, _) = find_overrides(conn, tenant_id).await?;
    Ok(now.limit(quota, defaults).map(|most| Limit { quota, most }))
}

/// Locks the tenant. `NO KEY UPDATE`, because much refers to the row and key checks must not wait.
pub async fn lock_tenant(conn: &mut PgConnection, tenant_id: i64) -> Result<(), Error> {
    sqlx::query!("SELECT tenant_id FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE", tenant_id)
        .fetch_optional(conn)
        .await?;
    Ok(())
}

/// What the tenant has in place of the configuration, and the revision of that.
pub async fn find_overrides(
    executor: impl PgExecutor<'_>,
    tenant_id: i64,
) -> Result<(Overrides, i64), Error> {
    let row = sqlx::query!(
        "SELECT domains, names, meetings, participants, api_keys, requests_per_second, requests_burst, revision
         FROM tenant_quotas WHERE tenant_id = $1",
        tenant_id
    );
    let Some(row) = row.fetch_optional(executor).await? else { return Ok((Overrides::default(), 1)) };
    let overrides = Overrides {
        domains: row.domains,
        names: row.names,
        meetings: row.meetings,
        participants: row.participants,
        api_keys: row.api_keys,
        requests_per_second: row.requests_per_second,
        requests_burst: row.requests_burst,
    };
    Ok((overrides, row.revision))
}

/// Replaces what the tenant, which is locked, has in place of the configuration; `revision` is the new one.
pub async fn update_overrides(
    conn: &mut PgConnection,
    tenant_id: i64,
    to: &Overrides,
    revision: i64,
    now: OffsetDateTime,
) -> Result<(), Error> {
    sqlx::query!(
        "INSERT INTO tenant_quotas (tenant_id, domains, names, meetings, participants, api_keys, requests_per_second,
                                    requests_burst, revision, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (tenant_id) DO UPDATE
         SET domains = $2, names = $3, meetings = $4, participants = $5, api_keys = $6, requests_per_second = $7,
             requests_burst = $8, revision = $9, updated_at = $10",
        tenant_id,
        to.domains,
        to.names,
        to.meetings,
        to.participants,
        to.api_keys,
        to.requests_per_second,
        to.requests_burst,
        revision,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_beats_the_configuration_and_zero_is_no_limit() {
        let defaults = Defaults::from(&config::Quotas { domains: 5, names: 0, ..config::Quotas::default() });
        let none = Overrides::default();
        assert_eq!(none.limit(Quota::Domains, &defaults), Some(5));
        assert_eq!(none.limit(Quota::Names, &defaults), None);
        let own = Overrides { domains: Some(0), names: Some(7), ..none };
        assert_eq!(own.limit(Quota::Domains, &defaults), None);
        assert_eq!(own.limit(Quota::Names, &defaults), Some(7));
    }

    #[test]
    fn every_default_is_that_of_its_setting() {
        let quotas = config::Quotas {
            domains: 1,
            names: 2,
            meetings: 3,
            participants: 4,
            api_keys: 5,
            ..config::Quotas::default()
        };
        let defaults = Defaults::from(&quotas);
        assert_eq!(Quota::ALL.map(|quota| defaults.of(quota)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn what_just_fits_is_admitted_and_one_more_is_not() {
        let limit = Limit { quota: Quota::Meetings, most: 10 };
        assert_eq!(limit.admit(8, 2), Ok(()));
        let exceeded = limit.admit(8, 3).expect_err("too many");
        assert_eq!(exceeded.to_string(), "the tenant may have 10 meetings, has 8, and this needs 3 more");
        assert_eq!(limit.admit(i64::MAX, 1).expect_err("too many").limit, 10);
    }
}
