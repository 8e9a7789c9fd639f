//! One row of the route table: what the tests walk to prove, for every route, who may call it, and what the
//! document of the API is made of.

use super::auth::Scope;
use super::describe::{Answer, Body, Parameter, Schema};
use super::problem::ProblemCode;

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// Any key of the tenant.
    Read,
    /// admin, editor, reader.
    Observe,
    /// admin, editor.
    Edit,
    /// admin, editor, minter.
    Mint,
    /// admin, editor, moderator.
    Tombstone,
    /// admin.
    Administer,
    /// operator.
    Operate,
    /// admin and editor for their own, operator for the top level.
    EditOrOperate,
    /// admin for its own, operator for all.
    AdministerOrOperate,
    /// The ballot token of a participant.
    BallotToken,
    /// admin, editor, reader, or a ballot token.
    ObserveOrBallotToken,
}

impl Access {
    /// The scopes of the API keys that may call it.
    pub const fn scopes(self) -> &'static [Scope] {
        use Scope::{Admin, Editor, Minter, Moderator, Operator, Reader};
        match self {
            Self::Public | Self::BallotToken => &[],
            Self::Read => &[Admin, Editor, Minter, Moderator, Reader],
            Self::Observe | Self::ObserveOrBallotToken => &[Admin, Editor, Reader],
            Self::Edit => &[Admin, Editor],
            Self::Mint => &[Admin, Editor, Minter],
            Self::Tombstone => &[Admin, Editor, Moderator],
            Self::Administer => &[Admin],
            Self::Operate => &[Operator],
            Self::EditOrOperate => &[Admin, Editor, Operator],
            Self::AdministerOrOperate => &[Admin, Operator],
        }
    }

    /// Whether a ballot token may call it.
    pub const fn takes_ballot_tokens(self) -> bool {
        matches!(self, Self::BallotToken | Self::ObserveOrBallotToken)
    }
}

/// A route as it is registered, and as it is described.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// HTTP method.
    pub method: &'static str,
    /// Path template.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// The heading it stands under.
    pub tag: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What else there is to know; may be empty.
    pub help: &'static str,
    /// Parameters of query and head, and those of the path that are not the usual ones.
    pub parameters: &'static [Parameter],
    /// The body it reads.
    pub body: Body,
    /// Its answers that are no problems.
    pub answers: &'static [Answer],
    /// Its own problems, beside those that follow from the rest.
    pub problems: &'static [&'static ProblemCode],
}

impl Route {
    /// A row of the table, not described yet.
    pub const fn new(method: &'static str, path: &'static str, access: Access) -> Self {
        Self {
            method,
            path,
            access,
            tag: "",
            summary: "",
            help: "",
            parameters: &[],
            body: Body::None,
            answers: &[],
            problems: &[],
        }
    }

    /// Its heading and what it does.
    #[must_use]
    pub const fn about(mut self, tag: &'static str, summary: &'static str) -> Self {
        self.tag = tag;
        self.summary = summary;
        self
    }

    /// What else there is to know.
    #[must_use]
    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// It takes these parameters.
    #[must_use]
    pub const fn parameters(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    /// It needs this body.
    #[must_use]
    pub const fn body(mut self, schema: Schema) -> Self {
        self.body = Body::Required(schema);
        self
    }

    /// It takes this body, or none.
    #[must_use]
    pub const fn optional_body(mut self, schema: Schema) -> Self {
        self.body = Body::Optional(schema);
        self
    }

    /// It gives these answers.
    #[must_use]
    pub const fn answers(mut self, answers: &'static [Answer]) -> Self {
        self.answers = answers;
        self
    }

    /// It has these problems of its own.
    #[must_use]
    pub const fn problems(mut self, problems: &'static [&'static ProblemCode]) -> Self {
        self.problems = problems;
        self
    }
}
