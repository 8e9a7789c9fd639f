//! Problem codes of this feature.

use crate::http::ProblemCode;

/// 409 on making a name.
pub const NAME_TAKEN: ProblemCode = ProblemCode {
    code: "name_taken",
    status: 409,
    title: "The name exists",
    help: "A name is made once. If it was withdrawn, it stays a tombstone: a name is never free again.",
};
/// 409 on changing a tombstone.
pub const NAME_WITHDRAWN: ProblemCode = ProblemCode {
    code: "name_withdrawn",
    status: 409,
    title: "The name was withdrawn",
    help: "A tombstone cannot be changed or withdrawn again. Its owner can restore it, by a POST to its history.",
};
/// 409 on making a name that could not be reached.
pub const NAME_SWALLOWED: ProblemCode = ProblemCode {
    code: "name_swallowed",
    status: 409,
    title: "Another domain answers for this path",
    help: "A deeper domain covers the path of this name, so it would never be asked. Make the name in that domain.",
};
/// 409 on making a domain.
pub const DOMAIN_TAKEN: ProblemCode = ProblemCode {
    code: "domain_taken",
    status: 409,
    title: "The domain exists",
    help: "Domain paths are unique over the whole service.",
};
/// 409 on making a domain that hides names.
pub const DOMAIN_SHADOWS: ProblemCode = ProblemCode {
    code: "domain_shadows",
    status: 409,
    title: "The domain would hide names of the domain above",
    help: "`names` lists some of the names that would no longer be reached. Send `\"shadow\": true` if that is meant.",
};
/// 410 of a tombstone.
pub const WITHDRAWN: ProblemCode = ProblemCode {
    code: "withdrawn",
    status: 410,
    title: "This name was withdrawn",
    help: "The owner withdrew the name. `reason`, `successor` and `last_target` say what is known.",
};
/// 410 of an expired name.
pub const EXPIRED: ProblemCode = ProblemCode {
    code: "expired",
    status: 410,
    title: "This name has expired",
    help: "The name was given until `valid_until`. Its owner can renew it.",
};
/// 404 of a name that its owner has switched off.
pub const TEMPORARILY_GONE: ProblemCode = ProblemCode {
    code: "temporarily_gone",
    status: 404,
    title: "This name answers nothing for now",
    help: "The name exists; its owner has set it to answer 404.",
};

/// 403 of a rule.
pub const RULE_FORBIDS: ProblemCode = ProblemCode {
    code: "refused_by_rule",
    status: 403,
    title: "A rule of this domain refuses the request",
    help: "The owner of the domain has set the path to answer 403.",
};
/// 406 of a rule.
pub const NOT_ACCEPTABLE: ProblemCode = ProblemCode {
    code: "not_acceptable",
    status: 406,
    title: "Nothing here is of a type that the request accepts",
    help: "A rule of the domain answers 406 to this Accept. Ask for another media type.",
};
/// 410 of a rule.
pub const RULE_GONE: ProblemCode = ProblemCode {
    code: "gone_by_rule",
    status: 410,
    title: "This path is gone",
    help: "The owner of the domain has set the path to answer 410.",
};
/// 400 of a rule.
pub const RULE_BAD_REQUEST: ProblemCode = ProblemCode {
    code: "bad_request_by_rule",
    status: 400,
    title: "A rule of this domain calls the request wrong",
    help: "The owner of the domain has set the path to answer 400.",
};
/// 508 of rules.
pub const RULES_GO_ROUND: ProblemCode = ProblemCode {
    code: "rules_go_round",
    status: 508,
    title: "The rules lead from path to path without an end",
    help: "A request begins again at most ten times. Tell the owner of the domain.",
};
/// 409 on a change of rules or checks.
pub const CHECKS_BROKEN: ProblemCode = ProblemCode {
    code: "checks_broken",
    status: 409,
    title: "Stated answers would not be given",
    help: "`broken_checks` lists them: whose check it is, what it states, and what would be answered. Nothing was changed.",
};

/// All of them.
pub const ALL: &[&ProblemCode] = &[
    &NAME_TAKEN,
    &NAME_WITHDRAWN,
    &NAME_SWALLOWED,
    &DOMAIN_TAKEN,
    &DOMAIN_SHADOWS,
    &WITHDRAWN,
    &EXPIRED,
    &TEMPORARILY_GONE,
    &RULE_FORBIDS,
    &NOT_ACCEPTABLE,
    &RULE_GONE,
    &RULE_BAD_REQUEST,
    &RULES_GO_ROUND,
    &CHECKS_BROKEN,
];
