//! One row of the route table: what the tests walk to prove, for every route, who may call it.

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// Any key of the tenant.
    Read,
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
    /// The ballot token of a participant.
    BallotToken,
    /// A key of the tenant, or a ballot token.
    ReadOrBallotToken,
}

/// A route as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// HTTP method.
    pub method: &'static str,
    /// Path template.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
}

impl Route {
    /// A row of the table.
    pub const fn new(method: &'static str, path: &'static str, access: Access) -> Self {
        Self { method, path, access }
    }
}
