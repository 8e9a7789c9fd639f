# Two stages: cargo in the image of the pinned toolchain, then the binary alone on a slim system. No line needs BuildKit, and
# only the first stage downloads anything. Both images are Debian 12: the binary needs the C library it was linked with. It needs
# neither a shell nor any other program, so a runtime image without them will do.
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin resolute

FROM ${RUNTIME_IMAGE}
# What the certificate of a database is checked against.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /src/target/release/resolute /usr/local/bin/
# Numbers, because an orchestrator that refuses root cannot look up names. The server writes no file.
USER 10001:10001
# All addresses of the container; what is published is the operator's choice. A platform that sets PORT overrides it here, which
# it could not do with RESOLUTE__SERVER__LISTEN.
ENV PORT=8080 RESOLUTE__OPS__LISTEN=0.0.0.0:9464
EXPOSE 8080 9464
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s CMD ["resolute", "healthcheck"]
ENTRYPOINT ["resolute"]
CMD ["serve"]
