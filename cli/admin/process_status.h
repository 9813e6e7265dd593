#pragma once
// What the admin port reports about a process: one moment of its workers. Plain values.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/databases.h"
#include "consumer/registry/schema_cache.h"
#include "consumer/relay/relay.h"
#include "consumer/worker.h"
#include "dedup/retention/ledger_view.h"
#include "dedup/retention/retention.h"
#include "dedup/trace/tracer.h"
#include "gateway/http/server.h"
#include "gateway/requests/route_traffic.h"

namespace onceward {

struct WorkerState {
    int number = 0;
    // nullopt while a worker that ended is about to be restarted.
    std::optional<Worker::Status> status;
    std::string ended;                        // why
    std::string database = default_database;  // the name of its PostgreSQL server
};

// Rows of the group's outbox.
struct OutboxTotals {
    std::int64_t waiting = 0;
    std::int64_t oldest_seconds = 0;
};

// A topic's dead letters that nobody has dealt with, counted up to 100,000 of the group.
struct OpenLetters {
    std::int64_t letters = 0;
    std::int64_t oldest_seconds = 0;
    std::map<std::string, std::int64_t> by_class{};
};

// The group's totals by topic, as the fences' rows held them at a time, and its ledgers.
struct DurableTotals {
    std::map<std::string, Totals> topics;
    std::chrono::system_clock::time_point read_at{};
    std::vector<LedgerView> ledgers{};
    OutboxTotals outbox{};
    // By topic; nullopt while they could not be counted in time.
    std::optional<std::map<std::string, OpenLetters>> open_letters{};
    // By ledger: the oldest holder of its retention, if something holds it back for long.
    std::map<std::string, RetentionHolder> holders{};
};

// What the process does for the ledgers of one PostgreSQL server.
struct RetentionState {
    std::string database = default_database;
    RetentionCounts counts;
    // Bytes of the server's claims that the process has in memory, and the most that it may have.
    std::size_t claims_bytes = 0;
    std::size_t claims_limit = 0;
};

// What it does for that server's outbox, if some topic has one.
struct RelayState {
    std::string database = default_database;
    RelayCounts counts;
};

// The state of those routes of a process that keep keys.
struct FrontDoorState {
    std::string postgres_failure;  // empty while their PostgreSQL answers
    // By route to a sink: how many of its transactions ran into statement_timeout.
    std::map<std::string, std::int64_t> timed_out = {};
};

// How often the process was asked to reload its configuration, and what became of that.
struct ReloadState {
    std::int64_t applied = 0;
    std::int64_t unchanged = 0;  // there was nothing to apply
    std::int64_t refused = 0;
    bool under_way = false;
    std::optional<std::chrono::system_clock::time_point> last_success;  // applied or unchanged
    std::string refusal = {};  // why the last one was refused; '' unless it was
};

struct ProcessStatus {
    std::string group;
    bool draining = false;
    std::vector<WorkerState> workers;
    // The counts of workers that have ended: the process's counters must never fall.
    WorkerCounts of_ended_workers;
    std::chrono::system_clock::time_point started{};
    // nullopt if nobody asked for them, or PostgreSQL never answered.
    std::optional<DurableTotals> durable;
    std::vector<RetentionState> retention;
    std::vector<RelayState> relays;
    std::vector<RouteTraffic> routes;                    // of the front door, where there is one
    std::optional<FrontDoorState> front_door;            // nullopt if no route keeps keys
    std::optional<ServerCounts> server;                  // of the front door
    std::map<std::string, std::int64_t> upstream_calls;  // under way, by the route
    std::vector<RegistryCounts> registries;
    std::optional<TraceCounts> traces;                   // nullopt if they are off
    std::optional<std::int64_t> resident_bytes;          // nullopt if the system does not say
    std::optional<std::int64_t> memory_budget;           // nullopt if there is none
    std::optional<ReloadState> reload;                   // nullopt if it cannot reload
};

}  // namespace onceward
