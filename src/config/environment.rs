//! The only reader of the process environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables this program looks at, taken once at start. Tests make their own.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    path: Option<OsString>,
}

impl Environment {
    /// What the process was started with. Variables that are not UTF-8 are not looked at.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { variables, path: std::env::var_os("PATH") }
    }

    /// An environment of these variables only.
    pub fn of(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Self { variables, path: None }
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Where programs are searched.
    pub fn path(&self) -> Option<&OsString> {
        self.path.as_ref()
    }

    /// Variables that look like settings and are none: `RESOLUTE_SECTION__KEY`, an underscore short. (Orchestrators
    /// set `RESOLUTE_PORT` and the like for a service of this name; these have no `__`.)
    pub fn near_misses(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str).filter(|name| {
            name.strip_prefix("RESOLUTE_").is_some_and(|rest| !rest.starts_with('_') && rest.contains("__"))
        })
    }

    /// Every `RESOLUTE__SECTION__KEY` as (variable, section, key, value), in order of name.
    pub fn settings(&self) -> impl Iterator<Item = (&str, String, String, &str)> {
        self.variables.iter().filter_map(|(name, value)| {
            let rest = name.strip_prefix("RESOLUTE__")?;
            let (section, key) = rest.split_once("__").unwrap_or((rest, ""));
            Some((name.as_str(), section.to_lowercase(), key.to_lowercase(), value.as_str()))
        })
    }
}
