#pragma once
// How an operator moves a fence: first a plan that changes nothing, then the move, one row a
// transaction, under a new owner, so that a running worker loses the fence, takes it again and
// follows. Used by one thread.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/operator/broker_view.h"
#include "dedup/base/types.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct FencePosition {
    enum class Kind { offset, earliest, latest, time } kind = Kind::offset;
    Offset offset;
    std::chrono::milliseconds time{0};  // since 1970-01-01 UTC
};

// nullopt if it is none.
std::optional<FencePosition> position_of(const std::string& text);
// `option`: what the text was given for. Throws UsageError.
FencePosition parse_position(const std::string& text, const std::string& option = "--set");
// For CLI11's check(): the same, before any connection is made.
CLI::Validator position_check();

// `log` may be null if the position is an offset.
Offset resolve_position(BrokerView* log, const TopicPartition& partition,
                        const FencePosition& position);

// Such as `orders partition 3`.
std::string named(const TopicPartition& partition);

// Where the fence is; nullopt if there is none.
std::optional<Offset> fence_of(Connection& connection, const std::string& group,
                               const TopicPartition& partition);

struct FenceMovePlan {
    TopicPartition partition;
    std::optional<Offset> from;  // nullopt: there is no fence yet
    Offset to;
    bool adopt = false;  // the topic was recreated; the row becomes the new log's
    std::vector<std::string> warnings = {};
    // A rewind alone: why messages may be applied a second time. See forgotten_claims().
    std::vector<std::string> repeats = {};
};

// Returns why messages from that offset on may be applied a second time: a ledger may have dropped
// their claims, or the topic fed another one then. Empty if they are held. `only`: the ledger that
// is asked; without it any that the topic feeds. Without a `log` the age of a message is not known.
std::vector<std::string> forgotten_claims(Connection& connection, BrokerView* log,
                                          const std::string& group, const TopicPartition& partition,
                                          Offset from, const std::optional<std::string>& only);

// `log` may be null if the position is an offset; the log's range is then not checked.
FenceMovePlan plan_move(Connection& connection, BrokerView* log, const std::string& group,
                        const TopicPartition& partition, const FencePosition& position, bool adopt);

enum class MoveOutcome : std::uint8_t { moved, would_repeat };

// Sets plan.from to where the fence was in the end: a worker may have moved it since the plan was
// made. Writes the move and its reason into fence_moves, in the same transaction. Claims may have
// expired since the plan as well: `would_repeat` means that this is a rewind that needs them, that
// nothing was changed, and that plan.repeats says why. `may_repeat`: moves it all the same. Throws
// CommandError if claims expire each time that the log was asked.
MoveOutcome move_fence(Connection& connection, BrokerView* log, const std::string& group,
                       FenceMovePlan& plan, const std::string& reason, bool may_repeat);

// The fence's offset before, nullopt if there was none, and whether it was moved.
struct SkipOutcome {
    std::optional<Offset> fence;
    bool done = false;
};

// Moves the fence from `begin` to `end` under a new owner and records the range and the move with
// the reason, in one transaction; does nothing if the fence has another offset. `end` == `begin`:
// only the owner changes, so that a worker that halted there tries again.
SkipOutcome skip_range(Connection& connection, const std::string& group,
                       const TopicPartition& partition, Offset begin, Offset end,
                       const std::string& reason);

}  // namespace onceward
