//! Headroom: how many more rows the ids of each table can number, so that nothing runs out unseen.
//!
//! The catalogue says which columns are fed by a sequence; nothing is listed by hand, so a table is
//! covered the day it appears. Measuring happens on a schedule in one task per process ([`Monitor`]);
//! requests and scrapes only read the last result. Nothing here counts rows, changes a sequence or
//! knows HTTP: the answer's status code is decided where the endpoint is.

mod catalogue;
mod defaults;
mod export;
mod health;
mod measure;
mod monitor;
mod project;
mod report;
pub mod samples;
mod sequence;
mod settings;
mod table;

pub use export::{Exporter, METRICS, zero_metrics};
pub use health::{Health, HealthStatus};
pub use measure::{MeasureError, measure};
pub use monitor::Monitor;
pub use project::{Rate, Sample, exhausted_at, rate};
pub use report::{Budget, Report, Status, TableHeadroom, TableRows, Unmeasured, UnmeasuredReason};
pub use sequence::{Capacity, IdRange, LimitedBy, SequenceDefinition, SequencePosition};
pub use settings::Settings;
pub use table::render_table;
