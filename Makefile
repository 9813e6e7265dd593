# Every target installs first what it needs and is missing: see scripts/setup.

.DEFAULT_GOAL := help
.PHONY: help demo build test crash-test bench asan tsan format

# Arguments for the program: make demo ARGUMENTS="--messages 50000 --json"
ARGUMENTS ?=

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## A private Kafka and PostgreSQL, workers killed and frozen, and the count at the end
	build/release/onceward demo $(ARGUMENTS)

build: ## The program: build/release/onceward
	@scripts/setup build
	@scripts/configure release
	@cmake --build --preset release --target onceward

test: ## Unit, integration, crash and tidy tests
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@ctest --preset release -L 'unit|integration|crash|tidy'

crash-test: ## The long crash suite: 100 kills over 200,000 messages
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release
	@ONCEWARD_CRASH_KILLS=100 ONCEWARD_CRASH_MESSAGES=200000 build/release/tests/crash_suite

bench: ## Messages a second, with and without deduplication, against a real broker
	@scripts/setup test
	@scripts/configure release -DONCEWARD_TESTS=ON
	@cmake --build --preset release --target onceward
	@scripts/bench $(ARGUMENTS)

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

format: ## Format every C++ file (needs clang-format)
	git ls-files '*.h' '*.cc' | xargs clang-format -i
