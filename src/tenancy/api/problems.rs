//! Problem codes of this feature.

use crate::http::ProblemCode;

/// 409.
pub const SLUG_TAKEN: ProblemCode = ProblemCode {
    code: "slug_taken",
    status: 409,
    title: "The slug is taken",
    help: "Another tenant has this slug. A slug is never freed.",
};

/// All of them.
pub const ALL: &[&ProblemCode] = &[&SLUG_TAKEN];
