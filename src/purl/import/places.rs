//! The domains of a file: which of them can be used, which are to be made, and their making.

use std::collections::{BTreeSet, HashMap};

use super::error::ImportError;
use super::run::Import;
use super::sheet::{self, Places};
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Policies;
use crate::purl::rules::Creator;
use crate::purl::store::domains::{self, CreateError, NewDomain};

impl Import<'_> {
    /// Finds out which domains of the file can be used, and which are to be made.
    pub(super) async fn places(
        &self,
        texts: &BTreeSet<String>,
    ) -> Result<(Places, Vec<DomainPath>), ImportError> {
        let pool = self.db.management();
        let parsed: Vec<(&String, Result<DomainPath, String>)> =
            texts.iter().map(|text| (text, sheet::domain(text))).collect();
        let paths: Vec<&str> =
            parsed.iter().filter_map(|(_, path)| path.as_ref().ok().map(DomainPath::as_str)).collect();
        let known = domains::list_domains(pool, &paths).await?;
        let tree = domains::list_paths(pool).await?.into_iter().collect();
        let (mut places, mut new) = (Places { by_text: HashMap::new(), tree }, BTreeSet::new());
        for (text, path) in parsed {
            let place = match path {
                Err(fault) => Err(fault),
                Ok(path) => match known.iter().find(|domain| domain.path == path) {
                    Some(domain) if domain.owner_tenant_id == self.tenant_id => {
                        Ok((path, domain.case_insensitive))
                    }
                    Some(_) => Err(format!("the domain `{path}` is another tenant's")),
                    None => match domains::check_domain(pool, self.creator(), &path).await {
                        Ok(()) => {
                            places.tree.insert(path.as_str().to_owned());
                            new.insert((path.depth(), path.clone()));
                            Ok((path, false))
                        }
                        Err(CreateError::Db(error)) => return Err(error.into()),
                        Err(refusal) => Err(format!("the domain `{path}` cannot be made: {refusal}")),
                    },
                },
            };
            places.by_text.insert(text.clone(), place);
        }
        // Parents first, so that each is made below the one that is its own.
        Ok((places, new.into_iter().map(|(_, path)| path).collect()))
    }

    fn creator(&self) -> Creator<'static> {
        Creator::CommandLine { tenant_id: self.tenant_id }
    }

    /// Makes domains, parents first.
    pub(super) async fn make_domains(&self, paths: &[DomainPath]) -> Result<(), ImportError> {
        for path in paths {
            let new = NewDomain {
                path: path.clone(),
                tenant_id: self.tenant_id,
                case_insensitive: false,
                policies: Policies::default(),
                shadow: false,
                created_by: None,
                created_at: self.clock.now(),
            };
            let made = domains::create_domain(self.db, self.creator(), &new, &self.quotas).await;
            made.map_err(|error| ImportError::Domain { path: path.to_string(), error })?;
        }
        Ok(())
    }
}
