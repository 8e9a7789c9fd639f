//! What answers a request: which of the names found in a domain, and what a new name or domain may be.
//! Pure: the rows were read by `resolve` and `store`, the answer is rendered by `api`.

use std::borrow::Borrow;

use time::OffsetDateTime;

use super::domain_path::DomainPath;
use super::model::{Domain, Purl, State, TrailingSlash};
use super::raw_path::{RawPath, Tail};

/// Which name answers, and how the request met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match<'r, 'p> {
    /// The name itself was asked for.
    Exact(&'p Purl),
    /// A prefix of the request is a partial name.
    Prefix(&'p Purl, Tail<'r>),
}

impl<'p> Match<'_, 'p> {
    /// The name.
    pub fn purl(&self) -> &'p Purl {
        match self {
            Self::Exact(purl) | Self::Prefix(purl, _) => purl,
        }
    }
}

/// Picks the answer among names of the domain: those that have one of the request's candidate keys.
///
/// Order: the exact name, whatever its state; where slashes are lenient, its other slash form; the longest
/// partial name that is in force; the longest one that was withdrawn or has expired. So neither a plain
/// name nor a tombstone between a prefix and the request hides the prefix, and what a withdrawn prefix used
/// to answer is 410, not unknown.
pub fn choose<'r, 'p, P: Borrow<Purl>>(
    request: &RawPath<'r>,
    domain: &Domain,
    rows: &'p [P],
    now: OffsetDateTime,
) -> Option<Match<'r, 'p>> {
    let rows = || rows.iter().map(Borrow::borrow);
    let start = if domain.path.is_root() { 0 } else { domain.path.as_str().len() + 1 };
    let asked = request.exact().and_then(|path| path.get(start..)).map(|name| domain.fold(name));
    if let Some(asked) = &asked {
        if let Some(purl) = rows().find(|purl| purl.name_key == *asked) {
            return Some(Match::Exact(purl));
        }
        if domain.policies.trailing_slash == TrailingSlash::Lenient {
            let other = asked.strip_suffix('/').map_or_else(|| format!("{asked}/"), str::to_owned);
            // `p/` asked of the partial name `p` is the prefix with an empty tail, so it is left to the prefixes.
            let is_other =
                |purl: &&'p Purl| purl.name_key == other && !(purl.kind.is_prefix() && asked.ends_with('/'));
            if let Some(purl) = rows().find(is_other) {
                return Some(Match::Exact(purl));
            }
        }
    }
    let prefixes = || {
        rows().filter(|purl| purl.kind.is_prefix()).filter_map(|purl| {
            let end = start + purl.name_key.len();
            let tail = request.tail(end)?;
            (domain.fold(request.decoded(start, end)?) == purl.name_key).then_some(())?;
            Some(Match::Prefix(purl, tail))
        })
    };
    let in_force =
        |found: &Match<'_, '_>| matches!(found.purl().state(now), State::Live | State::TemporarilyGone);
    let longest = |found: &Match<'_, '_>| found.purl().name_key.len();
    prefixes().filter(in_force).max_by_key(longest).or_else(|| prefixes().max_by_key(longest))
}

/// The domain that a request for this path would reach: the longest whose path is a prefix of it.
pub fn longest<'d>(domains: &'d [Domain], full_path: &str) -> Option<&'d Domain> {
    let holds = |path: &DomainPath| {
        path.is_root()
            || full_path
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    domains.iter().filter(|domain| holds(&domain.path)).max_by_key(|domain| domain.path.as_str().len())
}

/// Whether a key that is limited to some domains may work in this one: it, or one it lies below, is listed.
pub fn may_use_domain(limits: Option<&[i64]>, domain: &Domain, directory: &[Domain]) -> bool {
    let Some(limits) = limits else { return true };
    directory
        .iter()
        .filter(|other| other.domain_id == domain.domain_id || domain.path.below(&other.path).is_some())
        .any(|other| limits.contains(&other.domain_id))
}

/// Who asks for a domain.
#[derive(Debug, Clone, Copy)]
pub enum Creator<'a> {
    /// The operator, over HTTP: top-level domains only.
    Operator,
    /// The command line, for a tenant: wherever that tenant may own.
    CommandLine {
        /// The tenant.
        tenant_id: i64,
    },
    /// Somebody of a tenant: below the tenant's own domains.
    Tenant {
        /// The tenant.
        tenant_id: i64,
        /// Domains that the key is limited to.
        limits: Option<&'a [i64]>,
    },
}

/// Why somebody may not make a domain at a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DomainRefusal {
    /// Top-level domains are the operator's to give.
    #[error("only an operator makes a top-level domain")]
    TopLevel,
    /// The operator does not reach into somebody's domain.
    #[error("below `{0}` its owner makes domains, not the operator")]
    OwnersPart(String),
    /// The domain above is not this tenant's.
    #[error("the domain above, `{0}`, is not this tenant's")]
    NotOwner(String),
    /// The key is limited to other domains.
    #[error("the key is limited to other domains than `{0}`")]
    Limited(String),
}

/// Whether a domain may be made at `path`. `above` are the registered domains above it, the longest last.
///
/// The nearest one's owner consents by being the one who asks. A path of one segment is always top-level,
/// even below the root domain; a longer one is top-level where nothing is registered above it.
pub fn may_create_domain(
    creator: Creator<'_>,
    path: &DomainPath,
    above: &[Domain],
) -> Result<(), DomainRefusal> {
    let nearest = above.last();
    match creator {
        Creator::Operator => match nearest.filter(|domain| !domain.path.is_root()) {
            Some(domain) => Err(DomainRefusal::OwnersPart(domain.path.to_string())),
            None => Ok(()),
        },
        Creator::CommandLine { tenant_id } => match nearest.filter(|_| path.depth() > 1) {
            Some(domain) if domain.owner_tenant_id != tenant_id => {
                Err(DomainRefusal::NotOwner(domain.path.to_string()))
            }
            _ => Ok(()),
        },
        Creator::Tenant { tenant_id, limits } => {
            let Some(domain) = nearest.filter(|_| path.depth() > 1) else {
                return Err(DomainRefusal::TopLevel);
            };
            if domain.owner_tenant_id != tenant_id {
                return Err(DomainRefusal::NotOwner(domain.path.to_string()));
            }
            if !may_use_domain(limits, domain, above) {
                return Err(DomainRefusal::Limited(domain.path.to_string()));
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::purl::model::{Kind, Policies, TOMBSTONE};

    const NOW: OffsetDateTime = datetime!(2026-05-01 12:00 UTC);

    fn domain(path: &str) -> Domain {
        Domain {
            domain_id: 1,
            path: DomainPath::parse(path).unwrap(),
            home_tenant_id: 1,
            owner_tenant_id: 1,
            generation: 1,
            has_names: true,
            case_insensitive: false,
            policies: Policies::default(),
            rules_revision: 0,
            created_at: NOW,
            updated_at: NOW,
        }
    }

    fn purl(name: &str, status: u16, is_prefix: bool) -> Purl {
        Purl {
            purl_id: 1,
            name_key: name.to_owned(),
            name: name.to_owned(),
            revision: 1,
            status,
            kind: if is_prefix { Kind::Partial } else { Kind::Plain },
            target: Some("http://e.org/".to_owned()),
            variants: Box::default(),
            valid_until: None,
            tombstone_reason: None,
            successor: None,
            created_at: NOW,
            updated_at: NOW,
        }
    }

    /// The name that answers, with the tail of a prefix.
    fn answer(domain: &Domain, rows: &[Purl], path: &str) -> Option<(String, Option<String>)> {
        match choose(&RawPath::parse(path), domain, rows, NOW)? {
            Match::Exact(purl) => Some((purl.name.clone(), None)),
            Match::Prefix(purl, tail) => Some((purl.name.clone(), Some(tail.raw.to_owned()))),
        }
    }

    #[test]
    fn a_plain_name_or_a_tombstone_does_not_hide_the_prefix() {
        let rows = [purl("p/", 302, true), purl("p/a", 302, false), purl("p/a/b", TOMBSTONE, true)];
        let domain = domain("net");
        assert_eq!(answer(&domain, &rows, "/net/p/a"), Some(("p/a".into(), None)));
        assert_eq!(answer(&domain, &rows, "/net/p/a/x"), Some(("p/".into(), Some("a/x".into()))));
        assert_eq!(
            answer(&domain, &rows, "/net/p/a/b"),
            Some(("p/a/b".into(), None)),
            "itself it stays a tombstone"
        );
        assert_eq!(answer(&domain, &rows, "/net/p/a/b/c"), Some(("p/".into(), Some("a/b/c".into()))));
    }

    #[test]
    fn the_longest_prefix_in_force_wins() {
        let mut rows = [purl("p/", 302, true), purl("p/a", 302, true), purl("p/a/", 404, true)];
        let domain = domain("net");
        assert_eq!(answer(&domain, &rows, "/net/p/a/x"), Some(("p/a/".into(), Some("x".into()))));
        rows[2].valid_until = Some(NOW);
        assert_eq!(answer(&domain, &rows, "/net/p/a/x"), Some(("p/a".into(), Some("x".into()))));
        assert_eq!(answer(&domain, &rows, "/net/p"), Some(("p/".into(), None)));
        assert_eq!(answer(&domain, &rows, "/net/q"), None);
    }

    #[test]
    fn below_a_withdrawn_prefix_is_gone_not_unknown() {
        let rows = [purl("p", TOMBSTONE, true)];
        assert_eq!(answer(&domain("net"), &rows, "/net/p/x"), Some(("p".into(), Some("x".into()))));
    }

    #[test]
    fn a_final_slash_is_the_same_name_unless_both_exist_or_the_domain_is_strict() {
        let mut domain = domain("d");
        let one = [purl("store", 302, false)];
        assert_eq!(answer(&domain, &one, "/d/store/"), Some(("store".into(), None)));
        assert_eq!(answer(&domain, &[purl("vo/", 302, false)], "/d/vo"), Some(("vo/".into(), None)));
        let both = [purl("store", 302, false), purl("store/", 302, false)];
        assert_eq!(answer(&domain, &both, "/d/store/"), Some(("store/".into(), None)));
        assert_eq!(answer(&domain, &both, "/d/store"), Some(("store".into(), None)));
        domain.policies.trailing_slash = TrailingSlash::Strict;
        assert_eq!(answer(&domain, &one, "/d/store/"), None);
        assert_eq!(answer(&domain, &[purl("vo/", 302, false)], "/d/vo"), None);
    }

    #[test]
    fn the_slash_behind_a_partial_name_is_an_empty_tail() {
        let rows = [purl("p", 302, true)];
        assert_eq!(answer(&domain("d"), &rows, "/d/p/"), Some(("p".into(), Some(String::new()))));
        assert_eq!(answer(&domain("d"), &rows, "/d/p"), Some(("p".into(), None)));
    }

    #[test]
    fn case_is_folded_only_where_the_domain_says_so() {
        let mut domain = domain("d");
        let rows = [purl("mf/", 302, true)];
        assert_eq!(answer(&domain, &rows, "/d/MF/X"), None);
        domain.case_insensitive = true;
        assert_eq!(
            answer(&domain, &rows, "/d/MF/X"),
            Some(("mf/".into(), Some("X".into()))),
            "the tail keeps its case"
        );
        assert_eq!(answer(&domain, &rows, "/d/MF/"), Some(("mf/".into(), None)));
    }

    #[test]
    fn names_of_the_root_domain_are_whole_paths() {
        let rows = [purl("구글", 302, false), purl("p/", 302, true)];
        assert_eq!(answer(&domain(""), &rows, "/%EA%B5%AC%EA%B8%80"), Some(("구글".into(), None)));
        assert_eq!(answer(&domain(""), &rows, "/p/a%2Fb"), Some(("p/".into(), Some("a%2Fb".into()))));
    }

    #[test]
    fn the_longest_domain_goes_by_segments() {
        let domains = [domain(""), domain("obo"), domain("obo/go")];
        let found = |path: &str| longest(&domains, path).unwrap().path.as_str().to_owned();
        assert_eq!(found("obo/go/x"), "obo/go");
        assert_eq!(found("obo/go"), "obo/go");
        assert_eq!(found("obo/gox"), "obo");
        assert_eq!(found("oboe"), "");
    }

    #[test]
    fn a_limited_key_works_in_its_domains_and_below() {
        let mut directory = [domain("a"), domain("a/b"), domain("ab")];
        for (id, domain) in (1..).zip(&mut directory) {
            domain.domain_id = id;
        }
        assert!(may_use_domain(None, &directory[2], &directory));
        assert!(may_use_domain(Some(&[1]), &directory[1], &directory));
        assert!(!may_use_domain(Some(&[1]), &directory[2], &directory));
        assert!(!may_use_domain(Some(&[2]), &directory[0], &directory));
        assert!(!may_use_domain(Some(&[]), &directory[0], &directory));
    }

    #[test]
    fn only_the_operator_makes_a_top_level_domain() {
        let path = |text| DomainPath::parse(text).unwrap();
        let ours = Creator::Tenant { tenant_id: 1, limits: None };
        assert_eq!(may_create_domain(Creator::Operator, &path("obo"), &[]), Ok(()));
        assert_eq!(may_create_domain(Creator::Operator, &path("obo"), &[domain("")]), Ok(()));
        assert_eq!(may_create_domain(Creator::Operator, &path("net/example"), &[]), Ok(()));
        assert_eq!(may_create_domain(ours, &path("obo"), &[]), Err(DomainRefusal::TopLevel));
        assert_eq!(may_create_domain(ours, &path("obo"), &[domain("")]), Err(DomainRefusal::TopLevel));
        assert_eq!(may_create_domain(ours, &path("a/b"), &[]), Err(DomainRefusal::TopLevel));
    }

    #[test]
    fn a_child_needs_the_consent_of_the_nearest_owner() {
        let path = DomainPath::parse("obo/go/x").unwrap();
        let mut above = [domain(""), domain("obo"), domain("obo/go")];
        let ours = Creator::Tenant { tenant_id: 1, limits: None };
        assert_eq!(may_create_domain(ours, &path, &above), Ok(()));
        let operator = may_create_domain(Creator::Operator, &path, &above);
        assert_eq!(operator, Err(DomainRefusal::OwnersPart("obo/go".into())));
        let limited = Creator::Tenant { tenant_id: 1, limits: Some(&[7]) };
        assert_eq!(may_create_domain(limited, &path, &above), Err(DomainRefusal::Limited("obo/go".into())));
        above[2].owner_tenant_id = 2;
        assert_eq!(may_create_domain(ours, &path, &above), Err(DomainRefusal::NotOwner("obo/go".into())));
        let import = Creator::CommandLine { tenant_id: 1 };
        assert_eq!(may_create_domain(import, &path, &above), Err(DomainRefusal::NotOwner("obo/go".into())));
        assert_eq!(may_create_domain(import, &DomainPath::parse("new").unwrap(), &above[..1]), Ok(()));
    }
}
