//! The record: what happened in a poll round, in a form that can be hashed and checked by others.
//!
//! Every event has one canonical text and one hash, which is already the leaf of an RFC 6962 tree. The
//! tree and signatures are not here.

pub mod canonical;
pub mod electorate;
pub mod event;
pub mod hash;
pub mod opening;
