//! `resolute tenant create`.

use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Subcommand;
use serde_json::json;

use super::database::Place;
use super::{Outcome, print_json, print_line};
use crate::clock::Clock;
use crate::db::audit::Actor;
use crate::db::{self, Db};
use crate::tenancy::slug::Slug;
use crate::tenancy::store::{self, Tenant};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a tenant.
    Create(CreateArgs),
}

#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Its word in addresses: a-z, 0-9, hyphen.
    #[arg(long)]
    slug: String,
    /// Its name for people; default: the slug.
    #[arg(long)]
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: &Command, place: &Place) -> Outcome {
    let Command::Create(args) = command;
    let slug = Slug::parse(&args.slug).map_err(|rule| anyhow!("--slug `{}` {rule}", args.slug))?;
    let database = place.connect_or_make().await?;
    let name = args.name.as_deref().unwrap_or(slug.as_str());
    let made = make(&database.db, &slug, name).await;
    database.close().await?;
    let tenant = match made {
        Err(error) if error.is_unique("tenants_slug_key") => {
            bail!("there is a tenant `{}` already", slug.as_str())
        }
        made => made.context("the tenant could not be stored")?,
    };
    if args.json {
        print_json(
            &json!({ "tenant_id": tenant.tenant_id.to_string(), "slug": tenant.slug, "name": tenant.name }),
        )?;
    } else {
        print_line(format_args!("tenant {} made", tenant.slug))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn make(db: &Db, slug: &Slug, name: &str) -> Result<Tenant, db::Error> {
    let mut tx = db.begin().await?;
    let tenant = store::insert_tenant(&mut tx, Actor::CommandLine, slug, name, Clock::system().now()).await?;
    db::commit(tx).await?;
    Ok(tenant)
}
