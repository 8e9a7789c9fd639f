//! A listener: accepts connections up to a limit, drops clients that neither finish their request head
//! nor read their answer in time,
//! and on a stop lets every connection finish what it is answering.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::gauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::arrival::Arrival;
use super::patience::Patience;
use crate::lifecycle::Tasks;
use crate::telemetry::metrics::HTTP_CONNECTIONS;

/// Limits of one listener.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Label of its metrics.
    pub name: &'static str,
    /// Open connections at once.
    pub max_connections: usize,
    /// Time for a request head.
    pub header_timeout: Duration,
    /// Time in which a client must have taken something of its answer.
    pub write_timeout: Duration,
}

/// How long a stop still serves connections that have just been made: their first request may be on its way.
const GRACE: Duration = Duration::from_millis(250);

/// Serves until `tasks` stops. Connections that the kernel has queued by then are still taken: their clients have
/// been told that they are connected.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, tasks: Tasks) {
    let slots = Arc::new(Semaphore::new(limits.max_connections));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let accepted = tokio::select! {
            biased;
            accepted = listener.accept() => accepted,
            // Polled second: whoever is in the queue comes first.
            () = tasks.stopping().cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                tasks.spawn_short(attend(stream, peer, router.clone(), limits, tasks.clone(), slot));
            }
            Err(error) => {
                // Out of file descriptors, or the client was gone already: neither is a reason to end.
                tracing::warn!(%error, listener = limits.name, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Serves one connection to its end; on a stop it finishes what it is answering.
async fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: Limits,
    tasks: Tasks,
    slot: OwnedSemaphorePermit,
) {
    gauge!(HTTP_CONNECTIONS, "listener" => limits.name).increment(1.0);
    let connection = connection(stream, peer, router, limits);
    tokio::pin!(connection);
    let stop = async {
        tasks.stopping().cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
    gauge!(HTTP_CONNECTIONS, "listener" => limits.name).decrement(1.0);
    drop(slot);
}

type Connection = http1::Connection<TokioIo<Patience<TcpStream>>, Routes>;

/// The router, as one connection asks it.
struct Routes {
    router: Router,
    peer: SocketAddr,
}

impl Service<hyper::Request<Incoming>> for Routes {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn call(&self, mut request: hyper::Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(Arrival { peer: Some(self.peer), ..Arrival::default() });
        tower::Service::call(&mut self.router.clone(), request)
    }
}

fn connection(stream: TcpStream, peer: SocketAddr, router: Router, limits: Limits) -> Connection {
    let _ = stream.set_nodelay(true);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .serve_connection(TokioIo::new(Patience::new(stream, limits.write_timeout)), Routes { router, peer })
}
