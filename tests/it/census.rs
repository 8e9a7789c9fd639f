//! tokio-postgres checks no SQL at compile time: here every hot statement is prepared against the migrated schema,
//! with the parameter types that its constant declares.

use std::collections::BTreeSet;

use resolute::app;

use crate::support::TestApp;

#[tokio::test]
async fn every_hot_statement_prepares_with_its_declared_types() {
    let app = TestApp::start().await;
    let client = app.db().hot().await.expect("a connection");
    let statements = app::statements();
    assert!(statements.len() >= 10, "the census is empty");
    for statement in &statements {
        let prepared =
            statement.prepare(&client).await.unwrap_or_else(|error| panic!("{}: {error}", statement.name));
        assert_eq!(prepared.params(), statement.types, "{}", statement.name);
        assert!(
            statement.sql.trim_start().starts_with(&format!("/* {} */", statement.name)),
            "{} does not open with its name",
            statement.name
        );
    }
    let names: BTreeSet<&str> = statements.iter().map(|statement| statement.name).collect();
    assert_eq!(names.len(), statements.len(), "names are unique");
}

/// A hot file that forgets to list a statement would hide it from the census.
#[test]
fn every_statement_constant_is_in_the_census() {
    let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut constants = 0;
    let mut dirs = vec![src];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("src") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                dirs.push(path);
            } else if !path.ends_with("db/statement.rs") {
                let text = std::fs::read_to_string(&path).expect("text");
                constants += text.matches(": Statement = Statement {").count();
            }
        }
    }
    assert_eq!(constants, app::statements().len());
}
