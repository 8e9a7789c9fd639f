//! What a new name takes from the one that it is a copy of. The copy is made once: later changes of either are not seen
//! by the other.

use time::OffsetDateTime;

use super::purl_body::Answer;
use super::{Purls, addressed, purl_variants};
use crate::http::{Problem, problem_codes};
use crate::purl::model::{Purl, State, Status};
use crate::purl::target::Target;

/// How the copy of the name at this full path answers; how long it is valid it says itself. Anybody's name will do: what
/// is copied is what everybody is answered.
pub async fn read(state: &Purls, source: &str, own: &Answer) -> Result<Answer, Problem> {
    let purl = addressed::anybodys_purl(state, source).await?;
    let purl = purl.ok_or_else(|| refused("there is no such name"))?;
    copy(state, &purl, own, state.clock.now())
}

fn copy(state: &Purls, purl: &Purl, own: &Answer, now: OffsetDateTime) -> Result<Answer, Problem> {
    match purl.state(now) {
        State::Live | State::TemporarilyGone => {}
        State::Expired => return Err(refused("the name has expired")),
        State::Withdrawn => return Err(refused("the name was withdrawn")),
    }
    let status = Status::parse(purl.status.into())
        .map_err(|error| Problem::new(&problem_codes::INTERNAL).source(error))?;
    let target = purl.target.as_deref().map(|target| Target::parse(target, &state.own)).transpose();
    let target = target.map_err(|fault| refused(format!("its target is no longer allowed: {fault}")))?;
    purl_variants::still_allowed(&purl.variants, &state.own).map_err(refused)?;
    Ok(Answer {
        status: Some(status),
        kind: purl.kind,
        target,
        variants: purl.variants.to_vec(),
        valid_until: own.valid_until,
    })
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(&problem_codes::INVALID).fault("/copy_of", detail)
}
