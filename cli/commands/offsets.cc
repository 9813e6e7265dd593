// `onceward offsets`: shows the fences, and moves one.

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/offsets_move.h"
#include "cli/operator/operator_options.h"
#include "cli/operator/time_option.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "consumer/kafka/kafka_error.h"
#include "dedup/operator/interventions.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct OffsetsOptions : OperatorOptions {
    std::string position;
    bool adopt = false;
    bool may_repeat = false;
};

QueryResult list_of(Connection& connection, const std::string& group, const std::string& topic,
                    int partition) {
    Parameters parameters{group, unless_empty(topic)};
    if (partition < 0) {
        parameters.null();
    } else {
        parameters.integer(partition);
    }
    return connection.query(sql::offsets_list, parameters);
}

Partition partition_in(const QueryResult& list, int row) {
    return Partition{static_cast<std::int32_t>(list.integer(row, 1))};
}

struct LogEnd {
    std::optional<Offset> offset;  // nullopt if no broker has answered
    bool missing = false;          // Kafka has no such partition
};

LogEnd end_of(BrokerView& log, const TopicPartition& partition) {
    try {
        return {.offset = log.range(partition).latest};
    } catch (const KafkaError& error) {
        if (!unknown_partition(error)) throw;
        return {.offset = std::nullopt, .missing = true};
    }
}

// The end of each partition's log, in the order of the rows. If no broker answers a question,
// nothing more is asked.
std::vector<LogEnd> ends_of(const OperatorSetup& setup, const QueryResult& list) {
    std::vector<LogEnd> ends(list.rows());
    if (!setup.configuration) return ends;
    try {
        BrokerView log(setup.configuration->kafka);
        for (int row = 0; row < list.rows(); ++row) {
            ends[row] = end_of(log, {std::string(list.text(row, 0)), partition_in(list, row)});
        }
    } catch (const KafkaError& error) {
        warn(std::string("the log's ends are unknown: ") + error.what());
    }
    return ends;
}

// Throws UsageError if the brokers answer and the topic has no such partition: a fence made for a
// mistyped number would hold back the ledger's retention. Without an answer the command continues,
// since it is needed most when something is down.
void require_partition(BrokerView& log, const TopicPartition& partition) {
    int count = 0;
    try {
        count = log.queries().partition_count(partition.topic);
    } catch (const KafkaError&) {
        return;
    }
    usage_error_if(count == 0,
                   "Kafka has no topic " + partition.topic + ", or this user may not describe it");
    if (partition.partition.raw() < count) return;
    throw UsageError("topic " + partition.topic + " has no partition " +
                     std::to_string(partition.partition.raw()) + " in Kafka: it has " +
                     std::to_string(count) + ", counted from 0");
}

// The fences of one server, with their logs' ends.
nlohmann::json fences_on(const OffsetsOptions& options, const OperatorSetup& setup,
                         const std::string& group) {
    Connection connection = reading_session(setup);
    const QueryResult list = list_of(connection, group, options.topic, options.partition);
    const auto ends = ends_of(setup, list);
    nlohmann::json rows =
        rows_json(list, {"topic", "partition", "next_offset", "epoch", "owner", "taken_at",
                         "moved_at", "watermark", "retired_at", "applied", "duplicates",
                         "conflicts", "dead_lettered", "skipped", "topic_id"});
    for (std::size_t row = 0; row < rows.size(); ++row) {
        nlohmann::json& fence = rows[row];
        fence["end"] = nullptr;
        fence["lag"] = nullptr;
        fence["paused"] = nullptr;
        fence["missing_in_kafka"] = ends[row].missing;
        if (const auto& known = ends[row].offset) {
            fence["end"] = known->raw();
            fence["lag"] =
                std::max<std::int64_t>(0, known->raw() - fence["next_offset"].get<std::int64_t>());
        }
        if (!ends[row].missing) continue;
        warn(filled("topic {topic} has no partition {partition} in Kafka; ", fence) +
             (fence["retired_at"].is_null()
                  ? "`onceward groups retire --topic ... --partition ...` retires its fence"
                  : "its fence is retired"));
    }
    for (const TopicPause& pause : open_pauses(connection, group)) {
        for (nlohmann::json& fence : rows) {
            if (fence["topic"] == pause.topic) fence["paused"] = describe(pause);
        }
    }
    return rows;
}

// exit_failure if a fence in use has no partition in Kafka.
int show(const OffsetsOptions& options) {
    const std::vector<OperatorSetup> setups = operator_setups(options, "offsets", options.topic);
    const std::string group = group_of(setups.front(), options.group);
    Collected found = collect(
        setups, [&](const OperatorSetup& setup) { return fences_on(options, setup, group); });
    for (const nlohmann::json& fence : found.rows) {
        if (fence["missing_in_kafka"] == true && fence["retired_at"].is_null()) {
            found.code = exit_failure;
        }
    }
    if (options.json) {
        print_json({{"group", group}, {"fences", found.rows}});
    } else if (found.rows.empty()) {
        std::cout << "group " << group << " has no fence "
                  << (options.topic.empty() ? "" : "of topic " + options.topic + " ")
                  << (options.partition < 0
                          ? ""
                          : "of partition " + std::to_string(options.partition) + " ")
                  << "here\n";
    } else {
        for (nlohmann::json& fence : found.rows) {
            if (fence["missing_in_kafka"] == true) fence["end"] = "none";
        }
        print_table({"topic", "partition", "fence=next_offset", "end", "lag", "applied",
                     "duplicates", "conflicts", "dead letters=dead_lettered", "skipped", "owner",
                     "moved at=moved_at", "watermark", "retired at=retired_at", "paused"},
                    found.rows);
    }
    return found.code_or_not_found();
}

std::string describe(const FenceMovePlan& plan) {
    const std::string where = named(plan.partition);
    if (!plan.from) return where + ": a new fence at " + std::to_string(plan.to.raw());
    const std::int64_t step = plan.to.raw() - plan.from->raw();
    std::string text = where + ": from " + std::to_string(plan.from->raw()) + " to " +
                       std::to_string(plan.to.raw());
    if (plan.adopt) {
        text += ", in another log of that name";
    } else if (step < 0) {
        text += ", so that " + std::to_string(-step) + " offsets are read again";
    } else if (step > 0) {
        text += ", so that " + std::to_string(step) + " offsets are SKIPPED and never applied";
    }
    return text;
}

std::vector<std::string> all_warnings_of(const FenceMovePlan& plan) {
    std::vector<std::string> warnings = plan.repeats;
    warnings.insert(warnings.end(), plan.warnings.begin(), plan.warnings.end());
    return warnings;
}

nlohmann::json plan_json(const FenceMovePlan& plan, bool done) {
    return {{"topic", plan.partition.topic},
            {"partition", plan.partition.partition.raw()},
            {"from", plan.from ? nlohmann::json(plan.from->raw()) : nlohmann::json(nullptr)},
            {"to", plan.to.raw()},
            {"new_log", plan.adopt},
            {"warnings", all_warnings_of(plan)},
            {"done", done}};
}

bool any_repeats(const std::vector<FenceMovePlan>& plans) {
    return std::ranges::any_of(plans,
                               [](const FenceMovePlan& plan) { return !plan.repeats.empty(); });
}

// DANGER: a message whose claim is gone counts as new, and is applied a second time.
// `moved`: how many fences were moved already. If any was, the line was right: another exit code
// tells a script that something has changed.
void refuse_repeats_of(const OffsetsOptions& options, const std::vector<FenceMovePlan>& plans,
                       std::size_t moved) {
    if (options.may_repeat || !any_repeats(plans)) return;
    for (const FenceMovePlan& plan : plans) {
        for (const std::string& why : plan.repeats) warn(named(plan.partition) + ": " + why);
    }
    throw CommandError(moved == 0 ? exit_usage : exit_failure,
                       std::string(moved == 0 ? "nothing" : "nothing more") +
                           " was moved: messages may be applied a SECOND time, as said above; "
                           "--may-repeat does it all the same");
}

void tell_plan(const FenceMovePlan& plan, bool done) {
    std::cout << (done ? "moved " : "would move ") << describe(plan) << '\n';
    for (const std::string& warning : all_warnings_of(plan)) {
        std::cout << "  WARNING: " << warning << '\n';
    }
    std::cout << std::flush;
}

// Each move is a transaction of its own. It is printed as soon as it is done, since it stays if a
// later one fails.
void move_all(const OffsetsOptions& options, Connection& connection, BrokerView* log,
              const std::string& group, std::vector<FenceMovePlan>& plans) {
    nlohmann::json done = nlohmann::json::array();
    for (FenceMovePlan& plan : plans) {
        try {
            const MoveOutcome outcome =
                move_fence(connection, log, group, plan, options.reason, options.may_repeat);
            if (outcome == MoveOutcome::would_repeat) {
                refuse_repeats_of(options, plans, done.size());
            }
        } catch (const std::exception&) {
            if (options.json) print_json(done);
            warn(named(plan.partition) + " was not moved; of " + std::to_string(plans.size()) +
                 " partitions " + std::to_string(done.size()) + " were, before it");
            throw;
        }
        done.push_back(plan_json(plan, true));
        if (!options.json) tell_plan(plan, true);
    }
    if (options.json) print_json(done);
}

void tell_dry_run(const OffsetsOptions& options, const std::vector<FenceMovePlan>& plans) {
    nlohmann::json list = nlohmann::json::array();
    for (const FenceMovePlan& plan : plans) {
        list.push_back(plan_json(plan, false));
        if (!options.json) tell_plan(plan, false);
    }
    if (options.json) return print_json(list);
    if (any_repeats(plans)) std::cout << "--may-repeat is needed, because claims are gone\n";
    std::cout << "nothing was changed; do it with --yes\n";
}

// A fence that is to be moved.
struct MoveTarget {
    TopicPartition partition;
    bool retired = false;
};

// The fence of the partition that is named, else all that the group has of the topic.
std::vector<MoveTarget> targets_of(const OffsetsOptions& options, Connection& connection,
                                   const std::string& group) {
    if (options.partition >= 0) return {MoveTarget{{options.topic, Partition{options.partition}}}};
    const QueryResult list = list_of(connection, group, options.topic, -1);
    usage_error_if(list.rows() == 0, "group " + group + " has no fence of topic " + options.topic +
                                         " yet; name a --partition to make one");
    std::vector<MoveTarget> targets;
    for (int row = 0; row < list.rows(); ++row) {
        targets.push_back({{options.topic, partition_in(list, row)}, !list.is_null(row, 8)});
    }
    return targets;
}

struct PlannedMoves {
    std::vector<FenceMovePlan> plans;
    bool left_out = false;  // a fence in use, because Kafka does not have its partition
};

PlannedMoves plan_moves(const OffsetsOptions& options, Connection& connection, BrokerView* log,
                        const std::string& group, const FencePosition& position,
                        const std::vector<MoveTarget>& targets) {
    PlannedMoves moves;
    for (const auto& [partition, retired] : targets) {
        try {
            moves.plans.push_back(
                plan_move(connection, log, group, partition, position, options.adopt));
        } catch (const KafkaError& error) {
            if (!unknown_partition(error)) throw;
            warn("topic " + partition.topic + " has no partition " +
                 std::to_string(partition.partition.raw()) + " in Kafka: its fence stays as it is");
            moves.left_out = moves.left_out || !retired;
        }
    }
    return moves;
}

// exit_failure if a fence in use was left out: a script that goes by the code must not take the
// topic as moved.
int move(const OffsetsOptions& options, const OperatorSetup& setup, Connection& connection,
         const std::string& group) {
    const FencePosition position = parse_position(options.position);
    const bool needs_log = position.kind != FencePosition::Kind::offset;
    usage_error_if(!needs_log && options.partition < 0, "--set with an offset needs --partition");
    usage_error_if(needs_log && !setup.configuration,
                   "`" + options.position +
                       "` is asked of the brokers: give a configuration with -c, or an offset");
    const std::vector<MoveTarget> targets = targets_of(options, connection, group);
    std::optional<BrokerView> brokers;
    if (setup.configuration) brokers.emplace(setup.configuration->kafka);
    BrokerView* const log = brokers ? &*brokers : nullptr;
    if (log != nullptr && options.partition >= 0) {
        require_partition(*log, targets.front().partition);
    }
    PlannedMoves moves = plan_moves(options, connection, log, group, position, targets);
    if (moves.plans.empty()) {
        throw CommandError(exit_failure, "no fence can be moved: Kafka has none of the partitions",
                           "`onceward groups retire` takes fences of a removed topic out of use");
    }
    if (options.yes) {
        refuse_repeats_of(options, moves.plans, 0);
        move_all(options, connection, log, group, moves.plans);
    } else {
        tell_dry_run(options, moves.plans);
    }
    return moves.left_out ? exit_failure : exit_ok;
}

int offsets(const OffsetsOptions& options) {
    usage_error_if(options.adopt && options.position.empty(),
                   "--adopt-topic-id needs --set: where does the new log begin for this group?");
    if (options.position.empty()) return show(options);
    usage_error_if(options.topic.empty(), "--set needs --topic");
    usage_error_if(options.yes && options.reason.empty(),
                   "why is the fence moved? Say it with --reason; it is kept in fence_moves");
    const OperatorSetup setup = operator_setup(options, "offsets", options.topic);
    const std::string group = group_of(setup, options.group);
    Connection connection = writing_session(setup);
    return move(options, setup, connection, group);
}

}  // namespace

void add_offsets(CLI::App& program, Commands& commands) {
    CLI::App* command =
        program.add_subcommand("offsets", "Show how far a group has read, or move it");
    add_offsets_skip(*command, commands);
    auto options = std::make_shared<OffsetsOptions>();
    add_operator_options(*command, *options);
    add_group_option(*command, *options);
    command->add_option("--topic", options->topic, "Only this topic")
        ->type_name("NAME")
        ->check(not_empty("a topic"));
    command->add_option("--partition", options->partition, "Only this partition")
        ->check(whole_number());
    command
        ->add_option(
            "--set", options->position,
            std::string("Where the group reads on: an offset, earliest, latest, ") + moment_forms)
        ->type_name("POSITION")
        ->check(position_check());
    command->add_flag("--adopt-topic-id", options->adopt,
                      "The topic was recreated: this fence refers to the new log from now on");
    command->add_flag("--may-repeat", options->may_repeat,
                      "With --set and --yes: move a fence back although a ledger may have dropped "
                      "claims from there on, so that messages may be applied a second time");
    offer_reason(*command, options->reason, "fence_moves; needed for --set with --yes");
    add_yes_flag(*command, *options);
    add_json_flag(*command, *options);
    end_help(*command,
             {.notes = "A fence is the offset of the next message of a partition, kept in "
                       "PostgreSQL. --set is a dry run without --yes.",
              .examples = {{"offsets", "each partition: fence, end of the log, lag"},
                           {"offsets --topic orders --set 1h",
                            "what reading the last hour again would do"},
                           {"offsets --topic orders --partition 3 --set 4711 --reason 'bug 12' "
                            "--yes",
                            "move one"}},
              .exit_codes = {
                  {exit_ok, "shown, moved or planned"},
                  {exit_failure, "a fence in use has no partition in Kafka, or not all were moved"},
                  {exit_not_found, "the group has no fence here"}}});
    add_operator_work(*command, commands, options, offsets);
}

}  // namespace onceward
