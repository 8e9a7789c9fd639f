//! A migrated database for one test: cloned from a template that is made once for each state of the migrations, in
//! a private cluster that all test processes share and that `scripts/test` stops at the end.

use std::path::{Path, PathBuf};

use resolute::config::Environment;
use resolute::db::Target;
use resolute::db::cluster::{Cluster, Settings};
use resolute::db::migrate::{self, MIGRATOR};
use resolute::ids::Ids;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

/// Key of the advisory lock under which the template is made.
const TEMPLATE_LOCK: i64 = 0x7465_6d70;

/// A database that is dropped with this value.
pub struct TestDatabase {
    target: Target,
    maintenance: Target,
}

impl TestDatabase {
    /// A clone of the migrated template.
    pub async fn create() -> Self {
        let template = template().await;
        Self::create_from(&template).await
    }

    /// A database without any schema.
    pub async fn create_empty() -> Self {
        Self::create_from("template0").await
    }

    async fn create_from(template: &str) -> Self {
        let maintenance = server().await.with_database("postgres");
        let name = format!("t_{}", Ids::os().uuid_v4().simple());
        let mut connection = PgConnection::connect_with(&maintenance.sqlx()).await.expect("the test cluster");
        run(&mut connection, format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")).await;
        Self { target: maintenance.with_database(&name), maintenance }
    }

    /// Where it is.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A connection of the test's own, to look behind the server's back or to hold a lock.
    pub async fn connect(target: &Target) -> PgConnection {
        PgConnection::connect_with(&target.sqlx()).await.expect("a connection")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (maintenance, name) = (self.maintenance.clone(), self.target.database().to_owned());
        // A runtime of its own: the test's may be gone or stand still.
        let dropped = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let mut connection =
                    PgConnection::connect_with(&maintenance.sqlx()).await.expect("the test cluster");
                run(&mut connection, format!("DROP DATABASE {name} WITH (FORCE)")).await;
            });
        })
        .join();
        assert!(dropped.is_ok() || std::thread::panicking(), "the test's database could not be dropped");
    }
}

async fn run(connection: &mut PgConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.expect("SQL of the test support");
}

/// The file of the shared cluster's socket.
pub async fn socket_path() -> PathBuf {
    server().await.socket_path().expect("tests with a proxy need a server behind a Unix socket")
}

/// The server of DATABASE_URL, else the shared cluster, started by whichever test comes first.
pub async fn server() -> Target {
    static SERVER: OnceCell<Target> = OnceCell::const_new();
    let target = SERVER.get_or_init(|| async {
        let environment = Environment::of_process();
        if let Some(url) = environment.get("DATABASE_URL") {
            return Target::parse(url).expect("DATABASE_URL");
        }
        let parameters = [("max_connections", "400"), ("shared_buffers", "256MB"), ("autovacuum", "off")];
        let settings = Settings {
            data_dir: target_dir().join("test-cluster"),
            durable: false,
            path: environment.path().cloned(),
            binaries_dir: None,
            parameters: parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        };
        let cluster = Cluster::attach_or_start(&settings).await.expect("the test cluster").leave_running();
        Target::socket(cluster.socket_dir(), cluster.port(), cluster.user(), cluster.database())
    });
    target.await.clone()
}

/// cargo's target directory, as `scripts/test` knows it.
fn target_dir() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().expect("a directory in the target directory").to_path_buf()
}

/// The name of the template of these migrations, made if it is missing.
async fn template() -> String {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let name = TEMPLATE.get_or_init(|| async {
        let state: Vec<u8> = MIGRATOR.iter().flat_map(|migration| migration.checksum.to_vec()).collect();
        let name = format!("template_{:08x}", crc(&state));
        let maintenance = server().await.with_database("postgres");
        let mut connection = PgConnection::connect_with(&maintenance.sqlx()).await.expect("the test cluster");
        sqlx::query("SELECT pg_advisory_lock($1)")
            .bind(TEMPLATE_LOCK)
            .execute(&mut connection)
            .await
            .expect("lock");
        let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(&name)
            .fetch_one(&mut connection)
            .await
            .expect("databases");
        if !exists {
            let making = format!("{name}_making");
            run(&mut connection, format!("DROP DATABASE IF EXISTS {making} WITH (FORCE)")).await;
            run(&mut connection, format!("CREATE DATABASE {making} TEMPLATE template0")).await;
            let target = maintenance.with_database(&making);
            migrate::migrate(&target, migrate::PATIENCE).await.expect("migrations apply");
            run(&mut connection, format!("ALTER DATABASE {making} RENAME TO {name}")).await;
        }
        sqlx::query("SELECT pg_advisory_unlock($1)")
            .bind(TEMPLATE_LOCK)
            .execute(&mut connection)
            .await
            .expect("unlock");
        name
    });
    name.await.clone()
}

/// FNV-1a, enough to tell states of the migrations apart.
fn crc(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
