//! What a path segment may hold, shared by domain paths and names. The characters refused here are those
//! that no request can carry in a path, or that clients rewrite before they ask (dot segments), so that an
//! accepted name can always be asked for. It does not decide lengths or reserved words.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Why a segment, or the text that holds it, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFault {
    /// A control character (Unicode category Cc).
    #[error("has the control character U+{0:04X}")]
    Control(u32),
    /// `?`, `#` or a backslash: never part of a path as clients send it.
    #[error("has {0:?}, which cannot be part of a path")]
    Forbidden(char),
    /// `.` or `..`, which clients resolve before they send the request.
    #[error("has the segment {0:?}, which clients remove before they ask")]
    Dots(String),
    /// Two slashes in a row, or one at the start.
    #[error("has an empty segment")]
    Empty,
}

/// Checks the characters of a whole path: controls, `?`, `#` and backslash.
pub(super) fn check_characters(text: &str) -> Result<(), SegmentFault> {
    for character in text.chars() {
        if character.is_control() {
            return Err(SegmentFault::Control(u32::from(character)));
        }
        if matches!(character, '?' | '#' | '\\') {
            return Err(SegmentFault::Forbidden(character));
        }
    }
    Ok(())
}

/// Checks one segment for emptiness and dots.
pub(super) fn check_segment(segment: &str) -> Result<(), SegmentFault> {
    match segment {
        "" => Err(SegmentFault::Empty),
        "." | ".." => Err(SegmentFault::Dots(segment.to_owned())),
        _ => Ok(()),
    }
}

/// Normalisation form C, without a copy where the text is already in it.
pub(super) fn nfc(text: String) -> String {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return text;
    }
    text.nfc().collect()
}
