//! A TCP proxy in front of the test cluster that can delay, cut and refuse, to see what a server does when its
//! database connection misbehaves at the worst moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use resolute::db::Target;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::Notify;

use super::database;

/// What the proxy does, shared with its connections.
#[derive(Default)]
struct Mood {
    refuse: AtomicBool,
    delay_ms: AtomicU64,
    /// Cut the connection once this text has been sent to the server (after it), or before it.
    cut_at: std::sync::Mutex<Option<(Vec<u8>, Cut)>>,
    cut_all: Notify,
    cuts: AtomicU64,
}

/// When a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never sees the text.
    Before,
    /// The server sees the text, the client never sees the answer.
    After,
}

/// The proxy; it ends with the test's runtime.
pub struct ChaosProxy {
    mood: Arc<Mood>,
    port: u16,
}

impl ChaosProxy {
    /// A proxy that behaves.
    #[allow(clippy::disallowed_methods)]
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let socket = database::socket_path().await;
        let mood = Arc::new(Mood::default());
        let shared = Arc::clone(&mood);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.refuse.load(Ordering::Relaxed) {
                    continue;
                }
                let (mood, socket) = (Arc::clone(&shared), socket.clone());
                tokio::spawn(async move {
                    let Ok(server) = UnixStream::connect(&socket).await else { return };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    let mute = AtomicBool::new(false);
                    tokio::select! {
                        () = pump(from_client, to_server, Some(&mood), &mute) => {}
                        () = pump(from_server, to_client, None, &mute) => {}
                        () = mood.cut_all.notified() => {}
                    }
                });
            }
        });
        Self { mood, port }
    }

    /// The same database, through the proxy.
    pub fn target(&self, of: &Target) -> Target {
        of.with_host("127.0.0.1", self.port)
    }

    /// From now on new connections are closed at once.
    pub fn refuse(&self, refuse: bool) {
        self.mood.refuse.store(refuse, Ordering::Relaxed);
    }

    /// Every packet to the server waits this long.
    pub fn delay(&self, by: Duration) {
        self.mood.delay_ms.store(u64::try_from(by.as_millis()).expect("short"), Ordering::Relaxed);
    }

    /// Cuts each connection at the packet that contains `text`.
    pub fn cut_at(&self, text: &str, when: Cut) {
        *self.mood.cut_at.lock().expect("no panic holds it") = Some((text.as_bytes().to_vec(), when));
    }

    /// No more cutting.
    pub fn behave(&self) {
        *self.mood.cut_at.lock().expect("no panic holds it") = None;
        self.delay(Duration::ZERO);
        self.refuse(false);
    }

    /// Cuts every open connection now.
    pub fn cut_all(&self) {
        self.mood.cut_all.notify_waiters();
    }

    /// How many connections were cut at a text.
    pub fn cuts(&self) -> u64 {
        self.mood.cuts.load(Ordering::Relaxed)
    }
}

/// Carries bytes one way. Once `mute` is set nothing reaches the client any more.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mood: Option<&Mood>,
    mute: &AtomicBool,
) {
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        let Ok(n @ 1..) = from.read(&mut buffer).await else { return };
        let bytes = &buffer[..n];
        if let Some(mood) = mood {
            tokio::time::sleep(Duration::from_millis(mood.delay_ms.load(Ordering::Relaxed))).await;
            let cut = mood.cut_at.lock().expect("no panic holds it").clone();
            if let Some((text, when)) = cut
                && bytes.windows(text.len()).any(|window| window == text)
            {
                mood.cuts.fetch_add(1, Ordering::Relaxed);
                if when == Cut::After {
                    mute.store(true, Ordering::Relaxed);
                    let _ = to.write_all(bytes).await;
                    // Time for the server to act on it; its answer is thrown away.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                return;
            }
        }
        if mute.load(Ordering::Relaxed) {
            continue;
        }
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
}
