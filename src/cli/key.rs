//! `resolute key create|list|revoke`. The secret is printed once, by create.

use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Subcommand;
use serde_json::json;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::database::{Connected, Place};
use super::{Outcome, print_json, print_line, shown};
use crate::clock::Clock;
use crate::db::{self, audit::Actor};
use crate::http::auth::Scope;
use crate::http::fields;
use crate::ids::Ids;
use crate::tenancy::key::ApiKey;
use crate::tenancy::store::{self, KeyRow, NewKey};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a key and print it, once.
    Create(CreateArgs),
    /// List keys, without their secrets.
    List(ListArgs),
    /// Revoke a key for ever.
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Slug of its tenant; not with scope operator.
    #[arg(long, required_if_eq_any = [("scope", "admin"), ("scope", "editor"), ("scope", "minter"), ("scope", "moderator"), ("scope", "reader")])]
    tenant: Option<String>,
    /// operator, admin, editor, minter, moderator or reader.
    #[arg(long, value_parser = scope)]
    scope: Scope,
    /// Path of a domain it is limited to; may be given several times.
    #[arg(long = "domain", value_name = "DOMAIN", requires = "tenant")]
    domains: Vec<String>,
    /// How long it lives, such as 90d, 12h or 30m; default: until revoked.
    #[arg(long, value_parser = lifetime, value_name = "DURATION")]
    expires: Option<Duration>,
    /// What you call it.
    #[arg(long, default_value = "", value_parser = label)]
    label: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Slug of the tenant; default: the operator's keys.
    #[arg(long)]
    tenant: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// Id of the key (`key list` shows it), or the key itself.
    id: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn scope(word: &str) -> Result<Scope, String> {
    Scope::parse(word).ok_or_else(|| format!("expected one of {}", Scope::ALL.map(Scope::as_str).join(", ")))
}

/// The rule of the API for labels.
fn label(text: &str) -> Result<String, String> {
    fields::text(0..=200)(&text.into())
}

/// A number and a unit: s, m, h, d.
fn lifetime(text: &str) -> Result<Duration, String> {
    let rule = || "expected a positive number and a unit, such as 90d, 12h or 30m".to_owned();
    let split = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at)).ok_or_else(rule)?;
    let (number, unit) = text.split_at(split);
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(rule()),
    };
    let number: i64 = number.parse().map_err(|_| rule())?;
    // A hundred years: beyond it, timestamps would leave what PostgreSQL and RFC 3339 can say.
    let total =
        number.checked_mul(seconds).filter(|total| (1..=3_153_600_000).contains(total)).ok_or_else(rule)?;
    Ok(Duration::seconds(total))
}

pub async fn run(command: &Command, place: &Place) -> Outcome {
    let database = place.connect().await?;
    let result = match command {
        Command::Create(args) => create(args, &database).await,
        Command::List(args) => list(args, &database).await,
        Command::Revoke(args) => revoke(args, &database).await,
    };
    database.close().await?;
    result.map(|()| ExitCode::SUCCESS)
}

async fn tenant_id(slug: &str, database: &Connected) -> anyhow::Result<i64> {
    let tenant = store::find_tenant(database.db.management(), slug).await?;
    tenant.map(|tenant| tenant.tenant_id).ok_or_else(|| anyhow!("there is no tenant `{slug}`"))
}

async fn create(args: &CreateArgs, database: &Connected) -> anyhow::Result<()> {
    if args.scope == Scope::Operator && args.tenant.is_some() {
        bail!("a key of scope operator belongs to no tenant: leave --tenant out");
    }
    let tenant = match &args.tenant {
        Some(slug) => Some(tenant_id(slug, database).await?),
        None => None,
    };
    let pool = database.db.management();
    let mut domain_ids = Vec::new();
    if let Some(tenant) = tenant {
        let owned = store::list_owned_domains(pool, tenant, &args.domains).await?;
        for path in &args.domains {
            let id = owned.iter().find(|(known, _)| known == path).map(|(_, id)| *id);
            domain_ids.push(id.ok_or_else(|| anyhow!("`{path}` is not a domain of this tenant"))?);
        }
        domain_ids.sort_unstable();
        domain_ids.dedup();
    }
    let made = make(args, tenant, &domain_ids, Clock::system().now(), database).await?;
    let printed = if args.json {
        print_json(&json!({ "id": made.id(), "scope": args.scope.as_str(), "key": made.reveal() }))
    } else {
        eprintln!("key of scope {} made; it is shown this once:", args.scope.as_str());
        print_line(made.reveal())
    };
    if printed.is_err() {
        // Nobody has seen it, and nobody ever will.
        revoke_now(database, made.id()).await?;
    }
    printed.context("the key could not be shown and was revoked")
}

async fn make(
    args: &CreateArgs,
    tenant_id: Option<i64>,
    domain_ids: &[i64],
    now: OffsetDateTime,
    database: &Connected,
) -> anyhow::Result<ApiKey> {
    let key = ApiKey::generate(&Ids::os(), now);
    let new = NewKey {
        api_key_id: key.id(),
        tenant_id,
        scope: args.scope.as_str(),
        label: &args.label,
        secret_sha256: key.secret_sha256(),
        created_at: now,
        expires_at: args.expires.map(|lifetime| now + lifetime),
        domain_ids,
    };
    let stored = async {
        let mut tx = database.db.begin().await?;
        store::insert_key(&mut tx, Actor::CommandLine, &new).await?;
        db::commit(tx).await
    };
    stored.await.context("the key could not be stored")?;
    Ok(key)
}

async fn list(args: &ListArgs, database: &Connected) -> anyhow::Result<()> {
    let tenant = match &args.tenant {
        Some(slug) => Some(tenant_id(slug, database).await?),
        None => None,
    };
    let keys = store::list_all_keys(database.db.management(), tenant).await?;
    let now = Clock::system().now();
    if args.json {
        let rows: Vec<_> = keys.iter().map(|key| json!({
            "id": key.api_key_id, "scope": key.scope, "label": key.label, "state": state(key, now), "domains": key.domains,
            "created_at": rfc3339(Some(key.created_at)), "expires_at": rfc3339(key.expires_at),
            "revoked_at": rfc3339(key.revoked_at), "last_used_at": rfc3339(key.last_used_at),
        })).collect();
        print_json(&json!({ "keys": rows }))?;
        return Ok(());
    }
    if !keys.is_empty() {
        print_line(format_args!(
            "{:<36}  {:<9}  {:<7}  {:<20}  {:<20}  domains  label",
            "id", "scope", "state", "expires", "last used"
        ))?;
    }
    for key in &keys {
        let expires = rfc3339(whole_second(key.expires_at)).unwrap_or_else(|| "never".into());
        let used = rfc3339(whole_second(key.last_used_at)).unwrap_or_else(|| "never".into());
        let domains = if key.domains.is_empty() { "all domains".to_owned() } else { key.domains.join(",") };
        print_line(format_args!(
            "{}  {:<9}  {:<7}  {expires:<20}  {used:<20}  {domains}  {}",
            key.api_key_id,
            key.scope,
            state(key, now),
            shown(&key.label)
        ))?;
    }
    if keys.is_empty() {
        match &args.tenant {
            Some(slug) => eprintln!("tenant `{slug}` has no keys"),
            None => eprintln!("no keys of scope operator; --tenant SLUG lists those of a tenant"),
        }
    }
    Ok(())
}

async fn revoke(args: &RevokeArgs, database: &Connected) -> anyhow::Result<()> {
    let id = ApiKey::parse(&args.id).map(|key| key.id()).or_else(|| Uuid::try_parse(&args.id).ok());
    let id = id.ok_or_else(|| anyhow!("`{}` is neither the id of a key nor a key", args.id))?;
    revoke_now(database, id).await?;
    if args.json {
        print_json(&json!({ "id": id, "state": "revoked" }))?;
    } else {
        print_line(format_args!("key {id} is revoked"))?;
    }
    Ok(())
}

async fn revoke_now(database: &Connected, id: Uuid) -> anyhow::Result<()> {
    let mut tx = database.db.begin().await?;
    let key = store::lock_key(&mut tx, None, id).await?.ok_or_else(|| anyhow!("there is no key {id}"))?;
    store::revoke_key(&mut tx, Actor::CommandLine, &key, Clock::system().now()).await?;
    Ok(db::commit(tx).await?)
}

fn state(key: &KeyRow, now: OffsetDateTime) -> &'static str {
    match (key.revoked_at, key.expires_at) {
        (Some(_), _) => "revoked",
        (None, Some(end)) if end <= now => "expired",
        _ => "valid",
    }
}

fn rfc3339(at: Option<OffsetDateTime>) -> Option<String> {
    at.and_then(|at| at.format(&time::format_description::well_known::Rfc3339).ok())
}

/// For tables: as wide in every row, and a key's last use is not known to the second anyway.
fn whole_second(at: Option<OffsetDateTime>) -> Option<OffsetDateTime> {
    at.map(OffsetDateTime::truncate_to_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit_and_end_within_a_century() {
        assert_eq!(lifetime("90d"), Ok(Duration::days(90)));
        assert_eq!(lifetime("30m"), Ok(Duration::minutes(30)));
        for bad in ["", "d", "90", "-1d", "0h", "1y", "99999999999999999999d", "4000000000s", "9ä"] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
