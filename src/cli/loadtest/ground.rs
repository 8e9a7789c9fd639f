//! Makes the tenants of a run, with the operator's rights: each with an admin key and its domains.

use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::clock::Clock;
use crate::config::Quotas;
use crate::db::audit::Actor;
use crate::db::quota::Defaults;
use crate::db::{self, Db};
use crate::http::auth::Scope;
use crate::ids::Ids;
use crate::load::Ground;
use crate::load::manifest::Manifest;
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Policies;
use crate::purl::rules::Creator;
use crate::purl::store::domains::{NewDomain, insert_domain};
use crate::tenancy::key::ApiKey;
use crate::tenancy::slug::Slug;
use crate::tenancy::store::{self, NewKey};

/// How soon every server sees a domain that another process made (docs/architecture.md, Caches), and a little more.
const SEEN: Duration = Duration::from_millis(1_100);

/// Makes what the manifest plans, and notes the ids in it. All or nothing.
pub async fn make(db: &Db, quotas: &Quotas, manifest: &mut Manifest) -> anyhow::Result<Vec<Ground>> {
    let (now, ids, quotas) = (Clock::system().now(), Ids::os(), Defaults::from(quotas));
    let mut tx = db.begin().await.context("the database of the server")?;
    let mut made = Vec::new();
    for planned in &mut manifest.tenants {
        let slug = Slug::parse(&planned.slug).map_err(|rule| anyhow!("`{}` {rule}", planned.slug))?;
        let tenant = store::insert_tenant(&mut tx, Actor::CommandLine, &slug, "Load test", now).await?;
        let mut domains = Vec::new();
        for path in &planned.domains {
            let domain = NewDomain {
                path: DomainPath::parse(path)?,
                tenant_id: tenant.tenant_id,
                case_insensitive: false,
                policies: Policies::default(),
                shadow: false,
                created_by: None,
                created_at: now,
            };
            let creator = Creator::CommandLine { tenant_id: tenant.tenant_id };
            domains.push((insert_domain(&mut tx, creator, &domain, &quotas).await?.domain_id, path.clone()));
        }
        let key = ApiKey::generate(&ids, now);
        let new = NewKey {
            api_key_id: key.id(),
            tenant_id: Some(tenant.tenant_id),
            scope: Scope::Admin.as_str(),
            label: "made by loadtest",
            secret_sha256: key.secret_sha256(),
            created_at: now,
            expires_at: None,
            domain_ids: &[],
        };
        store::insert_key(&mut tx, Actor::CommandLine, &new).await?;
        planned.tenant_id = Some(tenant.tenant_id);
        let (tenant_id, slug) = (tenant.tenant_id, tenant.slug);
        made.push(Ground { tenant_id, slug, key: key.reveal(), domains });
    }
    db::commit(tx).await?;
    if made.iter().any(|ground| !ground.domains.is_empty()) {
        tokio::time::sleep(SEEN).await;
    }
    Ok(made)
}
