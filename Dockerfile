# syntax=docker/dockerfile:1
# Build with the pinned toolchain; run as nobody in particular on a slim system.
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin resolute

FROM ${RUNTIME_IMAGE}
# TLS to a database checks against the system's certificates.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin resolute
COPY --from=build /src/target/release/resolute /usr/local/bin/resolute
USER 10001
# All addresses of the container; what is published is the operator's choice. A platform's PORT sets the port.
ENV RESOLUTE__SERVER__LISTEN=0.0.0.0:8080 RESOLUTE__OPS__LISTEN=0.0.0.0:9464
EXPOSE 8080 9464
ENTRYPOINT ["resolute"]
CMD ["serve"]
