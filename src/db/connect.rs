//! Where the database is: one parsed target from which both drivers get their options, so that they can
//! never point at different places.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

/// A database and how to reach it.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    place: Place,
    port: u16,
    user: String,
    password: Option<String>,
    database: String,
    ssl_mode: SslMode,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Host(String),
    SocketDir(PathBuf),
}

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never encrypt.
    Disable,
    /// Encrypt if the server can.
    Prefer,
    /// Encrypt, whoever answers.
    Require,
    /// Encrypt, and check the certificate and its host name.
    VerifyFull,
}

/// Why a database URL was refused. It never repeats the URL, which holds a password.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TargetError {
    /// Not a URL at all, or of another kind.
    #[error("expected postgres://user:password@host:port/database")]
    Form,
    /// A parameter that this program does not know.
    #[error("unknown parameter `{0}` (known: host, port, user, password, dbname, sslmode)")]
    Parameter(String),
    /// A parameter with an impossible value.
    #[error("parameter `{0}` has an impossible value")]
    Value(String),
    /// Nothing says who connects.
    #[error("the user is missing")]
    User,
}

impl Target {
    /// Parses `postgres://[user[:password]@][host][:port]/[database][?parameters]`. A host that begins with
    /// a slash (percent-encoded, or in `?host=`) is the directory of a Unix socket.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let url = Url::parse(text).map_err(|_| TargetError::Form)?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(TargetError::Form);
        }
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(std::borrow::Cow::into_owned);
        let decode = |part: &str| decode(part).map_err(|_| TargetError::Form);
        let mut host = decode(url.host_str().unwrap_or_default())?;
        let mut port = url.port().unwrap_or(5432);
        let mut user = decode(url.username())?;
        let mut password = url.password().map(decode).transpose()?;
        let mut database = decode(url.path().trim_start_matches('/'))?;
        let mut ssl_mode = SslMode::Prefer;
        for (key, value) in url.query_pairs() {
            let bad = || TargetError::Value(key.clone().into_owned());
            match key.as_ref() {
                "host" => host = value.into_owned(),
                "port" => port = value.parse().map_err(|_| bad())?,
                "user" => user = value.into_owned(),
                "password" => password = Some(value.into_owned()),
                "dbname" => database = value.into_owned(),
                "sslmode" => {
                    ssl_mode = match value.as_ref() {
                        "disable" => SslMode::Disable,
                        "allow" | "prefer" => SslMode::Prefer,
                        "require" => SslMode::Require,
                        "verify-ca" | "verify-full" => SslMode::VerifyFull,
                        _ => return Err(bad()),
                    }
                }
                other => return Err(TargetError::Parameter(other.to_owned())),
            }
        }
        if user.is_empty() {
            return Err(TargetError::User);
        }
        if database.is_empty() {
            database.clone_from(&user);
        }
        let place = match host.as_str() {
            "" => Place::Host("localhost".into()),
            dir if dir.starts_with('/') => Place::SocketDir(dir.into()),
            _ => Place::Host(host.trim_start_matches('[').trim_end_matches(']').to_owned()),
        };
        Ok(Self { place, port, user, password, database, ssl_mode })
    }

    /// A database behind a Unix socket, such as a private cluster's.
    pub fn socket(dir: &Path, port: u16, user: &str, database: &str) -> Self {
        Self {
            place: Place::SocketDir(dir.to_path_buf()),
            port,
            user: user.to_owned(),
            password: None,
            database: database.to_owned(),
            ssl_mode: SslMode::Disable,
        }
    }

    /// The same server, another database.
    #[must_use]
    pub fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }

    /// The same database over another host and port, such as a proxy's.
    #[must_use]
    pub fn with_host(&self, host: &str, port: u16) -> Self {
        Self { place: Place::Host(host.to_owned()), port, ..self.clone() }
    }

    /// The file of the Unix socket, if that is how the server is reached.
    pub fn socket_path(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Host(_) => None,
            Place::SocketDir(dir) => Some(dir.join(format!(".s.PGSQL.{}", self.port))),
        }
    }

    /// Name of the database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The `sslmode`.
    pub fn ssl_mode(&self) -> SslMode {
        self.ssl_mode
    }

    /// Options for sqlx.
    pub fn sqlx(&self) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass()
            .port(self.port)
            .username(&self.user)
            .database(&self.database);
        let options = match &self.place {
            Place::Host(host) => options.host(host),
            Place::SocketDir(dir) => options.socket(dir),
        };
        let options = match &self.password {
            Some(password) => options.password(password),
            None => options,
        };
        options.application_name("resolute").ssl_mode(match self.ssl_mode {
            SslMode::Disable => PgSslMode::Disable,
            SslMode::Prefer => PgSslMode::Prefer,
            SslMode::Require => PgSslMode::Require,
            SslMode::VerifyFull => PgSslMode::VerifyFull,
        })
    }

    /// Options for tokio-postgres.
    pub fn tokio_postgres(&self, connect_timeout: Duration) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        match &self.place {
            Place::Host(host) => config.host(host),
            Place::SocketDir(dir) => config.host_path(dir),
        };
        if let Some(password) = &self.password {
            config.password(password);
        }
        config.port(self.port).user(&self.user).dbname(&self.database).application_name("resolute");
        // A peer that vanished without a word is noticed in half a minute, not in the kernel's two hours, or in its
        // quarter of an hour where something that was sent is not confirmed.
        config
            .tcp_user_timeout(Duration::from_secs(30))
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        config.connect_timeout(connect_timeout).ssl_mode(match self.ssl_mode {
            SslMode::Disable => tokio_postgres::config::SslMode::Disable,
            SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
            SslMode::Require | SslMode::VerifyFull => tokio_postgres::config::SslMode::Require,
        });
        config
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match &self.place {
            Place::Host(host) => host.clone(),
            Place::SocketDir(dir) => dir.display().to_string(),
        };
        write!(f, "{}@{place}:{}/{}", self.user, self.port, self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_every_usual_form_are_understood() {
        let of = |text: &str| Target::parse(text).expect("valid");
        assert_eq!(format!("{:?}", of("postgres://u:p%40@h:1/d?sslmode=require")), "u@h:1/d");
        assert_eq!(of("postgres://u:p%40@h:1/d").password.as_deref(), Some("p@"));
        assert_eq!(of("postgresql://u@h").database, "u");
        assert_eq!(of("postgres:///d?host=/run/pg&user=u").place, Place::SocketDir("/run/pg".into()));
        assert_eq!(of("postgres://u@%2Frun%2Fpg/d").place, Place::SocketDir("/run/pg".into()));
        assert_eq!(of("postgres://u@[::1]:5/d").place, Place::Host("::1".into()));
        assert_eq!(of("postgres://u@h/d?sslmode=verify-full").ssl_mode, SslMode::VerifyFull);
    }

    #[test]
    fn refusals_name_the_fault_and_never_the_password() {
        let of = |text: &str| Target::parse(text).expect_err("refused");
        assert_eq!(of("mysql://u@h/d"), TargetError::Form);
        assert_eq!(of("host=localhost"), TargetError::Form);
        assert_eq!(of("postgres://h/d"), TargetError::User);
        assert_eq!(of("postgres://u@h/d?sslmod=require"), TargetError::Parameter("sslmod".into()));
        assert_eq!(of("postgres://u@h/d?sslmode=on"), TargetError::Value("sslmode".into()));
        let debug = format!("{:?}", Target::parse("postgres://u:secret@h/d").expect("valid"));
        assert!(!debug.contains("secret"));
    }
}
