//! Takes away what a run made, by its manifest: every row of its tenants, found through the catalogue, so that a table
//! that comes later is not forgotten. The audit log is append-only and keeps its entries. Servers that run may know the
//! domains until they start again; nobody can ask for more than that they are gone.

use std::collections::HashSet;

use anyhow::{Context, ensure};
use deadpool_postgres::Object;

use super::manifest::{Manifest, Tenant};

/// Rows deleted by one statement.
const CHUNK: i64 = 50_000;
/// Keeps what no run may delete from.
const KEPT: &str = "audit_log";

/// Removes every tenant of the manifest that there is; how many rows that were.
pub async fn clean(client: &mut Object, manifest: &Manifest) -> anyhow::Result<u64> {
    let mut removed = 0;
    for tenant in &manifest.tenants {
        if let Some(tenant_id) = find_tenant(client, tenant).await? {
            removed +=
                remove(client, tenant_id).await.with_context(|| format!("removing {}", tenant.slug))?;
        }
    }
    Ok(removed)
}

/// By the slug, which has the mark; that the id is the manifest's is checked on top.
async fn find_tenant(client: &Object, tenant: &Tenant) -> anyhow::Result<Option<i64>> {
    let row = client.query_opt("SELECT tenant_id FROM tenants WHERE slug = $1", &[&tenant.slug]).await?;
    let Some(row) = row else { return Ok(None) };
    let found: i64 = row.try_get(0)?;
    ensure!(
        tenant.tenant_id.is_none_or(|known| known == found),
        "tenant {} is not the one of the manifest: nothing of it is removed",
        tenant.slug
    );
    Ok(Some(found))
}

async fn remove(client: &mut Object, tenant_id: i64) -> anyhow::Result<u64> {
    let mut removed = 0;
    for table in list_tables(client).await? {
        let mut emptied = 0;
        loop {
            let transaction = client.transaction().await?;
            transaction.batch_execute("SET LOCAL statement_timeout = 0").await?;
            let delete = format!(
                "DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE tenant_id = $1 LIMIT $2))"
            );
            let deleted = transaction.execute(&delete, &[&tenant_id, &CHUNK]).await?;
            transaction.commit().await?;
            emptied += deleted;
            if deleted == 0 {
                break;
            }
        }
        if emptied > 0 {
            // The foreign keys of what comes next look for rows here, past every dead one.
            client.batch_execute("SET statement_timeout = 0").await?;
            client.batch_execute(&format!("VACUUM {table}")).await?;
            client.batch_execute("RESET statement_timeout").await?;
        }
        removed += emptied;
    }
    let transaction = client.transaction().await?;
    for statement in [
        "DELETE FROM api_key_domains WHERE api_key_id IN (SELECT api_key_id FROM api_keys WHERE tenant_id = $1)
            OR domain_id IN (SELECT domain_id FROM domains WHERE home_tenant_id = $1)",
        "DELETE FROM domains WHERE home_tenant_id = $1",
        "DELETE FROM api_keys WHERE tenant_id = $1",
        "DELETE FROM tenants WHERE tenant_id = $1",
    ] {
        removed += transaction.execute(statement, &[&tenant_id]).await?;
    }
    transaction.commit().await?;
    Ok(removed)
}

/// Tables of tenants, those that refer to others first.
async fn list_tables(client: &Object) -> anyhow::Result<Vec<String>> {
    let tables = client
        .query(
            "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
             WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
                AND c.relname <> ALL ($1) ORDER BY c.relname",
            &[&["tenants", "api_keys", KEPT].as_slice()],
        )
        .await?;
    let references = client
        .query(
            "SELECT DISTINCT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
             WHERE contype = 'f' AND conrelid <> confrelid",
            &[],
        )
        .await?;
    let tables = tables.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    let references = references
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<Vec<(String, String)>, tokio_postgres::Error>>()?;
    Ok(in_order(tables, &references))
}

/// A table comes after all that refer to it; where they refer to each other in a ring, the rest as it is.
fn in_order(mut tables: Vec<String>, references: &[(String, String)]) -> Vec<String> {
    let mut ordered = Vec::new();
    while !tables.is_empty() {
        let left: HashSet<&str> = tables.iter().map(String::as_str).collect();
        let referred: HashSet<&str> = references
            .iter()
            .filter(|(from, _)| left.contains(from.as_str()))
            .map(|(_, to)| to.as_str())
            .collect();
        let (free, bound): (Vec<_>, Vec<_>) =
            tables.iter().cloned().partition(|table| !referred.contains(table.as_str()));
        if free.is_empty() {
            ordered.extend(tables);
            break;
        }
        ordered.extend(free);
        tables = bound;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_refers_is_emptied_before_what_it_refers_to() {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let references =
            [("b", "a"), ("c", "b"), ("d", "a")].map(|(from, to)| (from.to_owned(), to.to_owned()));
        let ordered = in_order(owned(&["a", "b", "c", "d"]), &references);
        let place = |table: &str| ordered.iter().position(|other| other == table).unwrap();
        for (from, to) in &references {
            assert!(place(from) < place(to), "{ordered:?}");
        }
        let ring = [("a".to_owned(), "b".to_owned()), ("b".to_owned(), "a".to_owned())];
        assert_eq!(in_order(owned(&["a", "b"]), &ring).len(), 2);
    }
}
