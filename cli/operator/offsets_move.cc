#include "cli/operator/offsets_move.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "cli/operator/operator_options.h"
#include "cli/operator/time_option.h"
#include "consumer/kafka/kafka_error.h"
#include "dedup/base/text.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

const std::string position_forms = std::string("an offset, earliest, latest, ") + moment_forms;

Parameters key_of(const std::string& group, const TopicPartition& partition) {
    return Parameters{group, partition.topic, partition.partition.raw()};
}

// In the transaction that moves the fence. The role and the time are the server's.
void write_down(Transaction& transaction, const Parameters& key, const FenceMovePlan& plan,
                const std::string& reason) {
    const auto from =
        plan.from ? std::optional<std::int64_t>(plan.from->raw()) : std::optional<std::int64_t>();
    transaction.query(sql::offsets_moved, Parameters(key)
                                              .optional_integer(from)
                                              .integer(plan.to.raw())
                                              .boolean(plan.adopt)
                                              .text(reason));
}

// Whether every record from there on was written after the ledger's oldest claims began, so that
// its claim is still held. Judged by the records' times: no ledger records it by offsets, since a
// rewind or a replay claims old ones late.
bool remembered(BrokerView* log, const TopicPartition& partition, Offset from,
                std::chrono::milliseconds began) try {
    return log != nullptr && from >= log->offset_at(partition, began);
} catch (const KafkaError&) {
    return false;
}

// What a ledger that the topic feeds, or fed, holds.
struct LedgerMemory {
    std::string ledger;
    std::string retention;
    std::string since;                // when its oldest claims began, for people
    std::chrono::milliseconds began;  // the same, since 1970-01-01 UTC
    bool has_dropped = false;         // it may have dropped older ones
    bool of_leases = false;
    bool retired = false;  // as a feed, since `began`: the topic's workers no longer ask it
};

std::vector<LedgerMemory> memories_of(Connection& connection, const std::string& group,
                                      const std::string& topic) {
    std::vector<LedgerMemory> memories;
    const QueryResult rows = connection.query(sql::offsets_ledgers, Parameters{group, topic});
    for (int row = 0; row < rows.rows(); ++row) {
        memories.push_back({.ledger = std::string(rows.text(row, 0)),
                            .retention = std::string(rows.text(row, 1)),
                            .since = std::string(rows.text(row, 2)),
                            .began = std::chrono::milliseconds(rows.integer(row, 3)),
                            .has_dropped = rows.boolean(row, 4),
                            .of_leases = rows.boolean(row, 5),
                            .retired = rows.boolean(row, 6)});
    }
    return memories;
}

std::string no_ledger(const std::optional<std::string>& only) {
    return "this topic feeds no ledger " + (only ? *only + " " : std::string()) +
           "here: what was applied before may be applied a SECOND time";
}

// A topic has one ledger at a time: if it feeds more, it was moved from one to another, and its
// workers do not ask the one that it had before.
std::string moved_between(const std::string& ledgers) {
    return "the topic feeds " + ledgers +
           ": what was applied while its claims went to another ledger than now would be applied a "
           "SECOND time; `onceward groups retire --topic --ledger` retires the feed that its "
           "workers have left";
}

std::string forgotten_in(const LedgerMemory& memory) {
    if (memory.retired) {
        return "the topic fed ledger " + memory.ledger + " until " + memory.since +
               "; what was applied before that would be applied a SECOND time";
    }
    return "ledger " + memory.ledger + " remembers claims since " + memory.since +
           " (its retention is " + memory.retention +
           "); what was applied before that would be applied a SECOND time";
}

// As forgotten_claims(), of these ledgers.
std::vector<std::string> forgotten_by(const std::vector<LedgerMemory>& memories, BrokerView* log,
                                      const TopicPartition& partition, Offset from,
                                      const std::optional<std::string>& only) {
    std::vector<std::string> warnings;
    std::string in_use;
    bool is_fed = false;
    bool feeds_others = false;
    for (const LedgerMemory& memory : memories) {
        if (!memory.retired) {
            feeds_others = feeds_others || is_fed || (only && memory.ledger != *only);
            is_fed = is_fed || !only || memory.ledger == *only;
            in_use += (in_use.empty() ? "ledger " : " and ledger ") + memory.ledger;
            if (only && memory.ledger != *only) continue;
        }
        if (!memory.has_dropped || remembered(log, partition, from, memory.began)) continue;
        warnings.push_back(forgotten_in(memory));
    }
    if (feeds_others) warnings.push_back(moved_between(in_use));
    if (!is_fed) warnings.push_back(no_ledger(only));
    return warnings;
}

// What the log said about a rewind.
struct AskedLog {
    std::vector<std::string> repeats;
    // By ledger, of those that may have dropped claims: when the oldest of them may have begun at
    // the latest. If they began later, `repeats` is no longer true.
    std::map<std::string, std::chrono::milliseconds> latest;
    std::size_t feeds = 0;  // that the topic had
};

// Leases end while the log is asked and while the locks are waited for.
constexpr std::chrono::seconds lease_margin{10};
constexpr int most_rounds = 5;

AskedLog ask_log(Connection& connection, BrokerView* log, const std::string& group,
                 const FenceMovePlan& plan) {
    AskedLog asked;
    std::vector<LedgerMemory> memories = memories_of(connection, group, plan.partition.topic);
    for (LedgerMemory& memory : memories) {
        if (memory.of_leases) memory.began += lease_margin;
        if (memory.has_dropped) asked.latest[memory.ledger] = memory.began;
    }
    asked.feeds = memories.size();
    asked.repeats = forgotten_by(memories, log, plan.partition, plan.to, std::nullopt);
    return asked;
}

// Whether the ledgers still hold what they held when the log was asked.
bool still_held(const AskedLog& asked, const std::vector<LedgerMemory>& memories) {
    const auto held = [&](const LedgerMemory& memory) {
        const auto known = asked.latest.find(memory.ledger);
        return !memory.has_dropped ||
               (known != asked.latest.end() && memory.began <= known->second);
    };
    return memories.size() == asked.feeds && std::ranges::all_of(memories, held);
}

// As move_fence(). nullopt: it is a rewind for which the log has to be asked, for the first time or
// again. Nothing was changed then.
std::optional<MoveOutcome> try_move(Connection& connection, const std::string& group,
                                    FenceMovePlan& plan, const std::string& reason, bool may_repeat,
                                    const std::optional<AskedLog>& asked) {
    const Parameters key = key_of(group, plan.partition);
    OwnedTransaction transaction(connection);
    const QueryResult held = transaction.query(sql::offsets_hold, key);
    if (held.rows() == 0) {
        transaction.query(sql::offsets_create, Parameters(key).integer(plan.to.raw()));
        plan.from.reset();
    } else {
        plan.from = Offset{held.integer(0, 0)};
        const bool back = !plan.adopt && plan.to < *plan.from;
        if (back && !may_repeat) {
            if (!asked) return std::nullopt;
            plan.repeats = asked->repeats;
            if (!plan.repeats.empty()) return MoveOutcome::would_repeat;
            // DANGER: without these locks an expiry would drop claims between this check and the
            // COMMIT, and their messages would be applied a second time.
            transaction.query(sql::claims_lock_of_topic, Parameters{group, plan.partition.topic});
            const auto memories = memories_of(connection, group, plan.partition.topic);
            if (!still_held(*asked, memories)) return std::nullopt;
        }
        transaction.query(sql::offsets_move,
                          Parameters(key).integer(plan.to.raw()).boolean(plan.adopt));
        if (back) {
            transaction.query(sql::dead_letters_reread, Parameters(key).integer(plan.to.raw()));
        }
        if (!plan.adopt && plan.to > *plan.from) {
            transaction.query(
                sql::offsets_skip,
                Parameters(key).integer(plan.from->raw()).integer(plan.to.raw()).text(reason));
        }
    }
    write_down(transaction, key, plan, reason);
    transaction.commit();
    return MoveOutcome::moved;
}

}  // namespace

std::vector<std::string> forgotten_claims(Connection& connection, BrokerView* log,
                                          const std::string& group, const TopicPartition& partition,
                                          Offset from, const std::optional<std::string>& only) {
    return forgotten_by(memories_of(connection, group, partition.topic), log, partition, from,
                        only);
}

Offset resolve_position(BrokerView* log, const TopicPartition& partition,
                        const FencePosition& position) {
    switch (position.kind) {
        case FencePosition::Kind::offset: return position.offset;
        case FencePosition::Kind::earliest: return log->range(partition).earliest;
        case FencePosition::Kind::latest: return log->range(partition).latest;
        case FencePosition::Kind::time: return log->offset_at(partition, position.time);
    }
    std::abort();
}

std::string named(const TopicPartition& partition) {
    return partition.topic + " partition " + std::to_string(partition.partition.raw());
}

std::optional<Offset> fence_of(Connection& connection, const std::string& group,
                               const TopicPartition& partition) {
    const QueryResult row = connection.query(sql::offsets_list, key_of(group, partition));
    return row.rows() == 0 ? std::nullopt : std::optional(Offset{row.integer(0, 2)});
}

std::optional<FencePosition> position_of(const std::string& text) {
    FencePosition position;
    if (text == "earliest" || text == "latest") {
        position.kind =
            text == "latest" ? FencePosition::Kind::latest : FencePosition::Kind::earliest;
        return position;
    }
    if (const auto offset = number_of<std::int64_t>(text); offset && *offset >= 0) {
        position.offset = Offset{*offset};
        return position;
    }
    const auto time = parse_moment(text, since_1970<std::chrono::milliseconds>());
    if (!time) return std::nullopt;
    position.kind = FencePosition::Kind::time;
    position.time = *time;
    return position;
}

FencePosition parse_position(const std::string& text, const std::string& option) {
    if (const auto known = position_of(text)) return *known;
    throw UsageError(option + " " + not_taken(position_forms, text));
}

CLI::Validator position_check() {
    return CLI::Validator(
        [](const std::string& text) {
            return position_of(text) ? std::string() : not_taken(position_forms, text);
        },
        "");
}

FenceMovePlan plan_move(Connection& connection, BrokerView* log, const std::string& group,
                        const TopicPartition& partition, const FencePosition& position,
                        bool adopt) {
    // The log is asked before any row is locked.
    FenceMovePlan plan{partition, std::nullopt, resolve_position(log, partition, position), adopt};
    plan.from = fence_of(connection, group, partition);
    if (adopt && !plan.from) throw UsageError("there is no fence that could adopt another log");
    if (!adopt && (!plan.from || plan.to < *plan.from)) {
        // Without a fence it is not known whether the messages were ever read.
        (plan.from ? plan.repeats : plan.warnings) =
            forgotten_claims(connection, log, group, partition, plan.to, std::nullopt);
    }
    if (log == nullptr) return plan;
    try {
        const LogRange range = log->range(partition);
        if (plan.to < range.earliest || plan.to > range.latest) {
            plan.warnings.push_back("the log holds " + std::to_string(range.earliest.raw()) +
                                    " to " + std::to_string(range.latest.raw()) +
                                    "; there the topic's on_out_of_range will decide");
        }
    } catch (const KafkaError& error) {
        plan.warnings.push_back(std::string("the log's range is unknown: ") + error.what());
    }
    return plan;
}

SkipOutcome skip_range(Connection& connection, const std::string& group,
                       const TopicPartition& partition, Offset begin, Offset end,
                       const std::string& reason) {
    const Parameters key = key_of(group, partition);
    OwnedTransaction transaction(connection);
    const QueryResult held = transaction.query(sql::offsets_hold, key);
    if (held.rows() == 0) return {.fence = std::nullopt};
    const Offset fence{held.integer(0, 0)};
    // Somebody may have moved the fence since the operator checked. Offsets that were not checked
    // are not skipped.
    if (fence != begin) return {.fence = fence};
    transaction.query(sql::offsets_move, Parameters(key).integer(end.raw()).boolean(false));
    transaction.query(sql::suspects_clear, key);
    if (end > begin) {
        transaction.query(sql::offsets_skip,
                          Parameters(key).integer(begin.raw()).integer(end.raw()).text(reason));
        FenceMovePlan plan;
        plan.from = begin;
        plan.to = end;
        write_down(transaction, key, plan, reason);
    } else {
        transaction.query(
            sql::audit_write,
            {"offsets retry",
             group + "/" + partition.topic + "/" + std::to_string(partition.partition.raw()),
             "done", "{\"offset\": " + std::to_string(begin.raw()) + "}"});
    }
    transaction.commit();
    return {.fence = fence, .done = true};
}

MoveOutcome move_fence(Connection& connection, BrokerView* log, const std::string& group,
                       FenceMovePlan& plan, const std::string& reason, bool may_repeat) {
    // DANGER: ask the log only while nothing is locked. As long as a broker does not answer, the
    // group could not advance this fence, and the ledgers' claims could not expire.
    std::optional<AskedLog> asked;
    for (int round = 0;; ++round) {
        if (const auto outcome = try_move(connection, group, plan, reason, may_repeat, asked)) {
            return *outcome;
        }
        if (round == most_rounds) break;
        // The log is asked though it was for the plan: the oldest claims may be others by now.
        asked = ask_log(connection, log, group, plan);
    }
    throw CommandError(
        exit_failure,
        named(plan.partition) + ": the oldest claims were dropped each time that the log was asked",
        "run it again");
}

}  // namespace onceward
