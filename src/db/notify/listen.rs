//! The one LISTEN connection of a process: made, proven alive several times a second, made again with growing
//! pauses when it is lost.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket};

use super::{CHANNEL, Hearing, Message};
use crate::db::connect::{SslMode, Target};
use crate::db::{Error, tls};

/// How the connection is told apart in pg_stat_activity.
pub const APPLICATION: &str = "resolute listen";
/// Time between the answer to one proof of life and the next question.
const PROOF_EVERY: Duration = Duration::from_millis(250);
/// Time for a proof of life; longer than it is believed, so that a slow machine does not reconnect all the time.
const PROOF_WITHIN: Duration = Duration::from_secs(3);
/// First and longest pause before the connection is made again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Listens for ever, and tells `heard` of every message. What is no message is ignored with a warning.
pub async fn listen(target: &Target, hearing: &Hearing, heard: impl Fn(&Message<'_>) + Send + Sync) {
    let mut pause = PAUSE.0;
    let mut told = false;
    loop {
        let begun = Instant::now();
        let ended = match target.ssl_mode() {
            SslMode::Disable => once(target, NoTls, hearing, &heard).await,
            mode => match tls::connector(mode == SslMode::VerifyFull) {
                Ok(connector) => once(target, connector, hearing, &heard).await,
                Err(error) => Err(Error::Internal(Box::new(error))),
            },
        };
        let lived = hearing.lost();
        // A connection that lived starts over with the shortest pause.
        pause = if lived && begun.elapsed() > PAUSE.1 { PAUSE.0 } else { (pause * 2).min(PAUSE.1) };
        if let Err(error) = ended {
            // Once an outage, not once a try.
            if lived || !told {
                tracing::warn!(%error, "not listening to other servers: names are remembered for a second");
                told = true;
            } else {
                tracing::debug!(%error, "still not listening");
            }
        }
        sleep(pause).await;
    }
}

async fn once<T>(
    target: &Target,
    tls: T,
    hearing: &Hearing,
    heard: &(impl Fn(&Message<'_>) + Sync),
) -> Result<(), Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: AsyncRead + AsyncWrite + Unpin,
{
    let mut config = target.tokio_postgres(PROOF_WITHIN);
    config.application_name(APPLICATION);
    let (client, connection) = timeout(PROOF_WITHIN, config.connect(tls)).await.map_err(late)??;
    let asking = pin!(ask(&client, hearing));
    let hearing_it = pin!(hear(connection, heard));
    match select(asking, hearing_it).await {
        Either::Left((ended, _)) | Either::Right((ended, _)) => ended,
    }
}

/// Begins to listen, then asks for signs of life until one fails to come.
async fn ask(client: &Client, hearing: &Hearing) -> Result<(), Error> {
    timeout(PROOF_WITHIN, client.batch_execute(&format!("LISTEN {CHANNEL}"))).await.map_err(late)??;
    hearing.connected();
    tracing::info!("listening to the other servers");
    loop {
        sleep(PROOF_EVERY).await;
        let begun = Instant::now();
        // What was announced before it comes before its answer.
        timeout(PROOF_WITHIN, client.batch_execute("")).await.map_err(late)??;
        hearing.proven(begun);
    }
}

/// Drives the connection and passes on what it hears. Always ends with the connection.
async fn hear<S, T>(
    mut connection: Connection<S, T>,
    heard: &(impl Fn(&Message<'_>) + Sync),
) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message? {
            if let Some(message) = Message::parse(notification.payload()) {
                heard(&message);
            } else {
                let bytes = notification.payload().len();
                tracing::warn!(bytes, "a notification in another form than this version's is ignored");
            }
        }
    }
    Err(Error::Unavailable("the LISTEN connection was closed".into()))
}

fn late(elapsed: tokio::time::error::Elapsed) -> Error {
    Error::Timeout(Box::new(elapsed))
}
