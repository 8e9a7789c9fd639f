//! The integration tests: one binary, so that it links once.

mod architecture;
mod bench_report;
mod catalogue;
mod census;
mod cluster;
mod container;
mod contracts;
mod documentation;
mod durability;
mod headroom;
mod hostile;
mod jobs;
mod limits;
mod listening;
mod listings;
mod loadtest;
mod openapi;
mod outage;
mod plans;
mod process;
mod purl;
mod quotas;
mod routes;
mod support;
mod tenancy;
mod voting;
