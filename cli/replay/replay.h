#pragma once
// Reads ranges of a topic again and processes them with the topic's own intake, ledger and sink,
// while the group's workers run. It joins no group, commits no offset and moves none of the group's
// fences: it has fences of its own, under a name that no Kafka group has, and its transactions move
// them as a worker's do. So a COMMIT in doubt is decided by taking them again, an interrupted
// replay continues where it ended, and two runs of one never apply the same message twice. Used by
// one thread; throws PostgresError, KafkaError, SinkMismatch, TopicHalted, std::invalid_argument
// for a sink with effects outside PostgreSQL, and std::runtime_error if another run takes it over.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "consumer/kafka/kafka_source.h"
#include "consumer/writing/worker_options.h"
#include "dedup/message/message.h"

namespace onceward {

struct ReplayRange {
    Partition partition;
    Offset begin;
    Offset end;  // exclusive
    friend bool operator==(const ReplayRange&, const ReplayRange&) = default;
};

// [{"partition", "begin", "end"}]
nlohmann::json ranges_json(const std::vector<ReplayRange>& ranges);

// Which part of the request can be replayed, and why that may be less than was requested. Pure.
struct ReplayPlan {
    ReplayRange range;  // empty if nothing can be
    std::vector<std::string> notes;
};
// `fence`: the group's. What it has not passed is left to the workers.
ReplayPlan plan_replay(const ReplayRange& wanted, const LogRange& log, Offset fence);

// What distinguishes one replay from another: a request with the same words continues the replay
// that has not finished.
struct ReplayRequest {
    std::string group;
    std::string topic;
    std::string description;
    std::string reason;
    std::vector<ReplayRange> ranges;
    bool dedup = true;  // false: nothing is claimed or checked, and all is applied again
};

struct KnownReplay {
    std::int64_t number = 0;
    bool finished = false;
    std::vector<ReplayRange> ranges;
    std::string started_by;
    std::string at;             // when it finished, or began
    std::int64_t applied = 0;   // once it has finished
    std::string ended_by = {};  // who ended it before it had read everything; else ''
};
// The group's name of its fences: 'GROUP replay N'.
std::string fences_of(const std::string& group, const KnownReplay& replay);
// The last one with these words; nullopt if there is none.
std::optional<KnownReplay> find_replay(Connection& connection, const ReplayRequest& request);
// Records it with its fences, unless it exists and has not finished; returns whether it did. Then
// find_replay() has it, and until it ends no claim expires in a ledger that its topic feeds, unless
// it goes past dedup. The caller has to check after this call what expired before it.
bool begin_replay(Connection& connection, const ReplayRequest& request);
// Ends it where it stands. A run that still continues finds its fences gone, and throws.
void end_replay(Connection& connection, const ReplayRequest& request, const KnownReplay& replay);

struct ReplayOptions {
    std::string group;
    WorkerOptions worker;  // as of a worker; its topics are only this one
    LogIdentity identity;  // of the topic, by the brokers
    bool dedup = true;
    std::string actor = {};  // for the audit log
    std::function<bool()> stopped;
    // After each batch: what became of the messages of this run, and how many offsets of the ranges
    // it has passed, together with those of earlier runs.
    std::function<void(const Totals&, std::int64_t offsets)> progress;
};

struct ReplayReport {
    Totals totals;  // of all runs
    bool finished = false;
};

ReplayReport run_replay(const KnownReplay& replay, const ReplayOptions& options);

}  // namespace onceward
