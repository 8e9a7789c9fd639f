//! Writes the audit log: who did what, in the transaction that does it, over either driver. What is an act and
//! what its entry says is for the features; reading the log is for `tenancy`.
//!
//! An entry names persons by reference only (participant id, key id), never by name or address: the log is
//! append-only, and an erasure must not need to touch it.

use deadpool_postgres::Object;
use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::Error;
use super::statement::Statement;
use crate::telemetry::request;

/// The tenant under which the service's own acts stand: operator's keys belong to no tenant.
pub const SERVICE: i64 = 0;

/// Every hot statement here.
pub const STATEMENTS: &[&Statement] = &[&INSERT];

/// Inserts acts. One text for both drivers, so that the census checks it for both.
const INSERT: Statement = Statement {
    name: "audit_insert",
    sql: "/* audit_insert */
        INSERT INTO audit_log (tenant_id, happened_at, actor_kind, actor_key_id, request, action, subject_kind,
                               subject_reference, before, after)
        SELECT $1, $2, $3, $4, $5, i.action, i.kind, i.reference, i.before::jsonb, i.after::jsonb
        FROM unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) WITH ORDINALITY
             AS i (action, kind, reference, before, after, place) ORDER BY i.place",
    types: &[
        Type::INT8,
        Type::TIMESTAMPTZ,
        Type::TEXT,
        Type::UUID,
        Type::TEXT,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
    ],
};

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An API key.
    Key(Uuid),
    /// Somebody at the command line, with the operator's rights.
    CommandLine,
    /// The program by itself, such as a deadline that passes.
    Server,
}

/// Who acts, and on whose things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Author {
    /// The tenant whose things are touched, or [`SERVICE`].
    pub tenant_id: i64,
    /// Who acts.
    pub actor: Actor,
}

/// One act.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    action: &'static str,
    kind: &'static str,
    reference: String,
    before: Option<Value>,
    after: Option<Value>,
}

impl Act {
    /// `action` is `<kind>.<what was done>` in the past tense; `reference` is what the API calls the subject by.
    pub fn new(action: &'static str, reference: &(impl ToString + ?Sized)) -> Self {
        let kind = action.split('.').next().unwrap_or_default();
        Self { action, kind, reference: reference.to_string(), before: None, after: None }
    }

    /// What the act replaced.
    #[must_use]
    pub fn before(mut self, before: Value) -> Self {
        self.before = Some(before);
        self
    }

    /// What it made.
    #[must_use]
    pub fn after(mut self, after: Value) -> Self {
        self.after = Some(after);
        self
    }
}

impl Actor {
    fn kind(self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::CommandLine => "command_line",
            Self::Server => "server",
        }
    }

    /// The API key, if it is one.
    pub fn key_id(self) -> Option<Uuid> {
        match self {
            Self::Key(id) => Some(id),
            Self::CommandLine | Self::Server => None,
        }
    }
}

/// The acts as one array a column.
struct Columns<'a> {
    actions: Vec<&'a str>,
    kinds: Vec<&'a str>,
    references: Vec<&'a str>,
    before: Vec<Option<String>>,
    after: Vec<Option<String>>,
}

impl<'a> Columns<'a> {
    fn of(acts: &'a [Act]) -> Self {
        let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        Self {
            actions: acts.iter().map(|entry| entry.action).collect(),
            kinds: acts.iter().map(|entry| entry.kind).collect(),
            references: acts.iter().map(|entry| entry.reference.as_str()).collect(),
            before: acts.iter().map(|entry| text(&entry.before)).collect(),
            after: acts.iter().map(|entry| text(&entry.after)).collect(),
        }
    }
}

/// Writes acts over a management connection, within its transaction.
pub async fn insert(
    conn: &mut PgConnection,
    author: Author,
    at: OffsetDateTime,
    acts: &[Act],
) -> Result<(), Error> {
    let columns = Columns::of(acts);
    sqlx::query(INSERT.sql)
        .bind(author.tenant_id)
        .bind(at)
        .bind(author.actor.kind())
        .bind(author.actor.key_id())
        .bind(request::current_id())
        .bind(columns.actions)
        .bind(columns.kinds)
        .bind(columns.references)
        .bind(columns.before)
        .bind(columns.after)
        .execute(conn)
        .await?;
    Ok(())
}

/// Writes acts over a connection of the hot path, within its transaction.
pub async fn insert_hot(
    client: &Object,
    author: Author,
    at: OffsetDateTime,
    acts: &[Act],
) -> Result<(), Error> {
    if acts.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(acts);
    let insert = INSERT.prepare(client).await?;
    client
        .execute(
            &insert,
            &[
                &author.tenant_id,
                &at,
                &author.actor.kind(),
                &author.actor.key_id(),
                &request::current_id(),
                &columns.actions,
                &columns.kinds,
                &columns.references,
                &columns.before,
                &columns.after,
            ],
        )
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_takes_the_kind_of_its_subject_from_its_action() {
        let entry = Act::new("poll.opened", &7).after(json!({"round": 1}));
        assert_eq!((entry.kind, entry.reference.as_str()), ("poll", "7"));
    }
}
