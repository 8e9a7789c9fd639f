//! What imports of rules from files share: what is said about a line, and the domain that the rules go into.

use sqlx::PgConnection;

use crate::clock::Clock;
use crate::db::quota::Defaults;
use crate::db::{self, Db};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::{Domain, Policies, QueryPolicy, TrailingSlash};
use crate::purl::rules::Creator;
use crate::purl::store::domains::{self, CreateError, NewDomain};
use crate::purl::target::OwnAddress;

/// Something about a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line, from 1; none where it is about what no line states by itself.
    pub line: Option<usize>,
    /// What is wrong, or odd.
    pub detail: String,
}

/// Where rules are imported to, and on whose behalf.
pub struct Ground<'a> {
    /// The database.
    pub db: &'a Db,
    /// The time.
    pub clock: &'a Clock,
    /// The address of this server.
    pub own: &'a OwnAddress,
    /// Whose domains they are.
    pub tenant_id: i64,
    /// What tenants may have that have no quotas of their own.
    pub quotas: Defaults,
    /// Check only.
    pub dry_run: bool,
}

/// Why there is no domain to import into.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// The domain is somebody else's.
    #[error("the domain `{0}` belongs to another tenant")]
    NotOwner(DomainPath),
    /// The domain could not be made.
    #[error("the domain `{0}` could not be made: {1}")]
    NotMade(DomainPath, CreateError),
    /// The database.
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl Ground<'_> {
    /// The domain at a path, locked until the transaction ends, and whether it had to be made: with strict slashes, and with queries
    /// that go along, as configurations of Apache mean it.
    pub async fn domain(
        &self,
        connection: &mut PgConnection,
        path: &DomainPath,
    ) -> Result<(Domain, bool), DomainError> {
        match domains::lock_domain_at(connection, path).await? {
            Some(domain) if domain.owner_tenant_id != self.tenant_id => {
                return Err(DomainError::NotOwner(path.clone()));
            }
            Some(domain) => return Ok((domain, false)),
            None => {}
        }
        let policies = Policies {
            trailing_slash: TrailingSlash::Strict,
            query: QueryPolicy::Forward,
            ..Policies::default()
        };
        let new = NewDomain {
            path: path.clone(),
            tenant_id: self.tenant_id,
            case_insensitive: false,
            policies,
            shadow: false,
            created_by: None,
            created_at: self.clock.now(),
        };
        let creator = Creator::CommandLine { tenant_id: self.tenant_id };
        match domains::insert_domain(connection, creator, &new, &self.quotas).await {
            Ok(domain) => Ok((domain, true)),
            Err(CreateError::Db(error)) => Err(error.into()),
            Err(error) => Err(DomainError::NotMade(path.clone(), error)),
        }
    }
}
