# What people type. The work is in cargo and in scripts/.

# A development build starts sooner the first time (about two minutes on two cores); `make run RELEASE=1` is
# the build that deployments use.
ifdef RELEASE
profile := --release
binary := release/resolute
else
profile :=
binary := debug/resolute
endif
target := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help run test bench lint fmt ci sqlx-prepare clean-data
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

run: ## start a server here, with a demo tenant and its own PostgreSQL; Ctrl-C stops both
	@[ -n "$$DATABASE_URL" ] || scripts/install-postgres
	@cargo build $(profile) --bin resolute
	@exec $(target)/$(binary) serve --demo

test: ## run the whole suite
	@scripts/test

bench: ## measure every target on this machine; QUICK=1: each path once, in seconds
	@scripts/bench

lint: ## formatting, clippy and shellcheck, as CI demands
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	@if command -v shellcheck >/dev/null; then set -x; shellcheck scripts/* .ci/run; \
	else echo "shellcheck is not installed: scripts not checked"; fi

fmt: ## format the sources
	cargo fmt

sqlx-prepare: ## renew .sqlx/ after a change of queries or migrations
	@scripts/sqlx-prepare

ci: ## everything that CI runs
	@bash .ci/run

clean-data: ## delete the data of `make run`, with every name and vote in them
	@scripts/clean-data
