//! Lays the layers over the defaults: file < environment < flags. The defaults are also the schema: a key
//! that they lack is unknown, a value of another type is a fault. All faults are reported at once, by name.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{Config, Environment, check};

/// The file that is read when none is named and it exists.
pub const DEFAULT_FILE: &str = "config/resolute.toml";

/// What flags of the command line set, as (section, key, value).
pub type Overrides = Vec<(&'static str, &'static str, String)>;

/// Every fault found, one a line.
#[derive(Debug, thiserror::Error)]
#[error("the configuration has {} fault(s):\n{}", .0.len(), .0.iter().map(|f| format!("  - {f}")).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError(pub Vec<String>);

/// Settings, and warnings about what is possible but risky.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Risky combinations, each by name with its cure.
    pub warnings: Vec<String>,
    /// The file that was read.
    pub file: Option<PathBuf>,
}

/// Loads the settings. `file` must exist if given; otherwise [`DEFAULT_FILE`] is read if it exists.
pub fn load(
    file: Option<&Path>,
    environment: &Environment,
    flags: &Overrides,
) -> Result<Loaded, ConfigError> {
    let mut faults = Vec::new();
    let mut settings = Table::try_from(Config::default()).expect("defaults are a table");
    let file = find_file(file);
    if let Some(path) = &file {
        lay_file(&mut settings, path, &mut faults);
    }
    lay_platform(&mut settings, environment, &mut faults);
    for (variable, section, key, value) in environment.settings() {
        lay_text(&mut settings, variable, &section, &key, value, &mut faults);
    }
    for (section, key, value) in flags {
        lay_text(&mut settings, &format!("flag for {section}.{key}"), section, key, value, &mut faults);
    }
    let config: Config = settings.try_into().map_err(|error| ConfigError(vec![error.to_string()]))?;
    // What could not be laid has kept its default, so the rest can be judged in the same go.
    let checked = check::check(&config);
    let mut warnings = match checked {
        Ok(warnings) if faults.is_empty() => warnings,
        checked => {
            faults.extend(checked.err().unwrap_or_default());
            return Err(ConfigError(faults));
        }
    };
    warnings.extend(
        environment
            .near_misses()
            .map(|name| format!("{name}: not read; variables begin with RESOLUTE__, with two underscores")),
    );
    Ok(Loaded { config, warnings, file })
}

/// The file that is read: the one named, else [`DEFAULT_FILE`] if it exists.
pub fn find_file(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_path_buf).or_else(|| Some(DEFAULT_FILE.into()).filter(|f: &PathBuf| f.exists()))
}

fn lay_file(settings: &mut Table, path: &Path, faults: &mut Vec<String>) {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return faults.push(format!("{}: {error}", path.display())),
    };
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return faults.push(format!("{}: {error}", path.display())),
    };
    for (section, keys) in table {
        let Value::Table(keys) = keys else {
            faults.push(format!("{}: `{section}` stands outside any section", path.display()));
            continue;
        };
        for (key, value) in keys {
            let place = format!("{}: {section}.{key}", path.display());
            lay(settings, &place, &section, &key, Given::Typed(value), faults);
        }
    }
}

/// Hosting platforms set these two without a prefix.
fn lay_platform(settings: &mut Table, environment: &Environment, faults: &mut Vec<String>) {
    if let Some(url) = environment.get("DATABASE_URL") {
        lay_text(settings, "DATABASE_URL", "database", "url", url, faults);
    }
    if let Some(port) = environment.get("PORT") {
        match port.parse::<u16>() {
            Ok(port) => lay_text(settings, "PORT", "server", "listen", &format!("0.0.0.0:{port}"), faults),
            Err(_) => faults.push(format!("PORT: `{port}` is not a port number")),
        }
    }
}

enum Given<'a> {
    Typed(Value),
    Text(&'a str),
}

fn lay_text(
    settings: &mut Table,
    place: &str,
    section: &str,
    key: &str,
    text: &str,
    faults: &mut Vec<String>,
) {
    lay(settings, place, section, key, Given::Text(text), faults);
}

fn lay(
    settings: &mut Table,
    place: &str,
    section: &str,
    key: &str,
    given: Given<'_>,
    faults: &mut Vec<String>,
) {
    let sections = names(settings);
    let Some(Value::Table(keys)) = settings.get_mut(section) else {
        return faults.push(format!("{place}: there is no section `{section}` (known: {sections})"));
    };
    let known = names(keys);
    let Some(slot) = keys.get_mut(key) else {
        return faults
            .push(format!("{place}: there is no setting `{key}` in section `{section}` (known: {known})"));
    };
    match coerce(slot, given) {
        Ok(value) => *slot = value,
        Err(expected) => faults.push(format!("{place}: expected {expected}")),
    }
}

fn names(table: &Table) -> String {
    table.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The given value in the type of the default, or a description of that type. A secret's text is not repeated.
fn coerce(default: &Value, given: Given<'_>) -> Result<Value, &'static str> {
    match (default, given) {
        (Value::String(_), Given::Text(text)) => Ok(Value::String(text.to_owned())),
        (Value::String(_), Given::Typed(value @ Value::String(_)))
        | (Value::Boolean(_), Given::Typed(value @ Value::Boolean(_)))
        | (Value::Float(_), Given::Typed(value @ Value::Float(_))) => Ok(value),
        (Value::Float(_), Given::Typed(Value::Integer(n))) => {
            n.to_string().parse().map(Value::Float).map_err(|_| "a number")
        }
        (Value::Integer(_), Given::Typed(Value::Integer(n))) if n >= 0 => Ok(Value::Integer(n)),
        (Value::Boolean(_), Given::Text(text)) => {
            text.parse().map(Value::Boolean).map_err(|_| "true or false")
        }
        (Value::Integer(_), Given::Text(text)) => {
            let number = text.parse().ok().filter(|n: &i64| *n >= 0);
            number.map(Value::Integer).ok_or("a whole number, not negative")
        }
        (Value::Float(_), Given::Text(text)) => text.parse().map(Value::Float).map_err(|_| "a number"),
        (Value::String(_), _) => Err("a string"),
        (Value::Boolean(_), _) => Err("true or false"),
        (Value::Integer(_), _) => Err("a whole number, not negative"),
        _ => Err("a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
        load(
            Some(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/config/resolute.toml"))),
            &Environment::of(variables),
            &vec![],
        )
    }

    #[test]
    fn the_commented_file_has_every_key_with_its_default() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config/resolute.toml"))
            .expect("file");
        let in_file: Table = text.parse().expect("toml");
        assert_eq!(in_file, Table::try_from(Config::default()).expect("table"));
        let keys = in_file.values().filter_map(Value::as_table).flat_map(Table::keys);
        for key in keys {
            let line =
                text.lines().position(|l| l.starts_with(&format!("{key} ="))).expect("a line of its own");
            assert!(
                text.lines().nth(line - 1).is_some_and(|l| l.starts_with('#')),
                "{key} has no comment above it"
            );
        }
    }

    #[test]
    fn environment_beats_file_and_flags_beat_environment() {
        let env = Environment::of(&[
            ("RESOLUTE__SERVER__LISTEN", "127.0.0.1:1"),
            ("RESOLUTE__OPS__METRICS_PUBLIC", "true"),
        ]);
        let flags = vec![("server", "listen", "127.0.0.1:2".to_owned())];
        let loaded = load(None, &env, &flags).expect("valid");
        assert_eq!(loaded.config.server.listen, "127.0.0.1:2");
        assert!(loaded.config.ops.metrics_public);
    }

    #[test]
    fn platform_variables_are_honoured_and_ours_beat_them() {
        let loaded = with(&[("PORT", "8081"), ("DATABASE_URL", "postgres://u@h/d")]).expect("valid");
        assert_eq!(loaded.config.server.listen, "0.0.0.0:8081");
        assert_eq!(loaded.config.database.url, "postgres://u@h/d");
        let loaded = with(&[("PORT", "8081"), ("RESOLUTE__SERVER__LISTEN", "127.0.0.1:3")]).expect("valid");
        assert_eq!(loaded.config.server.listen, "127.0.0.1:3");
    }

    #[test]
    fn a_prefix_with_one_underscore_warns_and_what_an_orchestrator_sets_does_not() {
        let loaded =
            with(&[("RESOLUTE_SERVER__LISTEN", "x"), ("RESOLUTE_PORT_8080_TCP", "x")]).expect("valid");
        assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
        assert!(loaded.warnings[0].starts_with("RESOLUTE_SERVER__LISTEN:"), "{:?}", loaded.warnings);
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let faults = with(&[
            ("RESOLUTE__SERVER__LISTENN", "x"),
            ("RESOLUTE__NOPE__X", "x"),
            ("RESOLUTE__SERVER", "x"),
            ("RESOLUTE__DATABASE__MAX_CONNECTIONS", "-1"),
            ("RESOLUTE__OPS__METRICS_PUBLIC", "yes"),
            ("PORT", "99999"),
            ("RESOLUTE__LOG__FORMAT", "xml"),
        ])
        .expect_err("faulty")
        .0;
        assert_eq!(faults.len(), 7, "{faults:#?}");
        assert!(faults.iter().any(|f| f.contains("listen, max_connections, ")), "{faults:#?}");
        for name in [
            "LISTENN",
            "NOPE",
            "RESOLUTE__SERVER:",
            "MAX_CONNECTIONS",
            "METRICS_PUBLIC",
            "PORT",
            "log.format",
        ] {
            assert!(faults.iter().any(|f| f.contains(name)), "{name} not in {faults:#?}");
        }
    }
}
