#pragma once
// What one seed does: its messages, its workers, its faults and their times. Pure: the same seed
// gives the same plan on every machine; nothing here knows a broker or a server. Values.

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/step_observer.h"
#include "tests/faults/campaign/draws.h"
#include "tests/faults/campaign/fault_kind.h"

namespace onceward::campaign {

using std::chrono::milliseconds;

enum class PayloadFormat : std::uint8_t { json, protobuf, raw };
enum class KeyPlace : std::uint8_t { header, record_key, field };
enum class Policy : std::uint8_t { reject, derive, skip };
enum class Assignor : std::uint8_t { eager, cooperative, consumer_protocol };
// Which keys come again: any, a few hot ones, recent ones, or those of another partition in the
// opposite order.
enum class Repeats : std::uint8_t { any, hot, recent, mirrored };

// What there is outside of topics and the sinks' tables: a record in a topic for each effect, a
// call in its place, or requests to the workers' own front doors, in addition to the messages.
enum class Outside : std::uint8_t { nothing, outbox, webhook, http };

// What a seed is about besides its faults. Each has faults of its own (plan_trials.cc).
enum class Trial : std::uint8_t {
    nothing,
    schema_changes,  // somebody changes the sinks' tables under load
    own_codes,       // the sinks raise codes that are not PostgreSQL's own
    disk_full,
    restore,
    operators,  // somebody uses the commands
    trouble,    // of several topics one is in trouble
    clocks,        // of workers and of the server; they are set
    leader_moves,  // on three brokers, with producers that have open transactions
    group_errors,  // the broker answers the group protocol with error codes
    reach,      // ledgers reach one partition each, and partitions may be added
};

struct TopicPlan {
    int partitions = 1;
    PayloadFormat format = PayloadFormat::json;
    Policy on_missing = Policy::reject;  // of the key
    Policy tombstones = Policy::reject;  // reject or skip
    bool unnest = false;                 // how rows travel: COPY, or typed arrays
};

struct WorkloadPlan {
    std::vector<TopicPlan> topics;
    // All topics of one operation carry the same commands and share a ledger; else each is alone.
    bool one_operation = false;
    KeyPlace key = KeyPlace::header;
    Repeats repeats = Repeats::any;
    std::string key_prefix = "key-";  // a number follows
    int messages = 0;
    int portion = 0;  // messages handed to the producer at once
    // Shares of a thousand messages.
    int repeated = 0;
    int undecodable = 0;
    int refused = 0;  // by the table; each costs a batch its halving
    int keyless = 0;
    int tombstones = 0;
    // Shares of a hundred portions: sent in a transaction, and of these the aborted ones.
    int transactions = 0;
    int aborted = 0;
};

struct LedgerPlan {
    milliseconds retention{0};
    milliseconds rotate_after{0};
    int rotate_claims = 0;
    bool log = false;            // else a table
    bool per_partition = false;  // reach: partition
    // A table that becomes a log under load; its workers take either.
    bool converts = false;
};

struct FleetPlan {
    int processes = 1;
    int workers = 1;  // in each process
    Assignor assignor = Assignor::eager;
    bool static_members = false;
    int batch_messages = 500;
};

// The clients that send requests.
struct RequestPlan {
    int clients = 0;
    // Shares of a hundred: keys that several clients have at once, and requests with another body.
    int shared = 0;
    int other_bodies = 0;
};

struct FaultPlan {
    milliseconds at{0};
    FaultKind kind = FaultKind::kill_outside;
    milliseconds lasts{0};
    // Which worker, topic or partition, to be taken modulo how many there are by then.
    std::uint32_t target = 0;
    // Milliseconds of latency, bytes a second, the byte to cut at, how many commits, the step's
    // n-th time.
    std::uint32_t amount = 0;
    Step step = Step::before_begin;  // of the kinds at a step
};

struct Plan {
    std::uint64_t seed = 0;
    WorkloadPlan workload;
    LedgerPlan ledger;
    FleetPlan fleet;
    milliseconds fault_phase{0};
    std::vector<FaultPlan> faults;  // by time
    bool standby = false;           // PostgreSQL has one, to fail over to
    int brokers = 1;
    Outside outside = Outside::nothing;
    RequestPlan requests;
    Trial trial = Trial::nothing;
    // Whether a fence may go back, so that what it has passed must stay in the log.
    bool goes_back() const { return loses_commits() || trial == Trial::operators; }
    bool loses_commits() const { return standby || trial == Trial::restore; }
};

// Steps that a request comes by as well: it has no fence and no offset.
inline constexpr std::array<Step, 5> request_steps{Step::before_begin, Step::after_claims,
                                                   Step::after_sink, Step::before_commit,
                                                   Step::after_commit};

Plan draw_plan(std::uint64_t seed);
// "outbox" and so on; empty for nothing.
std::string_view name_of(Outside outside);
// "own_codes" and so on; empty for nothing.
std::string_view name_of(Trial trial);
// Adds a trial, or a fail-over to a seed with routes or calls. From a stream of its own: a seed
// that draws none of it is what it was before.
void draw_trial(Draws draws, Plan& plan);
// Has some logs merge their segments, and some tables become a log. From a stream of its own too.
void draw_store(Draws draws, Plan& plan);
// For people, one thing a line; the same plan gives the same text.
std::string to_text(const Plan& plan);

}  // namespace onceward::campaign
