//! `serve --demo`: an empty database gets a tenant, a domain and an admin key; every start says what to try.

use anyhow::anyhow;

use crate::app::App;
use crate::db::{self, audit::Actor, quota::Defaults};
use crate::http::auth::Scope;
use crate::purl::domain_path::DomainPath;
use crate::purl::model::Policies;
use crate::purl::rules::Creator;
use crate::purl::store::domains::{NewDomain, insert_domain};
use crate::tenancy::key::ApiKey;
use crate::tenancy::slug::Slug;
use crate::tenancy::store::{self, NewKey};

/// Slug of the tenant and path of the domain.
const DEMO: &str = "demo";

/// Makes the demo tenant on an empty database, and prints what to try at `origin`.
pub async fn greet(app: &App, origin: &str) -> anyhow::Result<()> {
    let key = if store::any_tenant(app.db.management()).await? { None } else { Some(make(app).await?) };
    // A name is made once: on a later start, and beside the README's `hello`, the same lines would end in a 409.
    let mint = if key.is_some() {
        format!(
            "curl -i {origin}/api/v1/purls -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' -d '{{\"domain\":\"{DEMO}\",\"name\":\"first\",\"target\":\"https://example.org/\"}}'\n  \
             curl -i {origin}/{DEMO}/first\n  "
        )
    } else {
        String::new()
    };
    let key = match &key {
        Some(key) => format!(
            "Tenant `{DEMO}`, domain `{DEMO}` and an admin key were made. The key is shown this once:\n\n  export KEY={}\n",
            key.reveal()
        ),
        None => format!(
            "The data of an earlier start are here. Another key, if you lost yours, from a second terminal:\n\n  \
             export KEY=$({} key create --tenant {DEMO} --scope admin)\n",
            program()
        ),
    };
    let greeting = format!(
        "\nresolute serves on {origin}\n\n{key}\nTry, in another terminal:\n\n  \
         {mint}curl {origin}/health/headroom\n\n\
         Every operation, with a form to try it: {origin}/docs/api\n\n\
         Ctrl-C stops the server and its database.\n"
    );
    if let Err(error) = super::print_line(greeting) {
        // Nobody listens, which is no reason not to serve.
        tracing::warn!(error = format!("{error:#}"), "the greeting could not be shown");
    }
    Ok(())
}

async fn make(app: &App) -> anyhow::Result<ApiKey> {
    let (mut tx, now) = (app.db.begin().await?, app.clock.now());
    let slug = Slug::parse(DEMO).map_err(|rule| anyhow!(rule))?;
    let tenant = store::insert_tenant(&mut tx, Actor::CommandLine, &slug, "Demo", now).await?;
    let domain = NewDomain {
        path: DomainPath::parse(DEMO)?,
        tenant_id: tenant.tenant_id,
        case_insensitive: false,
        policies: Policies::default(),
        shadow: false,
        created_by: None,
        created_at: now,
    };
    let quotas = Defaults::from(&app.config.quotas);
    insert_domain(&mut tx, Creator::CommandLine { tenant_id: tenant.tenant_id }, &domain, &quotas).await?;
    let key = ApiKey::generate(&app.ids, now);
    let new = NewKey {
        api_key_id: key.id(),
        tenant_id: Some(tenant.tenant_id),
        scope: Scope::Admin.as_str(),
        label: "made by serve --demo",
        secret_sha256: key.secret_sha256(),
        created_at: now,
        expires_at: None,
        domain_ids: &[],
    };
    store::insert_key(&mut tx, Actor::CommandLine, &new).await?;
    db::commit(tx).await?;
    Ok(key)
}

/// How this program was called, for commands to copy.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "resolute".to_owned())
}
