#pragma once
// What a seed of the core tier does: drawn from the seed alone, without I/O, so that the same seed
// gives the same plan on every machine. Plain values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/step_observer.h"

namespace onceward::campaign::core {

enum class FaultKind : std::uint8_t {
    cut,                        // the connection breaks at a step
    commit_cut_before,          // in doubt, rolled back
    commit_cut_inside_request,  // in doubt, rolled back
    commit_cut_after,           // in doubt, committed
    commit_cut_inside_answer,   // in doubt, committed
    cut_at_byte,                // the connection after this one breaks at its n-th byte
    terminated,                 // pg_terminate_backend
    killed,                     // SIGKILL at a step: nothing is said to the server but the end
    killed_left_open,           // the worker's machine is gone, its session stays open
    frozen,                     // SIGSTOP at a step, SIGCONT when another one has its partitions
    reassigned,                 // a partition goes to another worker in mid-batch
    stolen_fence,               // somebody takes the fence of a partition
    dropped_batch,              // a batch is lost inside the worker
    swallowed_in_sink,          // a sink swallows an error of its transaction
    swallowed_at_commit,        // the same just before COMMIT, which then rolls back
    passing_error,              // the sink's statement fails with `number`-th passing SQLSTATE
    lock_time_out,              // the sink's table is locked by somebody for too long
    server_killed,              // SIGKILL to all of PostgreSQL, and a restart
    failed_over,                // to a standby that lost the last commits
};
inline constexpr int fault_kinds = 19;
std::string_view to_text(FaultKind kind);
std::string_view to_text(Step step);

struct PlannedFault {
    FaultKind kind = FaultKind::cut;
    int worker = 0;  // of the server's faults: nobody's
    int batch = 0;   // at its n-th attempt at a transaction, or at the n-th of all workers
    Step step = Step::before_begin;
    std::uint64_t number = 0;  // what the kind makes of it: a byte, a partition, an SQLSTATE
};

// Codes that `passing_error` raises.
inline constexpr std::string_view passing_states[] = {"40001", "40P01", "55P03", "57014",
                                                      "53100", "53200", "57P01"};

enum class ServerKind : std::uint8_t {
    shared,      // one for all seeds
    mortal,      // killed and restarted
    replicated,  // with a standby
};
std::string_view to_text(ServerKind kind);

// The workers' ledger.
enum class LedgerKind : std::uint8_t {
    table,
    log,                 // each worker is a process of its own
    log_in_one_process,  // they share what is remembered
    log_of_partitions,   // a key never comes in two partitions
};
std::string_view to_text(LedgerKind kind);

struct Plan {
    std::uint64_t seed = 0;
    LedgerKind ledger = LedgerKind::table;
    ServerKind server = ServerKind::shared;
    int partitions = 1;
    int workers = 1;
    int messages = 0;           // of the first wave, in all partitions
    int second_wave = 0;        // messages that are produced when the first wave was passed
    int duplicate_percent = 0;  // messages whose key was sent before, in whatever partition
    int mirrored_percent = 0;   // runs of keys in two partitions, in opposite orders
    int nul_percent = 0;        // keys with a NUL inside
    int poison_per_10000 = 0;
    int rejected_per_10000 = 0;
    int skipped_per_10000 = 0;
    int gap_percent = 0;
    int future_percent = 0;  // record timestamps of 2099
    bool fingerprints = false;
    int batch_messages = 100;
    // The sink has statements for a transaction in one round trip. Batches are small then.
    bool at_once = false;
    // 0: one generation for all. Else generations rotate at about this size and are purged as soon
    // as everything that the log held is passed: a retention of nothing.
    int rotate_claims = 0;
    // The workers' table becomes a log, for which they have `store: auto`, when all of them have
    // tried so many transactions; 0: never. The first try is cut short at one of its steps.
    int converts_at = 0;
    // A partition that nobody owns until the others are read; -1: none.
    int unowned_partition = -1;
    std::vector<PlannedFault> faults;
};

Plan draw_plan(std::uint64_t seed);
std::string to_text(const Plan& plan);

}  // namespace onceward::campaign::core
