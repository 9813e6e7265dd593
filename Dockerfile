# The worker's image: built from source on Debian 12 or 13, run without root on a read-only root.
#
#   docker build -t onceward .
#   docker run --read-only -v FILE:/etc/onceward/onceward.yaml:ro onceward
#
# BASE: the Debian to build and run on. PROGRAM: an image that holds /program already, as
# compose/run makes one from build/release; the default builds it here. Nothing here needs BuildKit.
ARG BASE=debian:13-slim
ARG PROGRAM=build

FROM ${BASE} AS build
ARG PROGRAM
ARG REVISION=
# required: the build fails if npm cannot fetch what the admin port's page is made with. optional:
# the image has no page then.
ARG PAGE=required
# Packages, librdkafka and the page's JavaScript first: they change less often than the source.
COPY scripts/setup scripts/librdkafka scripts/debian-source.sh scripts/page /source/scripts/
COPY cli/page/vendor/package-lock.json cli/page/vendor/package.json /source/cli/page/vendor/
RUN [ "$PROGRAM" != build ] || ONCEWARD_PAGE="$PAGE" /source/scripts/setup build
COPY . /source
RUN [ "$PROGRAM" != build ] || { \
        cd /source && ONCEWARD_REVISION="$REVISION" make build && mkdir /program && \
        cp build/release/onceward /program/ && strip /program/onceward && \
        scripts/runtime-packages /program/onceward >/program/packages; }

FROM ${PROGRAM} AS program

FROM ${BASE}
# `docker build --build-arg VERSION=$(scripts/version) --build-arg REVISION=$(git rev-parse HEAD)`
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Onceward" \
    org.opencontainers.image.description="Kafka into PostgreSQL, each idempotency key once" \
    org.opencontainers.image.source="https://github.com/onceward/onceward" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
COPY --from=program /program/packages /usr/share/onceward/packages
# 65532: a number, so that an orchestrator can see that it is not root.
RUN apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        ca-certificates $(cat /usr/share/onceward/packages) && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --uid 65532 --user-group --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin onceward
COPY --from=program /program/onceward /usr/local/bin/onceward
# A library that is missing shows here, and not at the first start.
RUN onceward --version
# Whether its workers poll. The port is that of `admin.listen`, inside the container.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["onceward", "health", "-c", "/etc/onceward/onceward.yaml"]
USER 65532:65532
ENTRYPOINT ["onceward"]
CMD ["run", "-c", "/etc/onceward/onceward.yaml"]
