//! One rule, compiled; and everything that can be wrong with it by itself.

use std::sync::OnceLock;

use regex::bytes::{Captures, Regex};

use super::template::{Insert, Template};
use super::{Action, Condition, Fault, Pattern, PatternKind, Rule, Variable, regexes};
use crate::purl::target::{OwnAddress, Target};

/// A rule, ready to be tried.
#[derive(Debug)]
pub(super) struct Compiled {
    pub rule: Rule,
    /// The target; of a rule that is no regular expression it is a text.
    pub template: Template,
    /// As the rule has them: of each of these one must hold.
    pub conditions: Vec<Vec<Check>>,
    /// Compiled when it is first needed: that it compiles was seen before.
    regex: OnceLock<Option<Regex>>,
}

/// A condition, compiled.
#[derive(Debug)]
pub(super) struct Check {
    pub regex: Regex,
    /// What it looks at where that is put together.
    pub text: Option<Template>,
    /// Whether anybody asks what it captured.
    pub captures: bool,
}

/// What a pattern captured.
pub(super) struct Found<'s>(Option<Captures<'s>>);

impl Found<'_> {
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        Some(self.0.as_ref()?.get(number)?.as_bytes())
    }
}

impl Compiled {
    /// Compiles a rule. Targets are judged only where `own`, the address of this server, is given.
    pub fn new(rule: Rule, own: Option<&OwnAddress>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let Pattern { kind, text, ignore_case, .. } = &rule.pattern;
        let mut captures = None;
        if *kind == PatternKind::Regex {
            match regexes::compile(text, *ignore_case) {
                Ok(regex) => captures = Some(regex.captures_len()),
                Err(detail) => faults.push(Fault::new("/regex", detail)),
            }
        }
        let template = match &rule.action {
            Action::Redirect(_, target) | Action::Rewrite(target) if *kind == PatternKind::Regex => {
                Template::parse(target)
            }
            Action::Redirect(_, target) | Action::Rewrite(target) => Template::literal(target),
            Action::Refuse(_) | Action::Leave => Template::default(),
        };
        faults.extend(own.and_then(|own| target_fault(&rule, &template, captures, own)));
        let conditions = conditions(&rule, &template, &mut faults);
        if faults.is_empty() {
            Ok(Self { rule, template, conditions, regex: OnceLock::new() })
        } else {
            Err(faults)
        }
    }

    /// The target as it is written; empty where there is none.
    pub fn target(&self) -> &str {
        match &self.rule.action {
            Action::Redirect(_, target) | Action::Rewrite(target) => target,
            Action::Refuse(_) | Action::Leave => "",
        }
    }

    /// What its pattern captures of what it is compared with.
    pub fn captured<'s>(&self, subject: &'s [u8]) -> Found<'s> {
        let Pattern { kind, text, ignore_case, .. } = &self.rule.pattern;
        if *kind != PatternKind::Regex {
            return Found(None);
        }
        let regex = self.regex.get_or_init(|| regexes::compile(text, *ignore_case).ok());
        Found(regex.as_ref().and_then(|regex| regex.captures(subject)))
    }
}

/// Compiles the conditions of a rule.
fn conditions(rule: &Rule, target: &Template, faults: &mut Vec<Fault>) -> Vec<Vec<Check>> {
    let asks = |template: &Template| template.inserts().any(|insert| matches!(insert, Insert::Condition(_)));
    let texts = rule.conditions.iter().flatten().filter_map(|condition| match &condition.of {
        Variable::Text(text) => Some(Template::parse(text)),
        _ => None,
    });
    let captures = asks(target) || texts.into_iter().any(|text| asks(&text));
    let mut compiled = Vec::with_capacity(rule.conditions.len());
    for (place, alternatives) in rule.conditions.iter().enumerate() {
        let mut checks = Vec::with_capacity(alternatives.len());
        for (alternative, condition) in alternatives.iter().enumerate() {
            let Condition { of, regex, ignore_case, .. } = condition;
            let text = if let Variable::Text(text) = of { Some(Template::parse(text)) } else { None };
            match regexes::compile(regex, *ignore_case) {
                Ok(regex) => checks.push(Check { regex, text, captures }),
                Err(detail) if alternatives.len() == 1 => {
                    faults.push(Fault::new(format!("/conditions/{place}/matches"), detail));
                }
                Err(detail) => {
                    let pointer = format!("/conditions/{place}/any/{alternative}/matches");
                    faults.push(Fault::new(pointer, detail));
                }
            }
        }
        compiled.push(checks);
    }
    compiled
}

/// What is wrong with the target of a rule, as it would be whatever is put into it.
fn target_fault(
    rule: &Rule,
    template: &Template,
    captures: Option<usize>,
    own: &OwnAddress,
) -> Option<Fault> {
    let fault = |detail: String| {
        let field = if matches!(rule.action, Action::Rewrite(_)) { "/rewrite" } else { "/target" };
        Some(Fault::new(field, detail))
    };
    if matches!(rule.action, Action::Refuse(_) | Action::Leave) {
        return None;
    }
    let captures = captures.unwrap_or(1);
    if let Some(highest) = template.highest().filter(|highest| *highest >= captures) {
        return fault(format!("there is no capture ${highest}; the expression has {}", captures - 1));
    }
    if !template.has_bound_host() {
        let detail = "a capture can be no part of scheme and host but the first labels of a fixed domain: write a slash before it";
        return fault(detail.to_owned());
    }
    let example = template.expand(false, |_| Some(b"x".as_slice().into())).unwrap_or_default();
    let is_own_path = example.starts_with('/');
    if matches!(rule.action, Action::Rewrite(_)) && (!is_own_path || example.contains('#')) {
        return fault(
            "must be a path of this server, with a leading slash and without a fragment".to_owned(),
        );
    }
    let judged =
        if is_own_path { Target::check_own_path(&example) } else { Target::check_of_rule(&example, own) };
    judged.err().and_then(|wrong| fault(wrong.to_string()))
}
