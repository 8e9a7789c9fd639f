//! The integration tests: one binary, so that it links once.

mod architecture;
mod catalogue;
mod cluster;
mod headroom;
mod support;
mod tenancy;
