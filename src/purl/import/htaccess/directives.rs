//! The directives of a file that matter, in their order. What is neither known nor known to be without effect is a fault.

use super::rewrite::{self, RewriteCond, RewriteRule};
use super::{Remark, Wrong, alias, lines};

/// A directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// `RewriteRule` with the conditions before it, in Apache's order.
    Rewrite(Vec<RewriteCond>, RewriteRule),
    /// `Redirect`, `RedirectMatch` and their relatives.
    Alias(alias::Redirect),
    /// `ErrorDocument 404` with an address.
    NotFound(String),
}

/// A file, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// The directives with their lines.
    pub directives: Vec<(usize, Directive)>,
    /// `RewriteBase`, the last one.
    pub base: Option<String>,
    /// What has no effect.
    pub remarks: Vec<Remark>,
    /// What is wrong.
    pub faults: Vec<Remark>,
}

/// Directives that change no answer of this server.
const WITHOUT_EFFECT: [&str; 24] = [
    "options",
    "addtype",
    "addcharset",
    "adddefaultcharset",
    "addencoding",
    "addlanguage",
    "addhandler",
    "defaultlanguage",
    "languagepriority",
    "forcelanguagepriority",
    "header",
    "requestheader",
    "forcetype",
    "directoryslash",
    "directoryindex",
    "fileetag",
    "expiresactive",
    "expiresdefault",
    "expiresbytype",
    "serversignature",
    "contentdigest",
    "limitinternalrecursion",
    "indexoptions",
    "setenvif",
];

/// Reads a file, with every fault at once.
pub fn read(text: &str) -> Document {
    let mut reader = Reader::default();
    for line in lines::read(text) {
        if let Err(detail) = reader.line(&line) {
            reader.document.faults.push(Remark { line: line.number, detail });
        }
    }
    let open = reader
        .sections
        .iter()
        .map(|section| Remark { line: section.line, detail: "is not closed".to_owned() });
    reader.document.faults.extend(open);
    if let Some((line, _)) = reader.conditions.first() {
        let detail = "no RewriteRule follows this RewriteCond: it has no effect".to_owned();
        reader.document.remarks.push(Remark { line: *line, detail });
    }
    if reader.engine_off {
        reader.document.directives.retain(|(_, directive)| !matches!(directive, Directive::Rewrite(..)));
    }
    reader.document
}

/// A section that is open.
#[derive(Debug)]
struct Section {
    line: usize,
    /// Whether what is in it counts.
    counts: bool,
}

#[derive(Debug, Default)]
struct Reader {
    document: Document,
    conditions: Vec<(usize, RewriteCond)>,
    sections: Vec<Section>,
    engine_off: bool,
}

impl Reader {
    fn line(&mut self, line: &lines::Line) -> Result<(), Wrong> {
        let name = line.name.to_ascii_lowercase();
        if name.starts_with('<') {
            return self.section(&name, line);
        }
        if self.sections.iter().any(|section| !section.counts) {
            return Ok(());
        }
        let directive = match name.as_str() {
            "rewriterule" => {
                let conditions = std::mem::take(&mut self.conditions);
                let conditions = conditions.into_iter().map(|(_, condition)| condition).collect();
                Directive::Rewrite(conditions, rewrite::rule(&line.rest)?)
            }
            "rewritecond" => {
                self.conditions.push((line.number, rewrite::cond(&line.rest)?));
                return Ok(());
            }
            "rewriteengine" => {
                self.engine_off = match line.rest.to_ascii_lowercase().as_str() {
                    "on" => false,
                    "off" => true,
                    _ => return Err("RewriteEngine is on or off".to_owned()),
                };
                return Ok(());
            }
            "rewritebase" => {
                let base =
                    lines::words(&line.rest).and_then(|words| words.into_iter().next()).unwrap_or_default();
                if !base.starts_with('/') {
                    return Err("RewriteBase needs a path with its leading slash".to_owned());
                }
                self.document.base = Some(base);
                return Ok(());
            }
            "rewriteoptions" => {
                let known = ["allowanyuri", "mergebase"];
                let inherits = |word: &str| !known.contains(&word.to_ascii_lowercase().as_str());
                return match line.rest.split_whitespace().find(|word| inherits(word)) {
                    Some(word) => Err(format!("RewriteOptions {word} is not known here")),
                    None => Ok(()),
                };
            }
            "redirect" | "redirectmatch" | "redirectpermanent" | "redirecttemp" => {
                Directive::Alias(alias::read(&name, &line.rest)?)
            }
            "errordocument" => match self.error_document(line)? {
                Some(directive) => directive,
                None => return Ok(()),
            },
            known if WITHOUT_EFFECT.contains(&known) => return Ok(()),
            _ => return Err(format!("the directive {} is not known here", line.name)),
        };
        self.document.directives.push((line.number, directive));
        Ok(())
    }

    fn section(&mut self, name: &str, line: &lines::Line) -> Result<(), Wrong> {
        match name {
            "<ifmodule" | "<ifdefine" | "<ifversion" => {
                // Read as if every module were there; a definition is one that nobody made.
                let test = line.rest.trim_end_matches('>').trim();
                let counts = (name == "<ifmodule") != test.starts_with('!') || name == "<ifversion";
                self.sections.push(Section { line: line.number, counts });
                Ok(())
            }
            "</ifmodule>" | "</ifdefine>" | "</ifversion>" => match self.sections.pop() {
                Some(_) => Ok(()),
                None => Err(format!("{} closes nothing", line.name)),
            },
            _ => Err(format!("the section {}> is not known here", line.name.trim_end_matches('>'))),
        }
    }

    fn error_document(&mut self, line: &lines::Line) -> Result<Option<Directive>, Wrong> {
        let words = lines::words(&line.rest).ok_or("ErrorDocument has a quote that is not closed")?;
        let [status, place, ..] = words.as_slice() else {
            return Err("ErrorDocument needs a status and an address".to_owned());
        };
        let is_address = place.split_once("://").is_some_and(|(scheme, _)| !scheme.contains(['/', ' ']));
        if status == "404" && is_address {
            return Ok(Some(Directive::NotFound(place.clone())));
        }
        let detail =
            format!("ErrorDocument {status} says what a page looks like; answers here have their own");
        self.document.remarks.push(Remark { line: line.number, detail });
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_read_in_its_order() {
        let read = read(
            "\
# w3id
Options +FollowSymLinks
RewriteEngine on
<IfModule mod_headers.c>
  Header set Access-Control-Allow-Origin *
</IfModule>
<IfModule !mod_rewrite.c>
  Nonsense
</IfModule>
RewriteCond %{HTTP_ACCEPT} turtle [OR]
RewriteCond %{HTTP_ACCEPT} rdf
RewriteRule ^$ https://e.org/ [R=303,L]
RewriteRule ^a$ /b
Redirect 301 /x/c https://e.org/c
ErrorDocument 404 https://e.org/none
ErrorDocument 410 /gone.html
",
        );
        let lines: Vec<usize> = read.directives.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [12, 13, 14, 15]);
        let conditions = read.directives.iter().map(|(_, directive)| match directive {
            Directive::Rewrite(conditions, _) => conditions.len(),
            _ => 0,
        });
        assert_eq!(conditions.collect::<Vec<_>>(), [2, 0, 0, 0]);
        assert_eq!(read.remarks.len(), 1);
    }

    #[test]
    fn every_fault_of_a_file_is_named_with_its_line() {
        let faults = read(
            "\
RewriteEngine maybe
Nonsense here
<If \"%{HTTPS} == 'on'\">
RewriteRule ^a$ /b [R=302, L]
<IfModule mod_x.c>
RewriteCond %{HTTP_ACCEPT} x
",
        )
        .faults;
        let lines: Vec<usize> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5]);
    }

    proptest! {
        #[test]
        fn whatever_is_in_a_file_is_read_or_refused(text in "((Rewrite(Rule|Cond|Base|Engine)|Redirect(Match)?|ErrorDocument|<IfModule|</IfModule>)? ?[ -~\\n\\\\\"'é\\[\\]]{0,30}\\n){0,6}") {
            let lines = text.split('\n').count();
            let faults = read(&text).faults;
            prop_assert!(faults.iter().all(|fault| (1..=lines).contains(&fault.line)));
        }
    }
}
