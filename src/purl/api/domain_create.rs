//! POST /api/v1/domains

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use uuid::Uuid;

use super::domain_body::{self, PolicyFields};
use super::{Purls, problems};
use crate::http::auth::{Identity, Scope};
use crate::http::body::JsonObject;
use crate::http::idempotency::Keyed;
use crate::http::{Problem, fields, problem_codes};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Policies;
use crate::purl::rules::{Creator, DomainRefusal};
use crate::purl::store::domains::{self, CreateError, NewDomain};

/// An operator's body names the tenant; anybody else's must not.
struct Parsed {
    path: DomainPath,
    tenant: Option<String>,
    shadow: bool,
    case_insensitive: bool,
    policies: Policies,
}

fn parse(body: &JsonObject, by_operator: bool) -> Result<Parsed, Problem> {
    let mut reader = body.fields();
    let path = reader.required("path", |value| {
        DomainPath::parse(fields::string(value)?).map_err(|fault| fault.to_string())
    });
    let tenant = if by_operator {
        reader.required("tenant", |value| fields::string(value).map(str::to_owned)).map(Some)
    } else {
        Ok(None)
    };
    let shadow = reader.optional("shadow", fields::boolean);
    let case_insensitive = reader.optional("case_insensitive", fields::boolean);
    let policies = PolicyFields::read(&mut reader);
    reader.finish()?;
    Ok(Parsed {
        path: path?,
        tenant: tenant?,
        shadow: shadow?.unwrap_or(false),
        case_insensitive: case_insensitive?.unwrap_or(false),
        policies: policies.over(Policies::default())?,
    })
}

/// Makes a domain: top-level for an operator's key, below one's own for an admin's or editor's.
pub async fn create(
    State(state): State<Purls>,
    identity: Identity,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let (by, key_id): (_, Uuid) = match &identity {
        Identity::Operator { key_id } => (None, *key_id),
        Identity::Tenant(caller) if matches!(caller.scope, Scope::Admin | Scope::Editor) => {
            (Some(caller), caller.key_id)
        }
        Identity::Tenant(_) => {
            return Err(Problem::new(&problem_codes::FORBIDDEN)
                .detail("this needs a key of scope admin, editor or operator"));
        }
    };
    let parsed = parse(&body, by.is_none())?;
    let answer = once
        .run(identity.author(), async |conn| {
            let (creator, tenant_id) = if let Some(caller) = by {
                let limits = caller.domains.as_deref();
                (Creator::Tenant { tenant_id: caller.tenant_id, limits }, caller.tenant_id)
            } else {
                let slug = parsed.tenant.as_deref().unwrap_or_default();
                let tenant_id = domains::find_tenant_id(&mut *conn, slug).await?;
                let missing = || {
                    Problem::new(&problem_codes::INVALID)
                        .fault("/tenant", format!("there is no tenant `{slug}`"))
                };
                (Creator::Operator, tenant_id.ok_or_else(missing)?)
            };
            let new = NewDomain {
                path: parsed.path.clone(),
                tenant_id,
                case_insensitive: parsed.case_insensitive,
                policies: parsed.policies,
                shadow: parsed.shadow,
                created_by: Some(key_id),
                created_at: state.clock.now(),
            };
            let domain = domains::insert_domain(conn, creator, &new, &state.quotas).await?;
            let owner = domains::find_owner(conn, tenant_id).await?;
            let owner = owner.as_deref().unwrap_or_default();
            Ok(domain_body::render(&state, StatusCode::CREATED, &domain, owner))
        })
        .await;
    // Whatever came of it: a broken COMMIT may have made it.
    state.resolver.directory.written();
    answer
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::PathTaken => Self::new(&problems::DOMAIN_TAKEN),
            // One answer for both: it must not tell whether somebody else has a domain there.
            CreateError::Refused(DomainRefusal::NotOwner(_) | DomainRefusal::TopLevel) => {
                Self::new(&problem_codes::FORBIDDEN)
                    .detail("a tenant makes domains below its own; a top-level one is made by an operator")
            }
            CreateError::Refused(refusal) => Self::new(&problem_codes::FORBIDDEN).detail(refusal.to_string()),
            CreateError::Shadows { ref names, .. } => {
                let names = names.clone();
                Self::new(&problems::DOMAIN_SHADOWS).detail(error.to_string()).member("names", names)
            }
            CreateError::Quota(exceeded) => exceeded.into(),
            CreateError::Db(error) => error.into(),
        }
    }
}
