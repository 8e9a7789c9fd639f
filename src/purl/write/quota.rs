//! The quota of names, without counting them and without a lock that all of a tenant's domains share. Each domain
//! counts its names in its lock row and may go as far as it was allotted; only when that is used up is the tenant
//! locked and more allotted, in blocks. So the sum of what is allotted, and with it of what is made, never exceeds
//! the quota. Near its end blocks shrink to what is asked for, and what other domains have left over is taken back,
//! so that no name less than the quota can be made.
//!
//! Whoever makes names asks under the domain's lock whether they fit, and rolls back where they do not: the lock
//! order is tenant → domain. What fits is decided in the statement that makes them ([`super::statements`]) or, for
//! imports, in the one that merges.

use std::collections::BTreeMap;

use deadpool_postgres::Object;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Parameter;
use crate::db::quota::{Exceeded, Quota};
use crate::db::statement::Statement;
use crate::db::tx::Tx;
use crate::db::{self, Db};

/// How many names are allotted beyond those asked for, or ten times as many as were asked for: imports ask for
/// thousands.
const BLOCK: i64 = 1_000;

/// Names for which a domain must be allotted more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Where the domain is at home: whose quota it is.
    pub tenant_id: i64,
    /// The domain.
    pub domain_id: i64,
    /// How many names were to be made.
    pub names: i64,
}

/// Why no more was allotted.
#[derive(Debug, thiserror::Error)]
pub enum AllotError {
    /// The quota is used up.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl From<tokio_postgres::Error> for AllotError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Db(error.into())
    }
}

const LOCK_TENANT: Statement = Statement {
    name: "quota_lock_tenant",
    sql: "/* quota_lock_tenant */ SELECT FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE",
    types: &[Type::INT8],
};

/// `$2` domains; all of the tenant's with `$3`.
const LOCK_DOMAINS: Statement = Statement {
    name: "quota_lock_domains",
    sql: "/* quota_lock_domains */
SELECT FROM domain_state WHERE tenant_id = $1 AND ($3 OR domain_id = ANY ($2)) ORDER BY domain_id FOR UPDATE",
    types: &[Type::INT8, Type::INT8_ARRAY, Type::BOOL],
};

/// The quota in force (0: none), how many names there are, and how many may be made without asking by domains other
/// than `$2`. `$3` the configured quota, `$4` whether others keep what they were allotted. What was allotted under another quota is void.
const SURVEY: Statement = Statement {
    name: "quota_survey",
    sql: "/* quota_survey */
SELECT q.most, coalesce(sum(s.names_count), 0)::bigint AS used,
       coalesce(sum(greatest(s.names_allotted - s.names_count, 0))
                FILTER (WHERE $4 AND s.names_limit = q.most AND s.domain_id <> ALL ($2)), 0)::bigint AS open
FROM (SELECT coalesce((SELECT names FROM tenant_quotas WHERE tenant_id = $1), $3) AS most) q
LEFT JOIN domain_state s ON s.tenant_id = $1
GROUP BY q.most",
    types: &[Type::INT8, Type::INT8_ARRAY, Type::INT8, Type::BOOL],
};

/// What domains `$2` may still make under the quota `$3`.
const LIST_OPEN: Statement = Statement {
    name: "quota_list_open",
    sql: "/* quota_list_open */
SELECT domain_id, CASE WHEN names_limit = $3 THEN greatest(names_allotted - names_count, 0) ELSE 0 END AS open
FROM domain_state WHERE tenant_id = $1 AND domain_id = ANY ($2)",
    types: &[Type::INT8, Type::INT8_ARRAY, Type::INT8],
};

/// Takes back what domains other than `$2` have left over.
const TAKE_BACK: Statement = Statement {
    name: "quota_take_back",
    sql: "/* quota_take_back */
UPDATE domain_state SET names_allotted = names_count
WHERE tenant_id = $1 AND domain_id <> ALL ($2) AND names_allotted > names_count",
    types: &[Type::INT8, Type::INT8_ARRAY],
};

/// Lets domains `$2` make `$3` more names, under the quota `$4`.
const ALLOT: Statement = Statement {
    name: "quota_allot",
    sql: "/* quota_allot */
UPDATE domain_state s SET names_allotted = s.names_count + i.names, names_limit = $4
FROM unnest($2::bigint[], $3::bigint[]) AS i (domain_id, names)
WHERE s.tenant_id = $1 AND s.domain_id = i.domain_id",
    types: &[Type::INT8, Type::INT8_ARRAY, Type::INT8_ARRAY, Type::INT8],
};

/// The quota in force (0: none), the names there are, and those that a whole import would add; without those of domains
/// that are at home with another tenant, which count there. `$3` the configured quota.
pub const WHOLE: Statement = Statement {
    name: "import_whole",
    sql: "/* import_whole */
SELECT q.most,
       CASE WHEN q.most > 0 THEN (SELECT coalesce(sum(names_count), 0)::bigint FROM domain_state WHERE tenant_id = $1) END AS used,
       CASE WHEN q.most > 0 THEN (
           SELECT count(*) FROM import_rows r LEFT JOIN domains d ON d.path = r.domain_path
           WHERE r.tenant_id = $1 AND r.import_id = $2 AND r.refusal IS NULL AND r.duplicate_of IS NULL
             AND coalesce(d.home_tenant_id, $1) = $1
             AND NOT EXISTS (SELECT FROM purls p WHERE p.tenant_id = d.home_tenant_id AND p.domain_id = d.domain_id
                                                   AND p.name_key = r.name_key)) END AS wanted
FROM (SELECT coalesce((SELECT names FROM tenant_quotas WHERE tenant_id = $1), $3) AS most) q",
    types: &[Type::INT8, Type::UUID, Type::INT8],
};

/// The statements of this file, for the census.
pub const STATEMENTS: &[&Statement] =
    &[&LOCK_TENANT, &LOCK_DOMAINS, &SURVEY, &LIST_OPEN, &TAKE_BACK, &ALLOT, &WHOLE];

/// Has domains allotted what they lack, in a transaction of its own. `default` is the configured quota, 0: none. Then
/// try again to make the names; somebody else may have come first.
pub async fn allot(db: &Db, default: i64, lacks: &[Lack]) -> Result<(), AllotError> {
    for (tenant_id, wanted) in by_tenant(lacks) {
        let domains: Vec<i64> = wanted.keys().copied().collect();
        // What others have left over is taken back in a second attempt: their rows must be locked then, and from the
        // beginning, because locks are taken in id order.
        for take_back in [false, true] {
            let tx = Tx::begin(db.hot().await?, "quota_allot").await?;
            lock(tx.client(), tenant_id, &domains, take_back).await?;
            match share_out(tx.client(), tenant_id, default, &wanted, take_back).await {
                Ok(true) => {
                    tx.commit().await?;
                    break;
                }
                Ok(false) => tx.rollback().await?,
                Err(error) => {
                    tx.rollback().await?;
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Locks the tenants of these domains and all that is theirs: first in a transaction that is to make more names at
/// once than others leave it the time for, and then calls [`allot_locked`].
pub async fn lock_all(client: &Object, lacks: &[Lack]) -> Result<(), db::Error> {
    for tenant_id in by_tenant(lacks).into_keys() {
        lock(client, tenant_id, &[], true).await?;
    }
    Ok(())
}

/// Has domains allotted what they lack, in a transaction that holds [`lock_all`] for them.
pub async fn allot_locked(client: &Object, default: i64, lacks: &[Lack]) -> Result<(), AllotError> {
    for (tenant_id, wanted) in by_tenant(lacks) {
        share_out(client, tenant_id, default, &wanted, true).await?;
    }
    Ok(())
}

/// Names wanted, by tenant and domain.
fn by_tenant(lacks: &[Lack]) -> BTreeMap<i64, BTreeMap<i64, i64>> {
    let mut tenants: BTreeMap<i64, BTreeMap<i64, i64>> = BTreeMap::new();
    for lack in lacks {
        tenants.entry(lack.tenant_id).or_default().insert(lack.domain_id, lack.names);
    }
    tenants
}

async fn lock(client: &Object, tenant_id: i64, domains: &[i64], all: bool) -> Result<(), db::Error> {
    client.query(&LOCK_TENANT.prepare(client).await?, &[&tenant_id]).await?;
    client.query(&LOCK_DOMAINS.prepare(client).await?, &[&tenant_id, &domains, &all]).await?;
    Ok(())
}

/// Allots under the locks; with `take_back` all domains of the tenant must be locked. False, and nothing is done, if the
/// rest of the quota is with other domains.
async fn share_out(
    client: &Object,
    tenant_id: i64,
    default: i64,
    wanted: &BTreeMap<i64, i64>,
    take_back: bool,
) -> Result<bool, AllotError> {
    let domains: Vec<i64> = wanted.keys().copied().collect();
    let total = wanted.values().fold(0_i64, |sum, names| sum.saturating_add(*names));
    let survey: [Parameter<'_>; 4] = [&tenant_id, &domains, &default, &!take_back];
    let row = client.query_one(&SURVEY.prepare(client).await?, &survey).await?;
    let (most, used, open): (i64, i64, i64) =
        (row.try_get("most")?, row.try_get("used")?, row.try_get("open")?);
    if most == 0 {
        return Ok(true);
    }
    if used.saturating_add(total) > most {
        return Err(Exceeded { quota: Quota::Names, limit: most, used, wanted: total }.into());
    }
    let mut asked: BTreeMap<i64, Asked> =
        wanted.iter().map(|(domain_id, names)| (*domain_id, Asked { names: *names, open: 0 })).collect();
    for row in client.query(&LIST_OPEN.prepare(client).await?, &[&tenant_id, &domains, &most]).await? {
        if let Some(asked) = asked.get_mut(&row.try_get("domain_id")?) {
            asked.open = row.try_get("open")?;
        }
    }
    let (ids, asked): (Vec<i64>, Vec<Asked>) = asked.into_iter().unzip();
    let Some(shares) = shares(most - used - open, &asked) else { return Ok(false) };
    if take_back {
        client.execute(&TAKE_BACK.prepare(client).await?, &[&tenant_id, &domains]).await?;
    }
    client.execute(&ALLOT.prepare(client).await?, &[&tenant_id, &ids, &shares, &most]).await?;
    Ok(true)
}

/// What a domain asks for, and what it may still make, perhaps on behalf of somebody else who is about to.
#[derive(Clone, Copy, Debug)]
struct Asked {
    names: i64,
    open: i64,
}

/// How many names each may make from now on, together at most `rest`; None if that is less than they ask for. What
/// one had open it keeps if there is enough, so that of many who ask at once each has its own.
fn shares(rest: i64, asked: &[Asked]) -> Option<Vec<i64>> {
    let mut rest = asked.iter().try_fold(rest, |rest, asked| rest.checked_sub(asked.names))?;
    if rest < 0 {
        return None;
    }
    let mut shares = Vec::with_capacity(asked.len());
    for Asked { names, open } in asked {
        let kept = (*open).min(rest);
        rest -= kept;
        shares.push(names.saturating_add(kept));
    }
    // At most an eighth of the rest for all of them: the last names of a quota are handed out singly.
    let most = rest / 8 / i64::try_from(asked.len().max(1)).unwrap_or(i64::MAX);
    let block = |asked: &Asked| asked.names.saturating_mul(10).max(BLOCK).min(most);
    Some(shares.into_iter().zip(asked).map(|(share, asked)| share.saturating_add(block(asked))).collect())
}

/// How many names the domain lacked; None if they were made. From any row of the statement that makes names.
pub(super) fn lacking(rows: &[Row]) -> Result<Option<i64>, tokio_postgres::Error> {
    let Some(first) = rows.first() else { return Ok(None) };
    Ok(Some(first.try_get("lacking")?).filter(|lacking| *lacking > 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_shrink_towards_the_end_of_the_quota() {
        let one = |rest, open| shares(rest, &[Asked { names: 1, open }]);
        assert_eq!(one(1_000_000, 0), Some(vec![1_001]));
        assert_eq!(one(801, 0), Some(vec![101]));
        assert_eq!(one(8, 0), Some(vec![1]));
        assert_eq!(one(8, 5), Some(vec![6]));
        assert_eq!((one(1, 5), one(0, 5), one(-3, 0)), (Some(vec![1]), None, None));
    }

    proptest! {
        #[test]
        fn each_gets_what_it_asks_for_and_all_together_no_more_than_there_is(
            rest in -10_i64..100_000, asked in prop::collection::vec((1_i64..5_000, 0_i64..5_000), 1..20),
        ) {
            let asked: Vec<Asked> = asked.into_iter().map(|(names, open)| Asked { names, open }).collect();
            let wanted: i64 = asked.iter().map(|asked| asked.names).sum();
            if let Some(shares) = shares(rest, &asked) {
                prop_assert!(shares.iter().sum::<i64>() <= rest);
                prop_assert!(shares.iter().zip(&asked).all(|(share, asked)| *share >= asked.names));
            } else {
                prop_assert!(wanted > rest);
            }
        }
    }
}
