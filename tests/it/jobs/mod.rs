//! Durable jobs on a real database, with kinds of the tests' own.

mod closing;
mod recurring;
mod retry;
mod servers;

use std::time::Duration;

use resolute::db::jobs::{Done, Failure, Kinds, NewJob, Pace, Running, Worker, enqueue};
use resolute::lifecycle::Tasks;
use sqlx::{PgConnection, PgPool};

use crate::support::TestApp;

/// Fast, so that a test takes no longer than it must.
const PACE: Pace = Pace {
    poll: Duration::from_millis(20),
    lease: Duration::from_millis(300),
    longest_run: Duration::from_secs(20),
    grace: Duration::from_millis(50),
    survey: Duration::from_millis(100),
};

/// A worker of this server with these kinds, at work; and the tasks that stop it.
fn at_work(app: &TestApp, kinds: Kinds, pace: Pace) -> (Worker, Tasks) {
    let (tasks, _) = Tasks::new();
    let worker = Worker::new(app.db().management().clone(), kinds, app.app.ids.clone(), tasks.clone(), pace);
    worker.start();
    (worker, tasks)
}

/// A database with a table in which handlers note that they ran.
async fn start() -> TestApp {
    let app = TestApp::start().await;
    sqlx::query(
        "CREATE TABLE runs (job_id bigint, attempt integer, who text, at timestamptz DEFAULT clock_timestamp())",
    )
    .execute(app.db().management())
    .await
    .expect("a table");
    app
}

async fn note(conn: &mut PgConnection, job_id: i64, attempt: i32, who: &str) -> Result<(), Failure> {
    sqlx::query("INSERT INTO runs (job_id, attempt, who) VALUES ($1, $2, $3)")
        .bind(job_id)
        .bind(attempt)
        .bind(who)
        .execute(conn)
        .await?;
    Ok(())
}

/// A kind that notes its runs under this name.
fn noting(who: &'static str) -> Kinds {
    Kinds::default().on_demand("note", move |job, conn| -> Running<'_> {
        Box::pin(async move {
            note(conn, job.job_id, job.attempt, who).await?;
            Ok(Done::Finished)
        })
    })
}

async fn ask(app: &TestApp, job: &NewJob<'_>) -> i64 {
    let mut conn = app.db().management().acquire().await.expect("a connection");
    enqueue(&mut conn, job).await.expect("enqueued").expect("a new job")
}

/// A job as its row has it.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
struct Seen {
    state: String,
    attempts: i32,
    last_error: Option<String>,
    leased: bool,
}

async fn see(pool: &PgPool, job_id: i64) -> Seen {
    sqlx::query_as(
        "SELECT state, attempts, last_error, leased_by IS NOT NULL AS leased FROM jobs WHERE job_id = $1",
    )
    .bind(job_id)
    .fetch_one(pool)
    .await
    .expect("the job")
}

/// The job once it is in this state.
#[track_caller]
fn once<'a>(app: &'a TestApp, job_id: i64, state: &'a str) -> impl Future<Output = Seen> + 'a {
    until(move || async move {
        let seen = see(app.db().management(), job_id).await;
        (seen.state == state).then_some(seen)
    })
}

/// What `look` finds in the end.
async fn until<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("in time")
}

/// (job, attempt, who) of every run that was committed, in order.
async fn runs(app: &TestApp) -> Vec<(i64, i32, String)> {
    sqlx::query_as("SELECT job_id, attempt, who FROM runs ORDER BY at")
        .fetch_all(app.db().management())
        .await
        .expect("runs")
}
