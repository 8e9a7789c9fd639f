//! The form of a message: `1`, a blank, the topic, then one item a line. The number is the version of the form;
//! another one, or anything malformed, is no message.

/// Most bytes of a payload; PostgreSQL takes fewer than 8,000.
const MAX_BYTES: usize = 7_900;

/// A message as it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What kind of thing was written.
    pub topic: &'a str,
    /// Which ones.
    pub items: Vec<&'a str>,
}

impl<'a> Message<'a> {
    /// Reads a payload; `None` if it has another form or version.
    pub fn parse(payload: &'a str) -> Option<Self> {
        let mut lines = payload.split('\n');
        let topic = lines.next()?.strip_prefix("1 ")?;
        let items: Vec<&str> = lines.collect();
        (!topic.is_empty() && !items.is_empty()).then_some(Self { topic, items })
    }
}

/// The payloads that tell of these items, as few as hold them. An item must hold no line break and be far
/// shorter than a payload.
pub fn payloads(topic: &str, items: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    for item in items {
        match payloads.last_mut() {
            Some(last) if last.len() + 1 + item.len() <= MAX_BYTES => {
                last.push('\n');
                last.push_str(&item);
            }
            _ => payloads.push(format!("1 {topic}\n{item}")),
        }
    }
    payloads
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_message_of_this_version_is_none() {
        for payload in ["", "1", "1 names", "1 \nx", "2 names\nx", "names\nx", "\n\n"] {
            assert_eq!(Message::parse(payload), None, "{payload:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_item_arrives_once_in_order_and_no_payload_is_too_long(items in prop::collection::vec("[^\n]{1,400}", 0..60)) {
            let payloads = payloads("names", items.clone());
            prop_assert!(payloads.iter().all(|payload| payload.len() < 8_000));
            let heard: Vec<&str> = payloads.iter().flat_map(|payload| Message::parse(payload).unwrap().items).collect();
            prop_assert_eq!(heard, items);
        }
    }
}
