//! The integration tests: one binary, so that it links once.

mod architecture;
mod catalogue;
mod cluster;
mod headroom;
mod process;
mod support;
mod tenancy;
