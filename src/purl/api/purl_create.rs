//! POST /api/v1/purls

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::purl_body::{self, AnswerFields};
use super::{Purls, addressed, problems, purl_copy};
use crate::db::idempotency::Key;
use crate::db::quota::Quota;
use crate::http::auth::{Caller, InDomains, MayMint};
use crate::http::body::JsonObject;
use crate::http::idempotency::{Keyed, Once};
use crate::http::{Problem, fields};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::{Domain, Purl};
use crate::purl::name::Name;
use crate::purl::write::quota::AllotError;
use crate::purl::write::{self, CreateVerdict, Creation, NewPurl, Recorded};

/// What a body asks for.
struct Wanted {
    path: DomainPath,
    name: Name,
    /// Full path of the name that it is a copy of.
    copy_of: Option<String>,
    answer: purl_body::Answer,
}

/// Makes a name. The domain is checked first and guarded in the write; if it changed between, again.
pub async fn create(
    State(state): State<Purls>,
    InDomains(MayMint(caller)): InDomains<MayMint>,
    Keyed(once, body): Keyed<JsonObject>,
) -> Result<Response, Problem> {
    let mut reader = body.fields();
    let path = reader.required("domain", |value| {
        DomainPath::parse(fields::string(value)?).map_err(|fault| fault.to_string())
    });
    let name = reader.required("name", |value| {
        let text = fields::string(value)?;
        let parsed = path.as_ref().map_or_else(|_| Name::parse(text), |path| Name::parse_in(text, path));
        parsed.map_err(|fault| fault.to_string())
    });
    let copy_of = reader.optional("copy_of", |value| fields::string(value).map(str::to_owned));
    let answer = if matches!(copy_of, Ok(None)) {
        AnswerFields::read(&mut reader, &state.own)
    } else {
        AnswerFields::read_of_copy(&mut reader, &state.own)
    };
    reader.finish()?;
    let wanted = Wanted { path: path?, name: name?, copy_of: copy_of?, answer: answer.done()? };
    match make(&state, &caller, &once, &wanted).await {
        // What refuses it now may have come after the first answer, which still holds.
        Err(problem) if problem.code().status < 500 => {
            Box::pin(once.find(caller.author())).await?.ok_or(problem)
        }
        made => made,
    }
}

async fn make(state: &Purls, caller: &Caller, once: &Once, wanted: &Wanted) -> Result<Response, Problem> {
    let Wanted { path, name, copy_of, answer } = wanted;
    // Boxed, as it is rare.
    let copied = match copy_of {
        Some(source) => Some(Box::pin(purl_copy::read(state, source, answer)).await?),
        None => None,
    };
    let answer = copied.as_ref().unwrap_or(answer);
    let full_path = path.join(name.as_str());
    let key = once.key(caller.author());
    let mut remembered = addressed::remembered_place(state, caller, path, &full_path).await;
    for _ in 0..addressed::ATTEMPTS {
        let domain = if let Some(domain) = remembered.take() {
            domain
        } else {
            // Boxed, as it is rare: what is awaited here is a part of every creation.
            let (domain, reached) = Box::pin(addressed::place(state, caller, path, &full_path)).await?;
            if reached != domain.path {
                return Err(Problem::new(&problems::NAME_SWALLOWED)
                    .detail(format!("requests for it reach the domain `{reached}`")));
            }
            domain
        };
        let new = NewPurl {
            name: name.clone(),
            status: answer.status.unwrap_or(domain.policies.default_status),
            kind: answer.kind,
            target: answer.target.clone(),
            variants: answer.variants.clone(),
            valid_until: answer.valid_until,
        };
        let name_key = name.key(domain.case_insensitive);
        let writing = state.resolver.announcer.writing(domain.domain_id, &name_key);
        let creation = Creation {
            new,
            name_key,
            generation: domain.generation,
            has_names: domain.has_names,
            by: caller.key_id,
            at: state.clock.now(),
            once: key.clone().map(|key| recorded(state, &domain, once, key)),
        };
        let created = state.writer.create(&domain, creation).await;
        state.resolver.directory.wrote_in(&domain);
        match created? {
            CreateVerdict::Created(purl) => {
                writing.here_only();
                return Ok(purl_body::answer(state, StatusCode::CREATED, &domain, &purl));
            }
            CreateVerdict::Taken { withdrawn } => {
                writing.here_only();
                let taken = Problem::new(&problems::NAME_TAKEN);
                let detail = "it was withdrawn; a name is never free again";
                return Err(if withdrawn { taken.detail(detail) } else { taken });
            }
            CreateVerdict::Answered(answer) => {
                writing.unwritten();
                return once.replay(caller.author(), &answer);
            }
            CreateVerdict::Lacking(lack) => {
                writing.unwritten();
                Box::pin(write::quota::allot(&state.db, state.quotas.of(Quota::Names), &[lack])).await?;
            }
            CreateVerdict::DomainChanged => {
                state.resolver.directory.written();
                writing.unwritten();
            }
        }
    }
    Err(Problem::unavailable())
}

impl From<AllotError> for Problem {
    fn from(error: AllotError) -> Self {
        match error {
            AllotError::Exceeded(exceeded) => exceeded.into(),
            AllotError::Db(error) => error.into(),
        }
    }
}

/// The answer is stored before COMMIT and made again after it; both are of the same name, so they are the same bytes.
fn recorded(state: &Purls, domain: &Domain, once: &Once, key: Key) -> Recorded {
    let (state, domain, once) = (state.clone(), domain.clone(), once.clone());
    let seal = move |key: &Key, purl: &Purl| {
        let response = purl_body::answer(&state, StatusCode::CREATED, &domain, purl);
        once.record(key, response).map(|(_, sealed)| sealed)
    };
    Recorded { key, seal: Box::new(seal) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<A, B, C, F>(_: impl Fn(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    /// It is made anew, and moved, for every name; what is rare is boxed.
    #[test]
    fn what_a_creation_keeps_while_it_waits_is_small() {
        assert!(bytes(create) <= 3_072, "{}", bytes(create));
    }
}
