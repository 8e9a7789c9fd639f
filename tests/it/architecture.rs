//! Keeps the arrows of docs/architecture.md: reads the `use` lines and paths of every source file.

use std::fs;
use std::path::{Path, PathBuf};

/// What a module of the top level may name of its siblings.
fn may_use(module: &str) -> Option<&'static [&'static str]> {
    const TOOLS: &[&str] = &["clock", "ids", "config", "lifecycle", "db", "http", "telemetry", "secret"];
    Some(match module {
        "clock" | "ids" => &["ids", "clock"],
        "lifecycle" => &["telemetry"],
        "config" => &["db"],
        "telemetry" => &["clock", "config"],
        "db" => &["clock", "ids", "config", "lifecycle", "telemetry"],
        "secret" => &["clock", "ids", "config", "db", "http"],
        "http" | "purl" | "voting" | "tenancy" | "web" | "load" => TOOLS,
        "app" | "cli" | "main" | "lib" => return None,
        _ => &[],
    })
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("src") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    files
        .into_iter()
        .map(|file| {
            let relative = file.strip_prefix(&src).expect("below src").to_path_buf();
            let first =
                relative.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).expect("text");
            (first.trim_end_matches(".rs").to_owned(), relative, text)
        })
        .collect()
}

/// Names of the top level that a line of code refers to by `crate::…`, groups included.
fn named(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let parts: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        };
        names.extend(parts.into_iter().map(|part| {
            part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        }));
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn dependencies_point_one_way() {
    let mut broken = Vec::new();
    for (module, file, text) in all_sources() {
        let Some(allowed) = may_use(&module) else { continue };
        for (number, line) in text.lines().enumerate() {
            for name in named(line) {
                if name != module && !allowed.contains(&name.as_str()) {
                    broken.push(format!(
                        "src/{}:{}: {module} may not use {name}",
                        file.display(),
                        number + 1
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn nothing_but_the_command_line_and_the_binary_names_the_composition_root() {
    for (module, file, text) in all_sources() {
        if !matches!(module.as_str(), "app" | "cli" | "main" | "lib") {
            assert!(!text.contains("crate::app"), "src/{}", file.display());
        }
    }
}

/// Pure logic knows neither HTTP nor SQL: only `api` (and resolution's front) may name axum, only stores and hot
/// files may name a driver.
#[test]
fn http_types_stay_in_api_and_sql_stays_in_stores() {
    let mut broken = Vec::new();
    for (module, file, text) in all_sources() {
        if !matches!(module.as_str(), "purl" | "voting" | "tenancy") {
            continue;
        }
        let code: String =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let path = file.to_string_lossy().into_owned();
        let in_api = path.contains("/api/");
        if code.contains("axum::") && !in_api {
            broken.push(format!("src/{path} names axum outside api"));
        }
        if (code.contains("sqlx::") || code.contains("tokio_postgres")) && in_api {
            broken.push(format!("src/{path} names a database driver inside api"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_module_is_a_drawer() {
    for (_, file, _) in all_sources() {
        for drawer in ["utils", "util", "helpers", "common", "core", "manager", "service", "misc"] {
            let named = file
                .components()
                .any(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs") == drawer);
            assert!(!named, "src/{}", file.display());
        }
    }
}

#[test]
fn nine_files_in_ten_are_under_300_lines() {
    let sizes: Vec<(usize, PathBuf)> =
        all_sources().into_iter().map(|(_, file, text)| (text.lines().count(), file)).collect();
    let long: Vec<_> = sizes.iter().filter(|(lines, _)| *lines >= 300).collect();
    assert!(long.len() * 10 <= sizes.len(), "{long:?}");
    assert!(sizes.iter().all(|(lines, _)| *lines <= 500), "a file has more than 500 lines: {long:?}");
}

#[test]
fn every_module_says_what_it_is_for() {
    for (_, file, text) in all_sources() {
        assert!(text.starts_with("//!"), "src/{} does not open with what it is for", file.display());
    }
}
