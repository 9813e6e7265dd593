# Every target installs first what it needs and is missing: see scripts/setup.

.DEFAULT_GOAL := help
.PHONY: help demo build test test-postgres crash-test campaign campaign-long compose-test \
	campaign-core campaign-mutants campaign-peers bench bench-against bench-peers bench-http \
	bench-inbox bench-inbox-rotation profile asan tsan format fuzz docs test-inbox linearizable race \
	late packages packages-test traces-test registry-test debezium-test chart-test page-test \
	bench-search citus-test model model-traces bench-door bench-routes soak scale

# Arguments for the program: make demo ARGUMENTS="--messages 50000 --json"
ARGUMENTS ?=
# Suites for make compose-test; all of them by default.
SUITES ?=

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-21s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## A mock Kafka, a private PostgreSQL, workers killed and frozen, and the count at the end
	@scripts/setup build
	@scripts/configure release
	@cmake --build --preset release --target onceward onceward-lab
	build/release/onceward-lab demo $(ARGUMENTS)

build: ## The program: build/release/onceward
	@scripts/setup build
	@scripts/configure release
	@cmake --build --preset release --target onceward

test: ## Unit, integration, crash and tidy tests, and a smoke test in containers
	@scripts/setup test
	@scripts/setup compose || true
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@rm -f build/compose/not-run
	@ctest --preset release -L 'unit|integration|crash|tidy|compose'; status=$$?; \
	    cat build/compose/not-run 2>/dev/null; exit $$status

test-postgres: ## The core and conformance suites on PostgreSQL 14 to 18: VERSIONS="14.24.0 18.6.0"
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@VERSIONS='$(VERSIONS)' scripts/test-postgres

# Its tables of tests are distributed; no package has a Citus, so that nothing here starts one.
citus-test: ## Sinks' suite and 20 core seeds on a Citus of yours: DSN="host=127.0.0.1 port=..."
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target integration_sinks onceward-campaign-core
	@scripts/citus-test '$(DSN)' $(or $(SEEDS),20)

page-test: ## The admin port's page in headless Chromium, with faults; writes docs/images (npm)
	@scripts/setup page
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@tests/page/run

test-inbox: ## The inbox's packages in C++, Go, Java, Python and TypeScript: LANGUAGES="go java"
	@scripts/setup inbox
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@inbox/run-tests $(LANGUAGES)

linearizable: ## Histories of clients under kills, judged by Porcupine: OPERATIONS=1000000 (Go)
	@scripts/setup test
	@scripts/setup inbox
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward onceward-once-calls
	@OPERATIONS=$(or $(OPERATIONS),1000000) tests/linearizable/run $(ARGUMENTS)

race: ## All ways in race for the same keys, each killed at random: KEYS=10000 (Kafka, Go)
	@scripts/setup test
	@scripts/setup inbox
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward onceward-once-calls onceward-pqxx-calls
	@KEYS=$(or $(KEYS),10000) tests/linearizable/race $(ARGUMENTS)

late: ## Keys that come again after their retention, all ways, under kills: KEYS=1000 SECONDS=180
	@scripts/setup test
	@scripts/setup inbox
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward onceward-once-calls
	@KEYS='$(KEYS)' SECONDS_IN_ALL='$(SECONDS)' RETENTION='$(RETENTION)' tests/linearizable/late \
	    $(ARGUMENTS)

chart-test: ## The Helm chart and the plain manifests, against Kubernetes' schemas (Go, npm)
	@scripts/setup build
	@scripts/setup chart
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@tests/chart/run

crash-test: ## The long crash suite: 100 kills over 200,000 messages
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@ONCEWARD_CRASH_KILLS=100 ONCEWARD_CRASH_MESSAGES=200000 build/release/tests/crash_suite

# For make campaign: TIER=real|core|both|none, how many seeds and from which one on (for the core
# tier CORE_SEEDS), a bound in MINUTES, LANES side by side, and where the report goes; ADD: the JSON
# of runs before, told in the same report.
campaign: ## The fault campaign: SEEDS=200 FIRST_SEED=1 MINUTES=0 LANES=2 TIER=both JSON=FILE
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@build/release/tests/onceward-campaign --tier $(or $(TIER),both) --seeds $(or $(SEEDS),200) \
	    --core-seeds $(or $(CORE_SEEDS),2000) --first-seed $(or $(FIRST_SEED),1) \
	    --minutes $(or $(MINUTES),0) --lanes $(or $(LANES),2) \
	    --commit "$$(git describe --always --dirty 2>/dev/null)" \
	    $(if $(JSON),--json $(JSON)) $(if $(WRITE),--write $(WRITE)) \
	    $(addprefix --add ,$(ADD))

# FOLDER keeps what was done; LANES and SLICE: seeds side by side, and in one go.
campaign-long: ## Real seeds for hours, resumed where it ended: SEEDS=500 MINUTES=60 WRITE=FILE
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@SEEDS='$(SEEDS)' FIRST_SEED='$(FIRST_SEED)' MINUTES='$(MINUTES)' LANES='$(LANES)' \
	    SLICE='$(SLICE)' FOLDER='$(FOLDER)' WRITE='$(WRITE)' ADD='$(ADD)' scripts/campaign-long

compose-test: ## Suites in containers: restarts, a fail-over, a partition, scaling, an upgrade
	@scripts/setup test
	@scripts/setup compose
	@compose/run $(SUITES)

# ARGUMENTS: --seeds 3 --messages 20000 --consumer spring-batch --fault kill --json FILE
campaign-peers: ## The same faults and judge for Debezium's sink, spring-kafka, kcat | psql and us
	@scripts/setup peers
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@tests/peers/run $(ARGUMENTS)

campaign-core: ## The fault campaign's fast tier (SEEDS=2000 FIRST_SEED=1 MINUTES=0 JSON=FILE)
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward-campaign-core
	@build/release/tests/onceward-campaign-core --seeds $(or $(SEEDS),2000) \
		--first-seed $(or $(FIRST_SEED),1) --minutes $(or $(MINUTES),0) \
		--keep build/campaign $(if $(JSON),--json $(JSON))

campaign-mutants: ## Do campaign and tests notice when a guard is off? All must be caught
	@scripts/setup test
	@scripts/configure mutants -DONCEWARD_TESTS=ON
	@cmake --build --preset mutants --target onceward-campaign-core integration_dedup \
		integration_postgres integration_kafka integration_sinks unit_consumer unit_dedup
	@scripts/campaign-mutants

model: ## The protocol as TLA+, checked by TLC, and each mutant's counterexample (Java, Maven)
	@scripts/setup model
	@model/run $(ARGUMENTS)

# SEEDS: which; of these, two have a table ledger, two a log, one is of one process, one of one
# partition, and one fails over.
model-traces: ## Runs of the campaign's core tier, judged by the model: SEEDS="9 23 31 34 39 59"
	@scripts/setup model
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward-campaign-core
	@rm -rf build/model/seeds
	@for seed in $(or $(SEEDS),9 23 31 34 39 59); do \
	    build/release/tests/onceward-campaign-core --seeds 1 --first-seed $$seed --quiet \
	        --keep build/model/seeds --keep-all >build/model/seed.txt || exit 1; done
	@model/trace build/model/seeds/*/trace.jsonl

bench: ## What deduplication costs, row by row, against a real broker (ARGUMENTS='--row 1')
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward onceward-lab
	@scripts/bench --commit "$$(git describe --always --dirty 2>/dev/null)" $(ARGUMENTS)

# ARGUMENTS: --write docs/soak.md --picture docs/images/soak.svg
soak: ## A worker under a steady load: do memory, files and tables stay flat? MINUTES=100 RATE=45000
	@scripts/setup test
	@scripts/configure release
	@cmake --build --preset release --target onceward onceward-lab
	@MINUTES='$(MINUTES)' RATE='$(RATE)' FOLDER='$(FOLDER)' scripts/soak $(ARGUMENTS)

# ARGUMENTS: --write docs/scale.md, --messages 200000 --rounds 1 for a look
scale: ## 1 to 8 worker processes on one and two servers, and the model of docs/scale.md fitted
	@scripts/setup test
	@scripts/configure release
	@cmake --build --preset release --target onceward onceward-lab
	@scripts/scale $(ARGUMENTS)

bench-against: ## The worker in turn with that of another commit: COMMIT=0b51a0e
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward onceward-lab
	@scripts/bench-against '$(COMMIT)' $(ARGUMENTS)

bench-peers: ## Compared with Debezium, spring-kafka, kcat | psql (ARGUMENTS='--messages 1250000')
	@scripts/setup peers
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward onceward-lab
	@bench/peers/run $(ARGUMENTS)

# RATE, P99_MS, SECONDS_EACH and CONNECTIONS: see scripts/bench-http.
bench-http: ## The goals for a front door that runs: URL=... BODY='{"amount": 1}' (needs wrk)
	@scripts/bench-http '$(URL)' '$(or $(BODY),{})'

bench-door: ## The front door compared with a service in Go, row 20: ROUNDS=5 (wrk, Go)
	@scripts/setup door
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@scripts/bench-door

bench-routes: ## The front door with 100 routes in turn with one, row 24: ROUNDS=5 (wrk)
	@scripts/setup door
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@scripts/bench-routes

bench-inbox: ## What a claim by SQL costs, compared with INSERT .. ON CONFLICT: ROUNDS=5
	@scripts/setup build
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@scripts/bench-inbox

bench-inbox-rotation: ## What claims by SQL wait while generations are sealed and dropped: EVERY=2
	@scripts/setup build
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@scripts/bench-inbox-rotation

bench-search: ## How long one search for a key takes among CLAIMS=100000000 claims (11 GB of disk)
	@scripts/setup build
	@scripts/configure release
	@cmake --build --preset release --target onceward
	@CLAIMS='$(or $(CLAIMS),100000000)' scripts/bench-search

registry-test: ## Schema registries with a real Apicurio (159 MB from Maven, Java 21)
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward integration_registry
	@tests/registry/run $(ARGUMENTS)

debezium-test: ## A real Debezium, killed on the way: is the copy its source? (60 MB from Maven)
	@scripts/setup test
	@scripts/setup peers
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward integration_sinks
	@tests/debezium/run copy
	@tests/debezium/run sinks

traces-test: ## Traces with a real OpenTelemetry Collector in between (Go, 600 MB of modules)
	@scripts/setup test
	@scripts/setup inbox
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward integration_traces
	@tests/traces/run $(ARGUMENTS)

profile: ## A flame graph of a worker under load: build/profile/flamegraph.html
	@scripts/setup profile
	@scripts/configure profile
	@cmake --build --preset profile --target onceward onceward-lab
	@scripts/profile $(ARGUMENTS)

asan: ## Unit and PostgreSQL tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup test
	@scripts/configure asan-ubsan -DONCEWARD_TESTS=ON
	@cmake --build --preset asan-ubsan
	@ctest --preset asan-ubsan -L 'unit|integration'

tsan: ## Unit and PostgreSQL tests under ThreadSanitizer
	@scripts/setup test
	@scripts/configure tsan -DONCEWARD_TESTS=ON
	@cmake --build --preset tsan
	@ctest --preset tsan -L 'unit|integration'

fuzz: ## libFuzzer over every parser of foreign bytes: RUNS=2000000 for each target, with coverage
	@scripts/setup fuzz
	@scripts/configure fuzz
	@cmake --build --preset fuzz --target fuzzers
	@scripts/fuzz

# PARTS: debian archive languages sbom; TWICE=1: once more elsewhere, for the same bytes.
packages: ## What is released, for this Debian, into build/packages: PARTS="debian sbom" TWICE=1
	@scripts/setup packages
	@scripts/packages $(if $(TWICE),--twice) $(PARTS)

packages-test: ## The .deb built, installed, used, purged in bare roots: RELEASES="bookworm" (root)
	@scripts/packages-test $(RELEASES)

docs: ## The pages of docs/ as a site with search, its links checked: build/site/index.html
	@scripts/setup docs
	@scripts/docs

format: ## Format every C++ file (needs clang-format)
	git ls-files '*.h' '*.cc' | xargs clang-format -i
