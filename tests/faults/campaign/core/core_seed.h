#pragma once
// Runs one seed of the core tier: the product's processor, fences and ledger in threads, over a log
// in memory and a real PostgreSQL, with the plan's faults; then a quiet phase; then the checker.
// Several may run at once, each with servers of its own object.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/embedded/private_postgres.h"
#include "tests/support/postgres.h"

namespace onceward::campaign::core {

struct SeedResult {
    std::uint64_t seed = 0;
    std::map<std::string, std::int64_t> faults;  // that took effect, by kind
    std::map<std::string, std::int64_t> events;  // rotations, purges, wakes: no faults of their own
    std::int64_t messages = 0;
    std::int64_t keys = 0;
    std::int64_t duplicates = 0;
    std::int64_t kills = 0;
    std::int64_t lost = 0;
    std::int64_t twice = 0;
    std::vector<std::string> violations;
    double seconds = 0;
    std::map<std::string, double> phases;  // where the seconds went
    std::int64_t fault_count() const;
};

// The servers of one thread that runs seeds: the shared one, and one that may be killed, started
// when it is needed first. Belongs to the thread that made it, which the servers end with.
class CoreServers {
  public:
    explicit CoreServers(support::PostgresAddress shared) : shared_(std::move(shared)) {}
    const support::PostgresAddress& shared() const { return shared_; }
    PrivatePostgres& mortal();

  private:
    support::PostgresAddress shared_;
    std::optional<PrivatePostgres> mortal_;
};

// The settings that make locks and deadlocks show soon. `durable`: with fsync, for a server that is
// killed; the shared one never is, and its flushes would be most of a seed's time.
PrivatePostgresOptions core_server_options(bool durable);
support::PostgresAddress address_of(const PrivatePostgres& server);

struct CoreSeedOptions {
    // Plan, log and trace of a seed that failed go to `<keep>/seed-<n>/`; empty: they are not kept.
    std::filesystem::path keep;
    bool keep_all = false;  // also of those that did not fail
    // How long the faults may continue, and how long what is left may take then (I12).
    std::chrono::milliseconds fault_limit{20'000};
    std::chrono::milliseconds quiet_limit{30'000};
};

// What cannot be run at all (no server) is a std::runtime_error.
SeedResult run_core_seed(std::uint64_t seed, CoreServers& servers,
                         const CoreSeedOptions& options = {});

}  // namespace onceward::campaign::core
