//! Closes and counts the polls whose deadline has passed, so that results are there without anybody asking.
//! The deadline itself is not kept here: from it on, a cast is refused whether or not this ever runs.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::Voting;
use super::error::VotingError;
use super::store::polls::{DuePoll, find_due_poll};
use crate::db;
use crate::db::audit::{Actor, Author};

/// Polls closed by one call: a caller that holds a transaction must not hold it long.
const PORTION: usize = 20;

impl Voting {
    /// Closes polls whose deadline has passed, oldest first; true if there may be more. `conn` only reads: each
    /// close is a transaction of its own, like the one that a chair asks for, and one that fails keeps none of
    /// the others. The first failure is returned in the end.
    pub async fn close_due_polls(&self, conn: &mut PgConnection) -> Result<bool, VotingError> {
        // No poll opens with a deadline before this.
        let mut place = DuePoll { closes_at: OffsetDateTime::UNIX_EPOCH, tenant_id: 0, poll_id: 0 };
        let (mut closed, mut failure) = (0, None);
        while closed < PORTION {
            let Some(due) = find_due_poll(conn, place).await? else {
                return failure.map_or(Ok(false), Err);
            };
            let author = Author { tenant_id: due.tenant_id, actor: Actor::Server };
            match self.close_poll(author, due.poll_id, |_| true).await {
                Ok(_) => closed += 1,
                Err(error @ VotingError::Db(db::Error::Unavailable(_))) => return Err(error),
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        tenant = due.tenant_id,
                        poll = due.poll_id,
                        "a poll past its deadline could not be counted"
                    );
                    failure = failure.or(Some(error));
                }
            }
            place = due;
        }
        failure.map_or(Ok(true), Err)
    }
}
