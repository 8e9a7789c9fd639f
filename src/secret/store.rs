//! What the database keeps of the master secret: its fingerprint, and the public half of every signing key.

use sqlx::PgPool;
use time::OffsetDateTime;

use super::derive::MasterSecret;
use crate::db::Error;

/// Name of the setting that holds the fingerprint.
const SETTING: &str = "master_secret_fingerprint";

/// The public half of a signing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedKey {
    /// Its epoch; the greatest one signs.
    pub epoch: i32,
    /// 32 bytes (RFC 8032).
    pub public_key: Vec<u8>,
    /// When it began to sign.
    pub created_at: OffsetDateTime,
    /// When the next one took over.
    pub retired_at: Option<OffsetDateTime>,
}

/// Why a secret was refused.
#[derive(Debug, thiserror::Error)]
pub enum MismatchError {
    /// The database belongs to another secret.
    #[error(
        "this database was set up with another master secret (fingerprint {stored}, this one has {given}); \
         give the server the right one, by RESOLUTE__SECURITY__MASTER_SECRET or security.master_secret_file"
    )]
    Fingerprint {
        /// In the database.
        stored: String,
        /// Of the secret at hand.
        given: String,
    },
    /// A published signing key is not what the secret derives.
    #[error(
        "the published signing key of epoch {0} is not what this master secret derives: one of them was tampered with"
    )]
    SigningKey(i32),
    /// The database.
    #[error(transparent)]
    Database(#[from] Error),
}

impl From<sqlx::Error> for MismatchError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

/// Checks the secret against the database; a database that knows none takes this one, with signing epoch 1.
pub async fn verify(pool: &PgPool, secret: &MasterSecret, now: OffsetDateTime) -> Result<(), MismatchError> {
    let given = secret.fingerprint();
    sqlx::query!(
        "INSERT INTO service_settings (setting, value, changed_at) VALUES ($1, to_jsonb($2::text), $3) ON CONFLICT DO NOTHING",
        SETTING,
        given,
        now
    )
    .execute(pool)
    .await?;
    let stored = sqlx::query_scalar!(
        r#"SELECT value #>> '{}' AS "value!" FROM service_settings WHERE setting = $1"#,
        SETTING
    )
    .fetch_one(pool)
    .await?;
    if stored != given {
        return Err(MismatchError::Fingerprint { stored, given });
    }
    let first = secret.signing_key(1);
    sqlx::query!(
        "INSERT INTO signing_keys (epoch, public_key, created_at) VALUES (1, $1, $2) ON CONFLICT DO NOTHING",
        first.public_key(),
        now
    )
    .execute(pool)
    .await?;
    for key in list_keys(pool).await? {
        if secret.signing_key(key.epoch).public_key() != key.public_key {
            return Err(MismatchError::SigningKey(key.epoch));
        }
    }
    Ok(())
}

/// Every signing key that ever signed, the oldest first.
pub async fn list_keys(pool: &PgPool) -> Result<Vec<PublishedKey>, Error> {
    let rows = sqlx::query_as!(
        PublishedKey,
        "SELECT epoch, public_key, created_at, retired_at FROM signing_keys ORDER BY epoch"
    );
    Ok(rows.fetch_all(pool).await?)
}
