//! Imports of names from files, for the command line: every line of a file is staged and checked before
//! anything is merged, and every line is reported. Formats other than CSV are no part of it yet.

mod chunk;
pub mod csv;
pub mod report;
pub mod run;
pub mod sheet;
pub mod staging;
pub mod statements;
pub mod survey;
