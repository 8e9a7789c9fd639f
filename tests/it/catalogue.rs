//! Walks PostgreSQL's catalogue: the rules of the schema hold for every table, also the ones added later.

use sqlx::PgConnection;

use crate::support::database::TestDatabase;

/// Tables that belong to the service, not to a tenant. A new one must be named here, with a reason in the migration.
const GLOBAL: &[&str] = &[
    "_sqlx_migrations",
    "tenants",
    "api_keys",
    "api_key_domains",
    "service_settings",
    "domains",
    "headroom_samples",
    "signing_keys",
    "jobs",
    "domain_directory",
];

/// Rows that writers hold FOR UPDATE: a foreign key's check would block against it.
const LOCK_ROWS: &[&str] = &["polls", "domain_state"];

async fn strings(connection: &mut PgConnection, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(connection).await.expect("catalogue query")
}

fn without_global(found: Vec<String>) -> Vec<String> {
    found
        .into_iter()
        .filter(|line| !GLOBAL.contains(&line.split(&[':', '.'][..]).next().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn tenant_id_is_first_in_every_key_of_every_tenant_owned_table() {
    let database = TestDatabase::create().await;
    let mut connection = TestDatabase::connect(database.target()).await;
    let tables = strings(&mut connection, "SELECT relname::text FROM pg_class WHERE relkind IN ('r','p') AND relnamespace = 'public'::regnamespace").await;
    let owned = without_global(tables);
    assert!(owned.len() >= 8, "the schema has its tables: {owned:?}");
    let keyless = strings(
        &mut connection,
        "SELECT c.relname::text FROM pg_class c WHERE c.relkind IN ('r','p') AND c.relnamespace = 'public'::regnamespace
         AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)",
    ).await;
    assert_eq!(keyless, Vec::<String>::new(), "tables without a primary key");

    let unique = strings(
        &mut connection,
        "SELECT c.relname || ': ' || ic.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class ic ON ic.oid = i.indexrelid
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
         WHERE c.relnamespace = 'public'::regnamespace AND i.indisunique AND a.attname IS DISTINCT FROM 'tenant_id'",
    ).await;
    assert_eq!(
        without_global(unique),
        Vec::<String>::new(),
        "unique indexes that do not begin with tenant_id"
    );

    let references = strings(
        &mut connection,
        "SELECT c.relname || ': ' || k.conname || ' -> ' || f.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class f ON f.oid = k.confrelid
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
         WHERE k.contype = 'f' AND c.relnamespace = 'public'::regnamespace AND a.attname IS DISTINCT FROM 'tenant_id'",
    ).await;
    assert_eq!(
        without_global(references),
        Vec::<String>::new(),
        "foreign keys that do not begin with tenant_id"
    );
}

#[tokio::test]
async fn no_foreign_key_points_at_a_lock_row() {
    let database = TestDatabase::create().await;
    let mut connection = TestDatabase::connect(database.target()).await;
    let targets =
        strings(&mut connection, "SELECT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'")
            .await;
    assert!(!targets.is_empty());
    for lock_row in LOCK_ROWS {
        assert!(!targets.contains(&(*lock_row).to_owned()), "a foreign key points at {lock_row}");
    }
    let filled = strings(
        &mut connection,
        "SELECT relname::text FROM pg_class WHERE reloptions @> ARRAY['fillfactor=50']",
    )
    .await;
    assert!(
        LOCK_ROWS.iter().all(|row| filled.contains(&(*row).to_owned())),
        "lock rows leave room for their own updates: {filled:?}"
    );
}

#[tokio::test]
async fn keys_are_c_collated_ids_are_64_bit_and_everything_is_named_and_commented() {
    let database = TestDatabase::create().await;
    let mut connection = TestDatabase::connect(database.target()).await;
    let collation = strings(
        &mut connection,
        "SELECT DISTINCT c.relname || '.' || a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
         JOIN pg_type t ON t.oid = a.atttypid JOIN pg_collation l ON l.oid = a.attcollation
         WHERE c.relnamespace = 'public'::regnamespace AND t.typname IN ('text', 'varchar') AND l.collname <> 'C'",
    ).await;
    assert_eq!(collation, Vec::<String>::new(), "indexed text that is not COLLATE \"C\"");
    let narrow = strings(
        &mut connection,
        "SELECT attrelid::regclass || '.' || attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r','p') AND a.attnum > 0
         AND ((attidentity <> '' AND atttypid <> 'bigint'::regtype) OR (attname LIKE '%\\_id' AND atttypid NOT IN ('bigint'::regtype, 'uuid'::regtype)))",
    ).await;
    assert_eq!(narrow, Vec::<String>::new(), "ids that are not 64 bits wide");
    let silent = strings(
        &mut connection,
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','p','i')
         AND relname NOT LIKE '\\_sqlx%' AND obj_description(oid, 'pg_class') IS NULL",
    ).await;
    assert_eq!(silent, Vec::<String>::new(), "tables and indexes without a comment");
    let unnamed = strings(
        &mut connection,
        "SELECT conrelid::regclass || ': ' || conname FROM pg_constraint WHERE contype = 'c' AND conname ~ '_check[0-9]*$' AND connamespace = 'public'::regnamespace",
    ).await;
    assert_eq!(unnamed, Vec::<String>::new(), "constraints without a name of their own");
    let times = strings(
        &mut connection,
        "SELECT attrelid::regclass || '.' || attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND attnum > 0 AND atttypid = 'timestamp'::regtype",
    ).await;
    assert_eq!(times, Vec::<String>::new(), "times without a zone");
}
