//! Which domain and name a request of the API is about, and whether the caller may touch it. Paths are read
//! raw and decoded once; what is not the caller's is 404.

use http::Uri;

use super::Purls;
use crate::http::auth::Caller;
use crate::http::{Problem, problem_codes, rawpath};
use crate::purl::domain_path::{self, DomainPath};
use crate::purl::model::{Domain, Purl};
use crate::purl::raw_path::RawPath;
use crate::purl::store::{domains, names};
use crate::purl::{resolve, rules, segment};

/// How often a write is checked again when its domain changes under it, before the client is asked to.
pub const ATTEMPTS: usize = 5;

/// The part of the path behind `prefix`, decoded once.
fn decoded(uri: &Uri, prefix: &str) -> Result<String, Problem> {
    let raw = rawpath::after(uri, prefix).ok_or_else(Problem::not_found)?;
    let path = RawPath::parse(raw);
    match path.exact() {
        Some(text) => Ok(text.to_owned()),
        None if path.is_well_formed() => Err(Problem::not_found()),
        None => Err(Problem::new(&problem_codes::BAD_PATH)),
    }
}

/// Refuses a domain that is another tenant's (404) or outside the key's limits (403).
fn check_rights(caller: &Caller, domain: &Domain, directory: &[Domain]) -> Result<(), Problem> {
    if domain.owner_tenant_id != caller.tenant_id {
        return Err(Problem::not_found());
    }
    if !rules::may_use_domain(caller.domains.as_deref(), domain, directory) {
        return Err(Problem::new(&problem_codes::FORBIDDEN)
            .detail(format!("the key is limited to other domains than `{}`", domain.path)));
    }
    Ok(())
}

/// The caller's domain at the path behind `prefix`.
pub async fn domain(state: &Purls, caller: &Caller, uri: &Uri, prefix: &str) -> Result<Domain, Problem> {
    let path = path_of_domain(uri, prefix)?;
    domain_at(state, caller, &path).await
}

/// The path behind `prefix`, of anybody's domain or of none.
pub fn path_of_domain(uri: &Uri, prefix: &str) -> Result<DomainPath, Problem> {
    DomainPath::parse(&decoded(uri, prefix)?).map_err(|_| Problem::not_found())
}

/// The caller's domain at `path`.
pub async fn domain_at(state: &Purls, caller: &Caller, path: &DomainPath) -> Result<Domain, Problem> {
    let directory =
        domains::list_domains(state.db.management(), &domain_path::candidates(path.as_str())).await?;
    let domain = directory.iter().find(|domain| domain.path == *path).ok_or_else(Problem::not_found)?;
    check_rights(caller, domain, &directory)?;
    Ok(domain.clone())
}

/// The caller's name at the full path behind `prefix`, with its domain.
pub async fn purl(
    state: &Purls,
    caller: &Caller,
    uri: &Uri,
    prefix: &str,
) -> Result<(Domain, Purl), Problem> {
    let path = decoded(uri, prefix)?;
    let directory = domains::list_domains(state.db.management(), &domain_path::candidates(&path)).await?;
    let domain = rules::longest(&directory, &path).ok_or_else(Problem::not_found)?;
    check_rights(caller, domain, &directory)?;
    let purl = name_in(state, domain, &path).await?.ok_or_else(Problem::not_found)?;
    Ok((domain.clone(), purl))
}

/// The name at a full path, whoever it belongs to: what everybody may see of it by asking for it.
pub async fn anybodys_purl(state: &Purls, path: &str) -> Result<Option<Purl>, Problem> {
    let path = segment::nfc(path.to_owned());
    let directory = domains::list_domains(state.db.management(), &domain_path::candidates(&path)).await?;
    match rules::longest(&directory, &path) {
        Some(domain) => name_in(state, domain, &path).await,
        None => Ok(None),
    }
}

async fn name_in(state: &Purls, domain: &Domain, path: &str) -> Result<Option<Purl>, Problem> {
    let start = if domain.path.is_root() { 0 } else { domain.path.as_str().len() + 1 };
    match path.get(start..).filter(|name| !name.is_empty()) {
        Some(name) => Ok(names::find_purl(state.db.management(), domain, &domain.fold(name)).await?),
        None => Ok(None),
    }
}

/// The caller's domain at `path`, with the domain that a request for the full path of a name in it reaches:
/// the same one, unless a deeper domain covers that name.
pub async fn place(
    state: &Purls,
    caller: &Caller,
    path: &DomainPath,
    full_path: &str,
) -> Result<(Domain, DomainPath), Problem> {
    let directory = resolve::list_domains(&state.db, &domain_path::candidates(full_path)).await?;
    let missing = || Problem::not_found().detail(format!("this tenant has no domain `{path}`"));
    let domain = directory.iter().find(|domain| domain.path == *path).ok_or_else(missing)?;
    if domain.owner_tenant_id != caller.tenant_id {
        return Err(missing());
    }
    check_rights(caller, domain, &directory)?;
    let reached = rules::longest(&directory, full_path).unwrap_or(domain);
    Ok((domain.clone(), reached.path.clone()))
}

/// The same from memory, if that allows it; what it refuses is for the database to say. Good for a write that is
/// guarded by the domain's generation, which everything raises that could make this wrong.
pub async fn remembered_place(
    state: &Purls,
    caller: &Caller,
    path: &DomainPath,
    full_path: &str,
) -> Option<Domain> {
    let directory = state.resolver.domains(&domain_path::candidates(full_path)).await?;
    let domain = directory.iter().find(|domain| domain.path == *path)?;
    let reached = rules::longest(&directory, full_path)?;
    let good = reached.domain_id == domain.domain_id && check_rights(caller, domain, &directory).is_ok();
    good.then(|| domain.clone())
}
