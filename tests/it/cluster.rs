//! The private PostgreSQL as processes and files: started, found again, adopted, recovered, refused.
//! Not durable where that does not matter, which makes a fresh cluster a matter of a second.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use resolute::db::cluster::{Cluster, ClusterError, MINIMUM_MAJOR, Settings};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A directory that PostgreSQL's account can enter when the tests run as root.
pub fn temporary() -> TempDir {
    let dir = tempfile::tempdir().expect("temporary directory");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).expect("mode");
    dir
}

fn settings(data_dir: impl Into<PathBuf>) -> Settings {
    Settings {
        data_dir: data_dir.into(),
        durable: false,
        path: None,
        binaries_dir: None,
        parameters: vec![("shared_buffers".to_owned(), "1MB".to_owned())],
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The first column of the last row of a statement's answer.
async fn ask(cluster: &Cluster, sql: &str) -> String {
    let mut config = tokio_postgres::Config::new();
    config.host_path(cluster.socket_dir()).port(cluster.port());
    config.user(cluster.user()).dbname(cluster.database());
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("the cluster answers");
    let work = async move {
        let messages = client.simple_query(sql).await.expect("the statement runs");
        let values = messages.iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        values.last().unwrap_or_default()
    };
    tokio::join!(work, connection).0
}

/// The process id in `postmaster.pid`.
fn postmaster(data_dir: &Path) -> Pid {
    let text = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).expect("running");
    text.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw).expect("a process id")
}

fn message<T: std::fmt::Debug>(result: Result<T, ClusterError>) -> String {
    result.expect_err("refused").to_string()
}

#[tokio::test]
async fn a_fresh_cluster_is_private_and_its_data_are_found_again() {
    let dir = temporary();
    let settings = settings(dir.path().join("made/on/the/way"));
    let cluster = Cluster::start(&settings).await.expect("starts");
    assert!(cluster.owned());
    assert_eq!(ask(&cluster, "SHOW listen_addresses").await, "");
    assert_eq!(ask(&cluster, "SHOW data_checksums").await, "on");
    assert_eq!(ask(&cluster, "SHOW server_encoding").await, "UTF8");
    assert_eq!(ask(&cluster, "SHOW fsync").await, "off");
    assert_eq!(ask(&cluster, "SHOW shared_buffers").await, "1MB");
    assert_eq!(ask(&cluster, "SELECT 'a' > 'B'").await, "t", "sorted by bytes");
    let socket_dir = cluster.socket_dir().metadata().expect("there");
    assert_eq!(socket_dir.mode() & 0o777, 0o700);
    assert_ne!(socket_dir.uid(), 0, "PostgreSQL's account is not root");

    ask(&cluster, "CREATE TABLE kept AS SELECT 42 AS answer").await;
    let socket_dir = cluster.socket_dir().to_path_buf();
    cluster.stop().await.expect("stops");
    assert!(!socket_dir.exists());
    assert!(!settings.data_dir.join("postgres/postmaster.pid").exists(), "shut down, not killed");

    let again = Cluster::start(&settings).await.expect("starts again");
    assert_eq!(ask(&again, "SELECT answer FROM kept").await, "42");
    again.stop().await.expect("stops");
}

#[tokio::test]
async fn durable_means_that_a_commit_reaches_the_disk() {
    let dir = temporary();
    let cluster = Cluster::start(&Settings { durable: true, ..settings(dir.path()) }).await.expect("starts");
    for parameter in ["fsync", "full_page_writes", "synchronous_commit"] {
        assert_eq!(ask(&cluster, &format!("SHOW {parameter}")).await, "on", "{parameter}");
    }
    cluster.stop().await.expect("stops");
}

#[tokio::test]
async fn a_second_owner_is_refused_and_others_attach_without_stopping_it() {
    let dir = temporary();
    let settings = settings(dir.path());
    assert!(Cluster::find_running(&settings).await.expect("looks").is_none());
    let owner = Cluster::start(&settings).await.expect("starts");

    let refusal = message(Cluster::start(&settings).await);
    assert!(refusal.contains(&format!("process id {}", std::process::id())), "{refusal}");

    let other = Cluster::find_running(&settings).await.expect("looks").expect("finds it");
    assert!(!other.owned());
    other.stop().await.expect("nothing to do");
    let other = Cluster::attach_or_start(&settings).await.expect("attaches");
    assert!(!other.owned());
    drop(other);
    assert_eq!(ask(&owner, "SELECT 1").await, "1");
    owner.stop().await.expect("stops");
    assert!(Cluster::find_running(&settings).await.expect("looks").is_none());
}

#[tokio::test]
async fn of_many_that_need_it_at_once_one_starts_it() {
    let dir = temporary();
    let settings = settings(dir.path());
    let clusters =
        futures_util::future::try_join_all((0..8).map(|_| Cluster::attach_or_start(&settings))).await;
    let (owners, others): (Vec<_>, Vec<_>) =
        clusters.expect("all get it").into_iter().partition(Cluster::owned);
    assert_eq!((owners.len(), others.len()), (1, 7));
    drop(others);
    for owner in owners {
        owner.stop().await.expect("stops");
    }
}

#[tokio::test]
async fn a_cluster_that_a_killed_server_left_is_adopted() {
    let dir = temporary();
    let settings = settings(dir.path());
    let first = Cluster::start(&settings).await.expect("starts").leave_running();
    assert!(!first.owned());
    let pid = postmaster(dir.path());
    drop(first);

    let second = Cluster::start(&settings).await.expect("adopts");
    assert!(second.owned());
    assert_eq!(postmaster(dir.path()), pid);
    assert_eq!(ask(&second, "SELECT 1").await, "1");
    second.stop().await.expect("stops");
    assert!(!dir.path().join("postgres/postmaster.pid").exists());
}

#[tokio::test]
async fn a_killed_cluster_is_noticed_and_recovers() {
    let dir = temporary();
    let settings = Settings { durable: true, ..settings(dir.path()) };
    let cluster = Cluster::start(&settings).await.expect("starts");
    ask(&cluster, "CREATE TABLE kept AS SELECT 42 AS answer").await;
    // A backend in the middle of a statement does not notice that its postmaster is gone: an orphan.
    let mut config = tokio_postgres::Config::new();
    config.host_path(cluster.socket_dir()).user(cluster.user()).dbname(cluster.database());
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("connects");
    let sleeping = async {
        tokio::join!(client.batch_execute("SELECT count(*) FROM generate_series(1, 1e9)"), connection)
    };
    let killing = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        kill_process(postmaster(dir.path()), Signal::KILL).expect("killed");
        cluster.died().await;
    };
    tokio::select! {
        _ = sleeping => panic!("the orphan ended before its time"),
        () = killing => {}
    }
    assert!(dir.path().join("postgres/postmaster.pid").exists(), "stale");
    drop(cluster);

    let again = Cluster::start(&settings).await.expect("recovers");
    assert_eq!(ask(&again, "SELECT answer FROM kept").await, "42");
    again.stop().await.expect("stops");
}

#[tokio::test]
async fn a_stale_pid_file_with_an_id_in_use_again_does_not_matter() {
    let dir = temporary();
    let settings = settings(dir.path());
    Cluster::start(&settings).await.expect("starts").stop().await.expect("stops");
    let data = dir.path().join("postgres");
    let owner = data.metadata().expect("made");
    let mut stranger = std::process::Command::new("sleep");
    stranger.arg("60");
    if is_root() {
        stranger.uid(owner.uid()).gid(owner.gid());
    }
    let mut stranger = stranger.spawn().expect("runs");
    let stale =
        format!("{}\n{}\n1764533000\n5432\n/nowhere\n\n 1 1\nready   \n", stranger.id(), data.display());
    std::fs::write(data.join("postmaster.pid"), stale).expect("writes");
    std::fs::create_dir(dir.path().join("socket")).expect("makes");
    std::os::unix::fs::chown(dir.path().join("socket"), Some(owner.uid()), Some(owner.gid())).expect("gives");
    std::fs::set_permissions(dir.path().join("socket"), std::fs::Permissions::from_mode(0o700))
        .expect("mode");
    std::fs::write(dir.path().join("socket/.s.PGSQL.5432.lock"), format!("{}\n", stranger.id()))
        .expect("writes");

    assert!(Cluster::find_running(&settings).await.expect("looks").is_none());
    let cluster = Cluster::start(&settings).await.expect("starts");
    assert_eq!(ask(&cluster, "SELECT 1").await, "1");
    cluster.stop().await.expect("stops");
    assert!(stranger.try_wait().expect("ours").is_none(), "the stranger was left alone");
    stranger.kill().expect("ours");
    stranger.wait().expect("ours");
}

#[tokio::test]
async fn an_interrupted_initialisation_is_cleared_away() {
    let dir = temporary();
    let settings = settings(dir.path());
    for milliseconds in [30, 150, 400] {
        let interrupted =
            tokio::time::timeout(Duration::from_millis(milliseconds), Cluster::start(&settings)).await;
        drop(interrupted);
    }
    let left = dir.path().join("postgres.unfinished-1");
    std::fs::create_dir(&left).expect("makes");
    std::fs::write(left.join("PG_VERSION"), "15\n").expect("writes");
    let cluster = Cluster::start(&settings).await.expect("starts");
    assert_eq!(ask(&cluster, "SELECT 1").await, "1");
    cluster.stop().await.expect("stops");
    assert!(!left.exists());
}

#[tokio::test]
async fn a_dropped_owner_takes_its_cluster_along() {
    let dir = temporary();
    let settings = settings(dir.path());
    let cluster = Cluster::start(&settings).await.expect("starts");
    drop(cluster);
    for _ in 0..500 {
        if !dir.path().join("postgres/postmaster.pid").exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("still running");
}

#[tokio::test]
async fn data_of_another_version_are_refused_naming_both() {
    let dir = temporary();
    let data = dir.path().join("postgres");
    std::fs::create_dir(&data).expect("makes");
    std::fs::write(data.join("PG_VERSION"), "9999\n").expect("writes");
    let refusal = message(Cluster::start(&settings(dir.path())).await);
    assert!(refusal.contains("made by PostgreSQL 9999"), "{refusal}");
    assert!(refusal.contains("this machine has 1"), "{refusal}");
}

#[tokio::test]
async fn a_directory_with_other_things_in_it_is_left_alone() {
    let dir = temporary();
    let data = dir.path().join("postgres");
    std::fs::create_dir(&data).expect("makes");
    std::fs::write(data.join("thesis.tex"), "precious").expect("writes");
    let refusal = message(Cluster::start(&settings(dir.path())).await);
    assert!(refusal.contains("not a PostgreSQL data directory"), "{refusal}");
    assert_eq!(std::fs::read_to_string(data.join("thesis.tex")).expect("there"), "precious");
}

#[tokio::test]
async fn without_binaries_the_message_says_what_to_do() {
    let dir = temporary();
    let binaries = dir.path().join("bin");
    std::fs::create_dir(&binaries).expect("makes");
    let settings = Settings { binaries_dir: Some(binaries.clone()), ..settings(dir.path().join("data")) };
    let refusal = message(Cluster::start(&settings).await);
    assert!(refusal.contains("holds no `postgres`"), "{refusal}");

    for program in ["postgres", "initdb"] {
        let file = binaries.join(program);
        std::fs::write(&file, "#!/bin/sh\necho 'postgres (PostgreSQL) 13.4'\n").expect("writes");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
    let refusal = message(Cluster::start(&settings).await);
    assert!(refusal.contains(&format!("no PostgreSQL {MINIMUM_MAJOR} or newer")), "{refusal}");
    assert!(refusal.contains("too old: 13"), "{refusal}");
    assert!(refusal.contains("install it with: "), "{refusal}");
}

#[tokio::test]
async fn a_failing_start_shows_the_end_of_the_log() {
    let dir = temporary();
    let mut settings = settings(dir.path());
    settings.parameters.push(("max_connections".to_owned(), "many".to_owned()));
    let refusal = message(Cluster::start(&settings).await);
    assert!(refusal.contains("invalid value for parameter \"max_connections\""), "{refusal}");
    assert!(refusal.contains("postgres.log"), "{refusal}");
    settings.parameters.pop();
    Cluster::start(&settings).await.expect("the data are fine").stop().await.expect("stops");
}

#[tokio::test]
async fn paths_too_long_or_too_odd_for_a_socket_get_a_short_one() {
    let dir = temporary();
    for odd in ["long/".repeat(20), "with space, comma and \"quotes\"".to_owned()] {
        let settings = settings(dir.path().join(odd));
        let cluster = Cluster::start(&settings).await.expect("starts");
        assert!(cluster.socket_dir().starts_with("/tmp"), "{}", cluster.socket_dir().display());
        assert!(!cluster.socket_dir().starts_with(dir.path()));
        assert_eq!(ask(&cluster, "SELECT 1").await, "1");
        let attached = Cluster::find_running(&settings).await.expect("looks").expect("finds it");
        assert_eq!(attached.socket_dir(), cluster.socket_dir());
        cluster.stop().await.expect("stops");
    }
}

#[tokio::test]
async fn below_a_directory_of_root_alone_the_data_go_where_postgresql_can_enter() {
    if !is_root() {
        return; // an ordinary user's cluster runs as that user
    }
    let dir = temporary();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).expect("mode");
    let settings = settings(dir.path().join("data"));
    let cluster = Cluster::start(&settings).await.expect("starts");
    let location = std::fs::read_to_string(settings.data_dir.join("location")).expect("says where");
    let location = PathBuf::from(location.trim());
    ask(&cluster, "CREATE TABLE kept AS SELECT 42 AS answer").await;
    assert!(Cluster::find_running(&settings).await.expect("looks").is_some());
    cluster.stop().await.expect("stops");

    // Opening the directory later does not make the data disappear.
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).expect("mode");
    let again = Cluster::start(&settings).await.expect("starts again");
    assert_eq!(ask(&again, "SELECT answer FROM kept").await, "42");
    again.stop().await.expect("stops");
    assert!(location.join("postgres/PG_VERSION").exists());
    std::fs::remove_dir_all(location).expect("removes");
}
