//! A configuration file as lines: a backslash at the end of one joins the next, `#` begins a comment where a line begins.

/// A line with something in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it begins, from 1.
    pub number: usize,
    /// The first word, as it is written.
    pub name: String,
    /// What follows the first word and blanks.
    pub rest: String,
}

/// The lines of a file. A byte order mark, carriage returns and blanks at both ends of a line say nothing.
pub fn read(text: &str) -> Vec<Line> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut lines, mut joined, mut begun) = (Vec::new(), String::new(), None);
    for (at, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let number = *begun.get_or_insert(at + 1);
        if let Some(first) = line.strip_suffix('\\') {
            joined.push_str(first);
            continue;
        }
        joined.push_str(line);
        lines.extend(of(number, &std::mem::take(&mut joined)));
        begun = None;
    }
    if let Some(number) = begun {
        lines.extend(of(number, &joined));
    }
    lines
}

fn of(number: usize, text: &str) -> Option<Line> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some(Line { number, name: name.to_owned(), rest: rest.trim_start().to_owned() })
}

/// The words of a directive's arguments: quotes hold words together, and in them a backslash takes a quote or a backslash as
/// itself. `None` where a quote is not closed.
pub fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut rest) = (Vec::new(), text.trim());
    while let Some(first) = rest.chars().next() {
        let quote = matches!(first, '"' | '\'').then_some(first);
        let mut characters = rest[quote.map_or(0, char::len_utf8)..].char_indices().peekable();
        let start = quote.map_or(0, char::len_utf8);
        let (mut word, mut end) = (String::new(), None);
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            let taken = character == '\\' && next.is_some_and(|next| next == '\\' || Some(next) == quote);
            if taken {
                word.extend(next);
                characters.next();
            } else if quote.map_or(character.is_whitespace(), |quote| quote == character) {
                end = Some(start + at + character.len_utf8());
                break;
            } else {
                word.push(character);
            }
        }
        if quote.is_some() && end.is_none() {
            return None;
        }
        words.push(word);
        rest = rest[end.unwrap_or(rest.len())..].trim_start();
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_comments_left_out() {
        let text = "\u{feff}RewriteEngine on\r\n\r\n  # no\n\tRewriteRule ^a$ \\\n  /b [L]\n#c \\\nalso comment\nOptions";
        let read: Vec<(usize, String)> = read(text)
            .into_iter()
            .map(|line| (line.number, format!("{}|{}", line.name, line.rest)))
            .collect();
        let expected = [(1, "RewriteEngine|on"), (4, "RewriteRule|^a$   /b [L]"), (8, "Options|")];
        assert_eq!(read, expected.map(|(number, text)| (number, text.to_owned())));
    }

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(
            words(r#"303  "a b\"c" 'd\' e' f\\g h\i"#).expect("words"),
            ["303", "a b\"c", "d' e", r"f\g", r"h\i"]
        );
        assert_eq!(words(r#""" x"#).expect("words"), ["", "x"]);
        assert_eq!(words("\"a"), None);
        assert_eq!(words(" ").expect("none").len(), 0);
    }
}
