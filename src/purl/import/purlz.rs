//! Reads the batch XML of PURLz: `<purls>` with a `<purl id type>` for each name, in it `<target url>` or, for 303,
//! `<seealso url>`. Who maintained a name is passed over. In what domain a name is, such a file does not say: it is the
//! deepest one that there is above it, else its path without the last segment.

use std::collections::HashSet;
use std::io::BufRead;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader as XmlReader, XmlVersion};

use super::error::ImportError;
use super::sheet::Row;
use super::source::Placed;
use super::xml_text::Text;
use crate::purl::domain_path;

/// A reader of rows.
pub struct Reader<'a, R> {
    xml: XmlReader<Text<R>>,
    /// Paths of the domains that there are.
    tree: &'a HashSet<String>,
    inside: bool,
    buffer: Vec<u8>,
}

/// A row as its tags are read.
#[derive(Default)]
struct Draft {
    id: String,
    kind: String,
    address: Option<String>,
    fault: Option<String>,
}

impl<'a, R: BufRead> Reader<'a, R> {
    /// Reads from the start of a file.
    pub fn new(input: R, tree: &'a HashSet<String>) -> Result<Self, ImportError> {
        Ok(Self { xml: XmlReader::from_reader(Text::new(input)?), tree, inside: false, buffer: Vec::new() })
    }

    /// The next name.
    pub fn next_row(&mut self) -> Result<Option<Placed>, ImportError> {
        loop {
            let (line, event) = self.event()?;
            match event {
                Event::Start(tag) if !self.inside && tag.name().as_ref() == "purls" => self.inside = true,
                Event::Empty(tag) if !self.inside && tag.name().as_ref() == "purls" => {}
                Event::Start(tag) if self.inside && tag.name().as_ref() == "purl" => {
                    let mut draft = draft(&tag);
                    self.children(&mut draft)?;
                    return Ok(Some(self.placed(line, draft)));
                }
                Event::Empty(tag) if self.inside && tag.name().as_ref() == "purl" => {
                    let draft = draft(&tag);
                    return Ok(Some(self.placed(line, draft)));
                }
                Event::Start(tag) | Event::Empty(tag) => {
                    let (name, wanted) = (tag.name(), if self.inside { "purl" } else { "purls" });
                    let fault = format!("<{}> where <{wanted}> should be", name.as_ref());
                    return Err(ImportError::Broken { line, fault });
                }
                Event::End(_) => self.inside = false,
                Event::Eof if self.inside => {
                    return Err(ImportError::Broken { line, fault: "<purls> is never closed".to_owned() });
                }
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }

    /// Reads up to the end of a name.
    fn children(&mut self, draft: &mut Draft) -> Result<(), ImportError> {
        let mut depth = 1_u32;
        while depth > 0 {
            let (line, event) = self.event()?;
            match event {
                Event::Start(tag) => {
                    if depth == 1 {
                        draft.child(&tag);
                    }
                    depth += 1;
                }
                Event::Empty(tag) if depth == 1 => draft.child(&tag),
                Event::End(_) => depth -= 1,
                Event::Eof => {
                    return Err(ImportError::Broken { line, fault: "<purl> is never closed".to_owned() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The next event, and the line on which it begins.
    fn event(&mut self) -> Result<(u64, Event<'static>), ImportError> {
        self.buffer.clear();
        self.xml.get_mut().mark();
        let line = self.xml.get_ref().line();
        match self.xml.read_event_into(&mut self.buffer) {
            Ok(event) => Ok((line, event.into_owned())),
            Err(quick_xml::Error::Io(error)) => Err(ImportError::Broken { line, fault: error.to_string() }),
            Err(error) => Err(ImportError::Broken { line, fault: format!("is not XML: {error}") }),
        }
    }

    fn placed(&self, line: u64, draft: Draft) -> Placed {
        Placed { line, row: draft.row(self.tree) }
    }
}

fn draft(tag: &BytesStart<'_>) -> Draft {
    let mut draft = Draft::default();
    for (name, slot) in [("id", &mut draft.id), ("type", &mut draft.kind)] {
        match attribute(tag, name) {
            Ok(value) => *slot = value,
            Err(fault) => draft.fault = draft.fault.take().or(Some(fault)),
        }
    }
    draft
}

/// The value of an attribute that must be there.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let element = tag.name();
    let element = element.as_ref();
    let found = tag.try_get_attribute(name).map_err(|error| format!("<{element}>: {error}"))?;
    let found = found.ok_or_else(|| format!("<{element}> has no {name}"))?;
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    value.map(std::borrow::Cow::into_owned).map_err(|error| format!("{name} of <{element}>: {error}"))
}

impl Draft {
    fn child(&mut self, tag: &BytesStart<'_>) {
        let name = tag.name();
        let read = match name.as_ref() {
            "maintainers" => return,
            "target" | "seealso" => attribute(tag, "url"),
            "basepurl" => attribute(tag, "path"),
            other => Err(format!("unknown element <{other}>")),
        };
        match read {
            Err(fault) => self.fault = self.fault.take().or(Some(fault)),
            Ok(_) if self.address.is_some() => {
                self.fault = self.fault.take().or_else(|| Some("has two targets".to_owned()));
            }
            Ok(address) => self.address = Some(address),
        }
    }

    fn row(self, tree: &HashSet<String>) -> Result<Row, String> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let (status, kind) = match self.kind.as_str() {
            "301" | "302" | "303" | "307" | "308" | "404" | "410" => (self.kind.as_str(), "plain"),
            "partial"
            | "partial-append-extension"
            | "partial-ignore-extension"
            | "partial-replace-extension" => ("302", self.kind.as_str()),
            "chain" | "clone" => {
                return Err(format!("the type {} cannot be imported; give its target", self.kind));
            }
            other => return Err(format!("unknown type {other:?}")),
        };
        let (domain, name) = place(&self.id, tree)?;
        Ok(Row {
            domain,
            name,
            target: self.address.unwrap_or_default(),
            status: Some(status.to_owned()),
            kind: Some(kind.to_owned()),
            ..Row::default()
        })
    }
}

/// The domain and the name of a path.
fn place(id: &str, tree: &HashSet<String>) -> Result<(String, String), String> {
    let path = id.strip_prefix('/').ok_or_else(|| format!("the id {id:?} does not begin with a slash"))?;
    let own = domain_path::candidates(path);
    let there = own.iter().rev().find(|domain| domain.len() < path.len() && tree.contains(**domain));
    let segment = path.trim_end_matches('/').rfind('/');
    let domain = match (there, segment) {
        (Some(domain), _) if !domain.is_empty() || segment.is_none() => domain,
        (_, Some(at)) => &path[..at],
        _ => return Err(format!("{id} is in no domain; make one first")),
    };
    if domain.is_empty() {
        return Ok(("/".to_owned(), path.to_owned()));
    }
    Ok((domain.to_owned(), path[domain.len() + 1..].to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Lines = Vec<(u64, Result<Row, String>)>;

    fn read(text: impl AsRef<[u8]>, domains: &[&str]) -> Result<Lines, String> {
        let tree = domains.iter().map(|path| (*path).to_owned()).collect();
        let mut reader = Reader::new(text.as_ref(), &tree).map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        while let Some(placed) = reader.next_row().map_err(|error| error.to_string())? {
            rows.push((placed.line, placed.row));
        }
        Ok(rows)
    }

    fn row(domain: &str, name: &str, target: &str, status: &str, kind: &str) -> Row {
        Row {
            domain: domain.into(),
            name: name.into(),
            target: target.into(),
            status: Some(status.into()),
            kind: Some(kind.into()),
            ..Row::default()
        }
    }

    #[test]
    fn every_type_with_a_target_is_a_row_with_its_line() {
        let rows = read(
            "<?xml version=\"1.0\"?>\n<!-- ours -->\n<purls>\n<purl id=\"/net/a/x\" type=\"302\">\n\
             <maintainers><uid>a</uid><gid>b</gid></maintainers><target url=\"https://e.org/?a&amp;b\"/></purl>\n\
             <purl type='303' id='/net/a/y/'><seealso url='https://e.org/é'></seealso></purl>\n\
             <purl id=\"/net/p/\" type=\"partial\"><target url=\"https://e.org/p/\"/></purl>\n\
             <purl id=\"/net/gone\" type=\"410\"/>\n</purls>\n",
            &["net/a"],
        );
        let expected = [
            (4, Ok(row("net/a", "x", "https://e.org/?a&b", "302", "plain"))),
            (6, Ok(row("net/a", "y/", "https://e.org/é", "303", "plain"))),
            (7, Ok(row("net", "p/", "https://e.org/p/", "302", "partial"))),
            (8, Ok(row("net", "gone", "", "410", "plain"))),
        ];
        assert_eq!(rows, Ok(expected.to_vec()));
    }

    #[test]
    fn the_deepest_domain_above_a_name_has_it() {
        let of = |id: &str, domains: &[&str]| {
            let tree = domains.iter().map(|path| (*path).to_owned()).collect();
            place(id, &tree)
        };
        let is = |domain: &str, name: &str| Ok((domain.to_owned(), name.to_owned()));
        assert_eq!(of("/a/b/c/d", &["a", "a/b"]), is("a/b", "c/d"));
        assert_eq!(of("/a/b/c/d", &[]), is("a/b/c", "d"));
        assert_eq!(of("/a/b", &["a/b"]), is("a", "b"));
        assert_eq!(of("/a/b", &[""]), is("a", "b"), "the root domain is not what is meant by a path");
        assert_eq!(of("/x", &[""]), is("/", "x"));
        assert!(of("/x", &[]).is_err() && of("x/y", &[]).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_name_is_told_and_the_next_is_read() {
        let of = |purl: &str| {
            let rows = read(format!("<purls>{purl}<purl id='/a/b' type='410'/></purls>"), &[]).unwrap();
            assert!(rows[1].1.is_ok());
            rows[0].1.clone().unwrap_err()
        };
        assert_eq!(of("<purl type='302'/>"), "<purl> has no id");
        assert_eq!(of("<purl id='/a/b' type='309'/>"), "unknown type \"309\"");
        assert_eq!(of("<purl id='/a/b' type='302'><target/></purl>"), "<target> has no url");
        assert_eq!(of("<purl id='/a/b' type='302'><link/></purl>"), "unknown element <link>");
        let two = "<purl id='/a/b' type='302'><target url='x'/><target url='y'/></purl>";
        assert_eq!(of(two), "has two targets");
        assert!(of("<purl id='/a/b' type='302'><target url='&x;'/></purl>").contains("url of <target>"));
        assert!(of("<purl id='/a/b' type='chain'><basepurl path='/c'/></purl>").contains("chain"));
    }

    #[test]
    fn what_is_no_such_document_names_its_line() {
        for (text, expected) in [
            ("<purls>\n<purl id='/a/b'", "line 2: is not XML"),
            ("<purls>\n", "never closed"),
            ("<purls><purl id='/a/b' type='302'>\n", "<purl> is never closed"),
            ("<recs/>", "line 1: <recs> where <purls> should be"),
            ("<purls>\n\n<rec/>", "line 3: <rec> where <purl> should be"),
            ("<purls></purl>", "line 1: is not XML"),
        ] {
            let error = read(text, &[]).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let endless = format!("<purls><purl id='{}'/></purls>", "x".repeat(1_000_000));
        assert!(read(endless, &[]).unwrap_err().contains("longer than"));
        assert_eq!(read("", &[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_rows_or_in_an_error(text in "(<purls>)?(<purl( id='[a-z/]{0,5}')?( type=\"[0-9]{3}\")?/?>|</purl>|<target url='x'/>|[<>&'\"a-z/= \n]{0,8}){0,8}(</purls>)?") {
            let _ = read(text, &["a"]);
        }
    }
}
