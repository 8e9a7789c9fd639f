//! One classifier for what both drivers can report, by SQLSTATE and by kind of failure.
//! It names constraints, so that call sites can map them; it knows nothing of HTTP.

use std::error::Error as StdError;
use std::sync::Arc;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

/// What went wrong with a statement, a transaction or a connection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be had, or the one in use broke before COMMIT was sent. Nothing was written.
    #[error("the database cannot be reached: {0}")]
    Unavailable(Source),
    /// A statement, lock or pool time-out passed. Nothing was written.
    #[error("the database took too long: {0}")]
    Timeout(Source),
    /// The connection broke while COMMIT was under way: nobody can tell whether it was written.
    #[error("the connection broke during COMMIT, the outcome is unknown: {0}")]
    OutcomeUnknown(Source),
    /// A bound of this process is reached. Nothing was written.
    #[error("{0}")]
    Busy(&'static str),
    /// Several writes together need more than there is; fewer of them may fit. Nothing was written.
    #[error("there is no room for all of them together")]
    NoRoomTogether,
    /// 23505: the named unique constraint or index.
    #[error("unique constraint {constraint}")]
    UniqueViolation {
        /// Name of the constraint.
        constraint: String,
    },
    /// 23514: the named check constraint.
    #[error("check constraint {constraint}")]
    CheckViolation {
        /// Name of the constraint.
        constraint: String,
    },
    /// 23503: the named foreign key.
    #[error("foreign key {constraint}")]
    ForeignKeyViolation {
        /// Name of the constraint.
        constraint: String,
    },
    /// 40001 or 40P01: run the transaction again.
    #[error("the transaction must be run again: {0}")]
    Retryable(Source),
    /// The database refuses writes: read-only, a standby, out of disk or of ids.
    #[error("the database refuses writes: {0}")]
    ReadOnly(Source),
    /// Anything else: a defect of this program or of the database.
    #[error("{0}")]
    Internal(Source),
}

type Source = Box<dyn StdError + Send + Sync>;

impl Error {
    /// True if the named unique constraint was violated.
    pub fn is_unique(&self, name: &str) -> bool {
        matches!(self, Self::UniqueViolation { constraint } if constraint == name)
    }

    /// The same error for one more of those whom it befell.
    pub fn shared(error: &Arc<Self>) -> Self {
        let source = || Box::new(Arc::clone(error));
        match &**error {
            Self::Unavailable(_) => Self::Unavailable(source()),
            Self::Timeout(_) => Self::Timeout(source()),
            Self::OutcomeUnknown(_) => Self::OutcomeUnknown(source()),
            Self::Busy(what) => Self::Busy(what),
            Self::NoRoomTogether => Self::NoRoomTogether,
            Self::UniqueViolation { constraint } => Self::UniqueViolation { constraint: constraint.clone() },
            Self::CheckViolation { constraint } => Self::CheckViolation { constraint: constraint.clone() },
            Self::ForeignKeyViolation { constraint } => {
                Self::ForeignKeyViolation { constraint: constraint.clone() }
            }
            Self::Retryable(_) => Self::Retryable(source()),
            Self::ReadOnly(_) => Self::ReadOnly(source()),
            Self::Internal(_) => Self::Internal(source()),
        }
    }

    /// Whether it may be the fault of one item, or of some, of several that were written together.
    pub fn is_of_one_item(&self) -> bool {
        matches!(
            self,
            Self::NoRoomTogether
                | Self::UniqueViolation { .. }
                | Self::CheckViolation { .. }
                | Self::ForeignKeyViolation { .. }
                | Self::Internal(_)
        )
    }

    /// Whether a lock was waited for longer than `lock_timeout`. Nothing was written.
    pub fn is_lock_timeout(&self) -> bool {
        let Self::Timeout(source) = self else { return false };
        let code = source.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code);
        code == Some(&SqlState::LOCK_NOT_AVAILABLE)
    }

    fn from_sqlstate(code: &str, constraint: Option<&str>, source: Source) -> Self {
        let constraint = || constraint.unwrap_or_default().to_owned();
        match code {
            "23505" => Self::UniqueViolation { constraint: constraint() },
            "23514" => Self::CheckViolation { constraint: constraint() },
            "23503" => Self::ForeignKeyViolation { constraint: constraint() },
            "40001" | "40P01" => Self::Retryable(source),
            // query_canceled (statement_timeout), lock_not_available, idle in transaction, transaction_timeout
            "57014" | "55P03" | "25P03" | "25P04" => Self::Timeout(source),
            // read_only_sql_transaction; BEGIN READ WRITE on a standby; disk_full; a sequence at its end
            "25006" | "0A000" | "53100" | "2200H" => Self::ReadOnly(source),
            // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout, and
            // object_not_in_prerequisite_state: the database takes no connections at present
            "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "55000" => Self::Unavailable(source),
            // No connection, or none for us (broken, wrong login, no such database), or no memory or slots left,
            // or the system below it fails.
            other if ["08", "28", "3D", "53", "58"].contains(&other.get(..2).unwrap_or_default()) => {
                Self::Unavailable(source)
            }
            _ => Self::Internal(source),
        }
    }

    /// Turns a broken connection into an unknown outcome: for errors of COMMIT itself.
    #[must_use]
    pub fn during_commit(self) -> Self {
        match self {
            Self::Unavailable(source) | Self::Timeout(source) => Self::OutcomeUnknown(source),
            other => other,
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(db) = error.as_db_error() {
            let (code, constraint) = (db.code().code().to_owned(), db.constraint().map(str::to_owned));
            return Self::from_sqlstate(&code, constraint.as_deref(), Box::new(error));
        }
        let io = error.source().is_some_and(<dyn StdError>::is::<std::io::Error>);
        if error.is_closed() || io || error.code() == Some(&SqlState::CONNECTION_FAILURE) {
            return Self::Unavailable(Box::new(error));
        }
        Self::Internal(Box::new(error))
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(db) => {
                let (code, constraint) =
                    (db.code().unwrap_or_default().into_owned(), db.constraint().map(str::to_owned));
                Self::from_sqlstate(&code, constraint.as_deref(), Box::new(error))
            }
            sqlx::Error::PoolTimedOut => Self::Timeout(Box::new(error)),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolClosed => {
                Self::Unavailable(Box::new(error))
            }
            _ => Self::Internal(Box::new(error)),
        }
    }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout(_) => Self::Timeout(Box::new(error)),
            PoolError::Backend(inner) => match Self::from(inner) {
                // A connection that cannot be made is an absent database, whatever the reason.
                Self::Internal(source) => Self::Unavailable(source),
                other => other,
            },
            other => Self::Unavailable(Box::new(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_are_told_apart() {
        let of = |code| Error::from_sqlstate(code, Some("c"), "x".into());
        assert!(of("23505").is_unique("c"));
        assert!(matches!(of("40P01"), Error::Retryable(_)));
        assert!(matches!(of("55P03"), Error::Timeout(_)));
        assert!(matches!(of("57P01"), Error::Unavailable(_)));
        assert!(matches!(of("53100"), Error::ReadOnly(_)));
        for away in ["08006", "28P01", "28000", "3D000", "53200", "53300", "55000", "57P03", "58030"] {
            assert!(matches!(of(away), Error::Unavailable(_)), "{away}");
        }
        for unwritable in ["25006", "0A000", "2200H"] {
            assert!(matches!(of(unwritable), Error::ReadOnly(_)), "{unwritable}");
        }
        for defect in ["42P01", "22021", "XX000", "", "5"] {
            assert!(matches!(of(defect), Error::Internal(_)), "{defect}");
        }
        assert!(matches!(of("57P01").during_commit(), Error::OutcomeUnknown(_)));
    }
}
