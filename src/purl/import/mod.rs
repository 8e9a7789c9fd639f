//! Imports from files, for the command line. Names, from CSV, JSON Lines or PURLz' XML: every line of a file is staged and checked before
//! anything is merged, and every line is reported. Rules, from OBO files: all at once; from `.htaccess` files: each directory whole.

mod chunk;
pub mod columns;
pub mod csv;
pub mod error;
pub mod htaccess;
pub mod jsonl;
mod merge;
pub mod merge_statements;
pub mod obo;
mod places;
pub mod purlz;
pub mod report;
pub mod rule_files;
pub mod run;
pub mod sheet;
pub mod source;
pub mod staging;
pub mod statements;
pub mod survey;
mod xml_text;
