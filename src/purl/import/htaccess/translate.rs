//! The rules that a file says, in the order in which Apache would try them: every `RewriteRule`, then `Redirect` and
//! `RedirectMatch`, then what is answered instead of 404.

use super::alias::Redirect;
use super::directives::{self, Directive};
use super::rewrite::{RewriteCond, RewriteRule};
use super::substitution::Reading;
use super::variables::{self, Value};
use super::{FILE, PART, Remark, Site, Wrong, expression};
use crate::purl::model::{QueryPolicy, Status};
use crate::purl::raw_path;
use crate::purl::ruleset::{Action, Condition, Origin, Pattern, PatternKind, Rule, Scope, Variable};

/// A rule and the line that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The rule.
    pub rule: Rule,
    /// The line, from 1.
    pub line: usize,
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// Its rules; where there are faults, those that have none.
    pub rules: Vec<Drawn>,
    /// What has no effect.
    pub remarks: Vec<Remark>,
    /// Everything that is wrong.
    pub faults: Vec<Remark>,
}

/// The rules of a file.
pub fn rules(text: &str, site: &Site<'_>) -> Draft {
    let document = directives::read(text);
    let has_base = document.base.is_some();
    let base = document.base.unwrap_or_else(|| site.prefix());
    let base = if base.ends_with('/') { base } else { base + "/" };
    let not_found = document.directives.iter().rev().find_map(|(line, directive)| match directive {
        Directive::NotFound(place) => Some((*line, place.clone())),
        _ => None,
    });
    let translator = Translator {
        site,
        base: &base,
        has_base,
        not_found: not_found.as_ref().map(|(_, place)| place.as_str()),
    };
    let (mut rewrites, mut aliases, mut faults) = (Vec::new(), Vec::new(), document.faults);
    for (line, directive) in &document.directives {
        let (into, drawn) = match directive {
            Directive::Rewrite(conditions, rule) => {
                (&mut rewrites, translator.rewrite(conditions, rule).map(Vec::from_iter))
            }
            Directive::Alias(redirect) => (&mut aliases, translator.alias(redirect)),
            Directive::NotFound(_) => continue,
        };
        match drawn {
            Ok(rules) => {
                into.extend(rules.into_iter().map(|rule| Drawn { rule: of(rule, *line), line: *line }));
            }
            Err(detail) => faults.push(Remark { line: *line, detail }),
        }
    }
    let mut rewrites = [without_slash(&aliases, site), rewrites].concat();
    let last = rewrites.len();
    rewrites.extend(aliases);
    if let Some((line, place)) = not_found {
        let pattern = pattern(PatternKind::Regex, String::new(), Scope::Name);
        let place = place.replace('$', "$$");
        let rule = Rule {
            query: Some(QueryPolicy::Drop),
            ..Rule::new(pattern, Action::Redirect(Status::FOUND, place))
        };
        rewrites.push(Drawn { rule: of(rule, line), line });
    }
    // What is rewritten begins again, and only then comes to these.
    rewrites.iter_mut().skip(last).for_each(|drawn| drawn.rule.untouched = true);
    Draft { rules: rewrites, remarks: document.remarks, faults }
}

/// `Redirect` and `RedirectMatch` come first where the directory is asked for without its final slash, which is no matter of
/// `RewriteRule`. What they leave is taken as if the slash were there.
fn without_slash(aliases: &[Drawn], site: &Site<'_>) -> Vec<Drawn> {
    let own = format!("/{}", site.directory);
    let meets = |rule: &Rule| match (rule.pattern.kind, rule.pattern.text.as_str()) {
        (PatternKind::Exact, text) => text == own,
        (PatternKind::Prefix, text) => own.starts_with(text),
        (PatternKind::Regex, text) => expression::finds(text, &own),
    };
    let regex = format!("^GET {}[ ?]", regex::escape(&raw_path::encode(&own)));
    let asked = Condition { of: Variable::RequestLine, regex, ignore_case: false, not: false };
    let first = aliases.iter().find(|drawn| meets(&drawn.rule)).filter(|_| !site.directory.is_empty());
    let of_it = |drawn: &Drawn| Drawn {
        rule: Rule { conditions: vec![vec![asked.clone()]], ..drawn.rule.clone() },
        line: drawn.line,
    };
    first.map(of_it).into_iter().collect()
}

fn of(rule: Rule, line: usize) -> Rule {
    let origin = Origin { file: FILE.to_owned(), part: PART.to_owned(), key: line.to_string() };
    Rule { origin: Some(origin), ..rule }
}

fn pattern(kind: PatternKind, text: String, on: Scope) -> Pattern {
    Pattern { kind, text, on, ignore_case: false, merge_tail: false }
}

fn redirect(status: u16) -> Result<Status, Wrong> {
    Status::parse(status.into()).map_err(|wrong| wrong.to_string())
}

struct Translator<'a> {
    site: &'a Site<'a>,
    base: &'a str,
    has_base: bool,
    not_found: Option<&'a str>,
}

impl Translator<'_> {
    /// No rule at all where it changes nothing.
    fn rewrite(&self, conditions: &[RewriteCond], of: &RewriteRule) -> Result<Option<Rule>, Wrong> {
        let regex = expression::translate(&of.pattern, of.flags.ignore_case)?;
        let captures = if of.not { 0 } else { expression::captures(&regex) };
        let mut wanted = Vec::new();
        let met = if of.not {
            let found = Condition { of: Variable::Name, regex, ignore_case: of.flags.ignore_case, not: true };
            wanted.push(vec![found]);
            pattern(PatternKind::Regex, String::new(), Scope::Name)
        } else {
            Pattern { ignore_case: of.flags.ignore_case, ..pattern(PatternKind::Regex, regex, Scope::Name) }
        };
        let reading =
            Reading { site: self.site, captures, has_conditions: !conditions.is_empty(), percent: true };
        for alternatives in groups(conditions) {
            match self.alternatives(alternatives, &reading)? {
                Held::Always => {}
                Held::Never => return Ok(None),
                Held::If(conditions) => wanted.push(conditions),
            }
        }
        let Some((action, query)) = self.action(of, &reading)? else { return Ok(None) };
        let goes_on = !of.flags.last && matches!(action, Action::Redirect(..) | Action::Rewrite(_));
        let raw_captures = of.flags.no_escape && matches!(action, Action::Redirect(..));
        Ok(Some(Rule { conditions: wanted, go_on: goes_on, raw_captures, query, ..Rule::new(met, action) }))
    }

    /// What a rule does, if it does anything, and what it does with the query.
    fn action(
        &self,
        of: &RewriteRule,
        reading: &Reading<'_>,
    ) -> Result<Option<(Action, Option<QueryPolicy>)>, Wrong> {
        let flags = &of.flags;
        if let Some(status) = flags.status.filter(|status| !(300..400).contains(status)) {
            return Ok(Some(self.refusal(status)));
        }
        if of.substitution == "-" {
            return match flags.status {
                Some(_) => Err("redirects an address to itself, over and over".to_owned()),
                None => Ok(flags.last.then_some((Action::Leave, None))),
            };
        }
        let target = reading.target(&of.substitution, self.base, !flags.no_escape, flags.status.is_some())?;
        let query = match (flags.append_query, flags.drop_query, target.query) {
            (_, true, _) => QueryPolicy::Drop,
            (true, false, _) => QueryPolicy::Forward,
            (false, false, said) => said.unwrap_or(QueryPolicy::Forward),
        };
        if target.is_relative && flags.status.is_some() && !self.has_base {
            return Err(format!(
                "leads to {:?}, which without a RewriteBase is a path in Apache's file system: write a slash before it",
                of.substitution
            ));
        }
        if !target.is_address && flags.status.is_none() {
            // Once it is rewritten for good, it would be looked for among files; there are none.
            let ended = flags.end.then(|| self.refusal(404));
            return Ok(Some(ended.unwrap_or((Action::Rewrite(target.template), Some(query)))));
        }
        let status = redirect(flags.status.unwrap_or(302))?;
        Ok(Some((Action::Redirect(status, target.template), Some(query))))
    }

    /// A status without a target; for 404 the file may say otherwise.
    fn refusal(&self, status: u16) -> (Action, Option<QueryPolicy>) {
        match self.not_found.filter(|_| status == 404) {
            Some(place) => {
                (Action::Redirect(Status::FOUND, place.replace('$', "$$")), Some(QueryPolicy::Drop))
            }
            None => (Action::Refuse(status), None),
        }
    }

    fn alternatives(&self, alternatives: &[RewriteCond], reading: &Reading<'_>) -> Result<Held, Wrong> {
        let mut conditions = Vec::with_capacity(alternatives.len());
        for condition in alternatives {
            match self.condition(condition, reading)? {
                Held::Always => return Ok(Held::Always),
                Held::Never => {}
                Held::If(found) => conditions.extend(found),
            }
        }
        Ok(if conditions.is_empty() { Held::Never } else { Held::If(conditions) })
    }

    fn condition(&self, from: &RewriteCond, reading: &Reading<'_>) -> Result<Held, Wrong> {
        let RewriteCond { subject, pattern, not, ignore_case, .. } = from;
        let whole = subject
            .strip_prefix("%{")
            .and_then(|rest| rest.strip_suffix('}'))
            .filter(|name| !name.contains('}'));
        let value = match whole.map(|name| variables::read(name, self.site)).transpose()? {
            Some(value) => value,
            None => Value::Part(Variable::Text(reading.text(subject)?)),
        };
        let of = match value {
            Value::File => return self.file(subject, pattern, *not),
            Value::Part(part) => part,
            Value::Text(text) => Variable::Text(text.replace('$', "$$")),
        };
        let regex = match pattern.chars().next() {
            Some('=') => format!("^{}$", regex::escape(pattern[1..].trim_matches('"'))),
            Some('<' | '>') => {
                return Err(format!("compares with {pattern:?}, which conditions here cannot"));
            }
            Some('-') if pattern.len() <= 3 => {
                return Err(format!("asks {pattern:?} of {subject}; that has a meaning for files only"));
            }
            _ => expression::translate(pattern, *ignore_case)?,
        };
        Ok(Held::If(vec![Condition { of, regex, ignore_case: *ignore_case, not: *not }]))
    }

    /// A question about a file: nothing is one but the directory itself.
    fn file(&self, subject: &str, test: &str, not: bool) -> Result<Held, Wrong> {
        let regex = match test {
            "-f" | "-F" | "-s" | "-l" | "-L" | "-h" | "-x" => {
                return Ok(if not { Held::Always } else { Held::Never });
            }
            "-d" => format!("^{}$", regex::escape(&self.site.prefix())),
            _ => return Err(format!("asks {test:?} of {subject}: there are no files here")),
        };
        Ok(Held::If(vec![Condition { of: Variable::Path, regex, ignore_case: false, not }]))
    }

    fn alias(&self, from: &Redirect) -> Result<Vec<Rule>, Wrong> {
        let Redirect { is_expression, pattern: text, status, target } = from;
        let to = |target: &str| -> Result<(Action, Option<QueryPolicy>), Wrong> {
            let query = if target.contains('?') { QueryPolicy::Drop } else { QueryPolicy::Forward };
            Ok((Action::Redirect(redirect(*status)?, target.to_owned()), Some(query)))
        };
        if *is_expression {
            let regex = expression::translate(text, false)?;
            let captures = expression::captures(&regex);
            let reading = Reading { site: self.site, captures, has_conditions: false, percent: false };
            let (action, query) = match target {
                Some(target) => {
                    let (address, fragment) = target.split_at(target.find('#').unwrap_or(target.len()));
                    let mut read = reading.target(address, "/", true, true)?.template;
                    read.push_str(&fragment.replace('$', "$$"));
                    let had_query = address.contains('?') && !read.contains('?');
                    let (action, query) = to(&read)?;
                    (action, if had_query { Some(QueryPolicy::Drop) } else { query })
                }
                None => self.refusal(*status),
            };
            let met = pattern(PatternKind::Regex, regex, Scope::Path);
            return Ok(vec![Rule { query, ..Rule::new(met, action) }]);
        }
        // The path itself, and all that lies below it; with its final slash it is the beginning of paths.
        let is_below = text.ends_with('/');
        let below = if is_below { text.clone() } else { format!("{text}/") };
        let mut kinds = vec![(PatternKind::Prefix, below, if is_below { "" } else { "/" })];
        if !is_below {
            kinds.insert(0, (PatternKind::Exact, text.clone(), ""));
        }
        let mut rules = Vec::with_capacity(2);
        for (kind, text, joint) in kinds {
            let (action, query) = match target {
                Some(target) => to(&format!("{target}{joint}"))?,
                None => self.refusal(*status),
            };
            rules.push(Rule { query, ..Rule::new(pattern(kind, text, Scope::Path), action) });
        }
        Ok(rules)
    }
}

/// Whether conditions hold.
enum Held {
    Always,
    Never,
    If(Vec<Condition>),
}

/// Conditions of which one must hold, those of each group together.
fn groups(conditions: &[RewriteCond]) -> impl Iterator<Item = &[RewriteCond]> {
    conditions.split_inclusive(|condition| !condition.or_next)
}
