//! YAML with the line of everything: texts, lists and maps, and nothing else. What a reader meets that it does not
//! want becomes a fault with its line.

use saphyr::{AnnotatedMapping, LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};

/// Something wrong in a file, or merely odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub detail: String,
}

/// A node and the faults of its file.
#[derive(Clone, Copy)]
pub struct Node<'y>(&'y MarkedYaml<'y>);

/// Reads the one document of a text.
pub fn parse(text: &str) -> Result<MarkedYaml<'_>, Remark> {
    let documents = MarkedYaml::load_from_str(text).map_err(|error| Remark {
        line: error.marker().line(),
        detail: format!("is no YAML: {}", error.info()),
    })?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => Ok(document),
        (None, _) => Err(Remark { line: 1, detail: "is empty".to_owned() }),
        (Some(_), Some(second)) => {
            Err(Remark { line: second.span.start.line(), detail: "has a second document".to_owned() })
        }
    }
}

impl<'y> Node<'y> {
    /// The whole document.
    pub fn of(document: &'y MarkedYaml<'y>) -> Self {
        Self(document)
    }

    /// Its line.
    pub fn line(self) -> usize {
        self.0.span.start.line()
    }

    /// What is wrong with it.
    pub fn remark(self, detail: impl Into<String>) -> Remark {
        Remark { line: self.line(), detail: detail.into() }
    }

    /// Nothing is written there.
    pub fn is_null(self) -> bool {
        matches!(self.0.data, YamlData::Value(Scalar::Null))
    }

    /// A text.
    pub fn text(self) -> Result<&'y str, Remark> {
        match &self.0.data {
            YamlData::Value(Scalar::String(text)) if !text.chars().any(char::is_control) => Ok(text),
            YamlData::Value(Scalar::String(_)) => Err(self.remark("has a control character")),
            YamlData::Value(_) => Err(self.remark("must be a text; put it in quotes")),
            _ => Err(self.remark("must be a text")),
        }
    }

    /// The items of a list.
    pub fn list(self) -> Result<Vec<Self>, Remark> {
        match &self.0.data {
            YamlData::Sequence(items) => Ok(items.iter().map(Node).collect()),
            _ => Err(self.remark("must be a list")),
        }
    }

    /// The entries of a map, in their order.
    pub fn map(self) -> Result<Vec<(&'y str, Self)>, Remark> {
        let entries: &AnnotatedMapping<'y, MarkedYaml<'y>> = match &self.0.data {
            YamlData::Mapping(entries) => entries,
            _ => return Err(self.remark("must be a map")),
        };
        entries.iter().map(|(key, value)| Ok((Node(key).text()?, Node(value)))).collect()
    }
}
