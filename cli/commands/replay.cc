// `onceward replay`: a range of a topic is read again, through dedup or deliberately past it.

#include "cli/replay/replay.h"

#include <iostream>
#include <numeric>

#include "cli/commands/commands.h"
#include "cli/composition/composition.h"
#include "cli/operator/offsets_move.h"
#include "cli/operator/operator_options.h"
#include "cli/operator/time_option.h"
#include "cli/terminal/command.h"
#include "cli/terminal/counted.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/stop_request.h"
#include "dedup/base/mutants.h"
#include "dedup/fence/fence.h"

namespace onceward {
namespace {

struct ReplayArguments : OperatorOptions {
    std::vector<int> partitions;
    std::string from;
    std::string to;
    bool without_dedup = false;
    bool again = false;
    bool may_repeat = false;
};

const TopicConfiguration& topic_of(const ReplayArguments& arguments, const OperatorSetup& setup) {
    const Configuration& configuration = configuration_of(
        setup, "the configuration says how a message is read and applied: give it with -c");
    const TopicConfiguration& topic = topic_named(configuration, arguments.topic);
    const LedgerOptions& ledger = configuration.ledgers.at(topic.ledger);
    usage_error_if(
        ledger.store == StoreKind::lease,
        "with store: lease each call has its lease, and only workers call: `onceward dlq "
        "redrive` repeats calls that failed, and `onceward offsets --set` reads a range again");
    usage_error_if(
        ledger.reach == Reach::partition && !arguments.without_dedup,
        "with reach: partition only a partition's owner may claim: move its fence back with "
        "`onceward offsets --set`, which reads it again with dedup");
    return topic;
}

// The same words are the same replay.
std::string describe(const ReplayArguments& arguments) {
    std::string partitions;
    for (const int partition : arguments.partitions) {
        partitions += (partitions.empty() ? "" : ", ") + std::to_string(partition);
    }
    return (partitions.empty() ? std::string("all partitions") : "partitions " + partitions) +
           " from " + arguments.from + " to " + arguments.to +
           (arguments.without_dedup ? " without dedup" : "");
}

struct Planned {
    std::vector<ReplayRange> ranges;
    std::vector<std::string> warnings;
    std::vector<std::string> repeats;  // why messages may be applied a second time
};

std::string partition_text(Partition partition) {
    return "partition " + std::to_string(partition.raw());
}

// What the ledger may have forgotten of the messages from there on.
void add_repeats(Connection& connection, BrokerView& log, const OperatorSetup& setup,
                 const TopicConfiguration& topic, Partition partition, Offset from,
                 Planned& planned) {
    for (const std::string& why : forgotten_claims(connection, &log, setup.configuration->group,
                                                   {topic.name, partition}, from, topic.ledger)) {
        planned.repeats.push_back(partition_text(partition) + ": " + why);
    }
}

void plan_partition(Connection& connection, BrokerView& log, const OperatorSetup& setup,
                    const TopicPartition& partition, const LogIdentity& identity,
                    const ReplayArguments& arguments, Planned& planned) {
    const std::string& group = setup.configuration->group;
    const std::string name = partition_text(partition.partition);
    const auto fence = Fences(group, "").look(connection, partition.topic, partition.partition);
    if (!fence) {
        planned.warnings.push_back(name + ": group " + group + " has read nothing of it yet");
        return;
    }
    usage_error_if(
        !same_log(*fence, identity),
        "topic " + partition.topic + " was recreated, and the group's fences refer to the old log");
    const ReplayRange wanted{
        partition.partition,
        resolve_position(&log, partition, parse_position(arguments.from, "--from")),
        resolve_position(&log, partition, parse_position(arguments.to, "--to"))};
    if (wanted.begin > wanted.end) throw UsageError("--from is after --to in " + name);
    const ReplayPlan plan = plan_replay(wanted, log.range(partition), fence->next_offset);
    for (const std::string& note : plan.notes) planned.warnings.push_back(name + ": " + note);
    if (plan.range.begin == plan.range.end) return;
    planned.ranges.push_back(plan.range);
    if (arguments.without_dedup) return;
    add_repeats(connection, log, setup, topic_named(*setup.configuration, arguments.topic),
                partition.partition, plan.range.begin, planned);
}

// What an open replay still has to read, from its own fences.
Planned plan_rest(Connection& connection, BrokerView& log, const OperatorSetup& setup,
                  const TopicConfiguration& topic, const KnownReplay& known, bool dedup) {
    Planned planned;
    planned.ranges = known.ranges;
    if (!dedup) return planned;
    Fences fences(fences_of(setup.configuration->group, known), "");
    for (const ReplayRange& range : known.ranges) {
        const auto fence = fences.look(connection, topic.name, range.partition);
        const Offset from = fence ? fence->next_offset : range.begin;
        if (from >= range.end) continue;
        add_repeats(connection, log, setup, topic, range.partition, from, planned);
    }
    return planned;
}

Planned plan_all(Connection& connection, BrokerView& log, const OperatorSetup& setup,
                 const ReplayArguments& arguments, const LogIdentity& identity) {
    std::vector<int> partitions = arguments.partitions;
    const bool by_offset =
        parse_position(arguments.from, "--from").kind == FencePosition::Kind::offset ||
        parse_position(arguments.to, "--to").kind == FencePosition::Kind::offset;
    usage_error_if(by_offset && partitions.size() != 1,
                   "an offset needs its --partition: name it, or give times");
    if (partitions.empty()) {
        partitions.resize(static_cast<std::size_t>(log.queries().partition_count(arguments.topic)));
        std::iota(partitions.begin(), partitions.end(), 0);
    }
    Planned planned;
    for (const int number : partitions) {
        plan_partition(connection, log, setup, {arguments.topic, Partition{number}}, identity,
                       arguments, planned);
    }
    return planned;
}

std::vector<std::string> warnings_of(const Planned& planned) {
    std::vector<std::string> warnings = planned.warnings;
    warnings.insert(warnings.end(), planned.repeats.begin(), planned.repeats.end());
    return warnings;
}

int tell(const ReplayArguments& arguments, const Planned& planned, bool replied_to) {
    if (arguments.json) {
        print_json({{"ranges", ranges_json(planned.ranges)},
                    {"warnings", warnings_of(planned)},
                    {"done", false}});
        return exit_ok;
    }
    for (const ReplayRange& range : planned.ranges) {
        std::cout << "would read again partition " << range.partition.raw() << ": offsets "
                  << range.begin.raw() << " to " << range.end.raw() - 1 << '\n';
    }
    std::cout << (arguments.without_dedup
                      ? "each of their messages would be APPLIED again; claims stay as they are\n"
                      : "a message whose key is still claimed is a duplicate, and any other would "
                        "be applied\n")
              << (replied_to ? "each of their senders would get another reply\n" : "")
              << (planned.repeats.empty() ? ""
                                          : "--may-repeat is needed, because claims are "
                                            "gone\n")
              << "nothing was changed; do it with --yes\n";
    return exit_ok;
}

int show(const ReplayArguments& arguments, const KnownReplay& replay, const ReplayReport& report) {
    const Totals& totals = report.totals;
    print_answer(arguments.json,
                 {{"replay", replay.number},
                  {"ranges", ranges_json(replay.ranges)},
                  {"messages", totals.passed()},
                  {"applied", totals.applied},
                  {"duplicates", totals.duplicates},
                  {"conflicts", totals.conflicts},
                  {"dead_lettered", totals.dead_lettered},
                  {"skipped", totals.skipped},
                  {"finished", report.finished},
                  {"done", true}},
                 "replay {replay}: messages {messages}, applied {applied}, duplicates "
                 "{duplicates}, conflicts {conflicts}, dead letters {dead_lettered}, skipped "
                 "{skipped}\n");
    return exit_of_run(report.finished);
}

ReplayOptions options_of(const ReplayArguments& arguments, const OperatorSetup& setup,
                         const LogIdentity& identity) {
    ReplayOptions options;
    options.group = setup.configuration->group;
    options.worker =
        make_worker_options(*setup.configuration, 0, make_registries(*setup.configuration));
    std::erase_if(options.worker.topics,
                  [&](const WorkerTopic& topic) { return topic.name != arguments.topic; });
    options.worker.postgres = setup.connection;
    options.worker.postgres.statement_timeout = setup.configuration->postgres.statement_timeout;
    options.identity = identity;
    options.dedup = !arguments.without_dedup;
    options.actor = setup.actor;
    options.stopped = stop_requested;
    return options;
}

// Offsets of the ranges that are not in the log count as read: the share is only an estimate.
ReplayReport run_with_progress(const KnownReplay& replay, ReplayOptions options) {
    std::int64_t all = 0;
    for (const ReplayRange& range : replay.ranges) all += range.end.raw() - range.begin.raw();
    Progress progress("replay", "messages");
    options.progress = [&](const Totals& totals, std::int64_t offsets) {
        progress.at(totals.passed(), static_cast<double>(offsets) / static_cast<double>(all));
    };
    return run_replay(replay, options);
}

void refuse_twice(const ReplayArguments& arguments, const std::optional<KnownReplay>& known) {
    if (!arguments.without_dedup || arguments.again || !known || !known->finished) return;
    if (!known->ended_by.empty()) {
        throw UsageError(
            "replay " + std::to_string(known->number) + " of the same range applied " +
                counted(known->applied, "message") + " again before " + known->ended_by +
                " ended it at " + known->at +
                ", and --again would apply these once more: to apply the rest alone, give --from "
                "the offset that it had read up to",
            "`onceward audit --what 'groups retire'` has that offset for each partition");
    }
    throw UsageError("the same was applied again by " + known->started_by + " at " + known->at +
                     " already, as replay " + std::to_string(known->number) +
                     "; --again does it once more");
}

// DANGER: a message whose claim is gone counts as new, and is applied a second time.
bool is_refused(const ReplayArguments& arguments, const Planned& planned) {
    if (mutant("replay_without_its_claims")) return false;
    return !arguments.may_repeat && !planned.repeats.empty();
}

void refuse_repeats(const ReplayArguments& arguments, const Planned& planned) {
    if (!is_refused(arguments, planned)) return;
    throw UsageError(
        "messages of the range may be applied a SECOND time, as said above; --may-repeat does it "
        "all the same");
}

void tell_warnings(const Planned& planned) {
    for (const std::string& warning : warnings_of(planned)) warn(warning);
}

int replay(const ReplayArguments& arguments) {
    const OperatorSetup setup = operator_setup(arguments, "replay", arguments.topic);
    const TopicConfiguration& topic = topic_of(arguments, setup);
    Connection connection = writing_session(setup);
    BrokerView log(setup.configuration->kafka);
    const LogIdentity identity{"", log.queries().identity(topic.name).topic_id};
    ReplayRequest request{setup.configuration->group, topic.name, describe(arguments),
                          arguments.reason,           {},         !arguments.without_dedup};
    std::optional<KnownReplay> known = find_replay(connection, request);
    refuse_twice(arguments, known);
    const bool goes_on = known && !known->finished;
    Planned planned;
    if (goes_on) {
        planned = plan_rest(connection, log, setup, topic, *known, request.dedup);
        warn("continues replay " + std::to_string(known->number) + ", which " + known->started_by +
             " began at " + known->at);
    } else {
        planned = plan_all(connection, log, setup, arguments, identity);
    }
    tell_warnings(planned);
    warn_if(arguments.without_dedup && topic.stores_results,
            "without dedup no results are stored and no replies are sent");
    if (planned.ranges.empty()) {
        std::cout << (arguments.json ? "{\"ranges\": []}\n" : "there is nothing to read again\n");
        return exit_not_found;
    }
    if (!arguments.yes) {
        return tell(arguments, planned, replies(topic) && !arguments.without_dedup);
    }
    refuse_repeats(arguments, planned);
    const StopRequest stop;
    request.ranges = planned.ranges;
    if (!goes_on) {
        const bool begun_here = begin_replay(connection, request);
        known = find_replay(connection, request);
        // Claims may have expired since the plan. From here on none can, since the replay is open.
        const Planned begun =
            plan_rest(connection, log, setup, topic, known.value(), request.dedup);
        if (planned.repeats.empty()) tell_warnings(begun);
        // If it stayed open, it would hold retention back. One that another run of the same command
        // has begun is left to that run.
        if (begun_here && is_refused(arguments, begun)) {
            end_replay(connection, request, known.value());
        }
        refuse_repeats(arguments, begun);
    }
    return show(arguments, known.value(),
                run_with_progress(known.value(), options_of(arguments, setup, identity)));
}

}  // namespace

void add_replay(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<ReplayArguments>();
    CLI::App* command = add_operator_command(program, commands, "replay",
                                             "Read a range of a topic again while the workers run",
                                             arguments, replay);
    command->add_option("--topic", arguments->topic, "The topic")->required()->type_name("NAME");
    command->add_option("--partition", arguments->partitions, "Only these; default: all")
        ->type_name("N")
        ->check(whole_number());
    command
        ->add_option("--from", arguments->from,
                     std::string("Where it begins: an offset, earliest, ") + moment_forms)
        ->required()
        ->type_name("POSITION")
        ->check(position_check());
    command
        ->add_option("--to", arguments->to,
                     "Where it ends, exclusive: as --from, or latest for what the group has passed")
        ->required()
        ->type_name("POSITION")
        ->check(position_check());
    add_reason(*command, arguments->reason, "replays");
    command->add_flag("--without-dedup", arguments->without_dedup,
                      "Apply each message again, whatever is claimed; claims stay as they are");
    command->add_flag("--may-repeat", arguments->may_repeat,
                      "Continue although the ledger may have dropped claims of the range, so that "
                      "its messages may be applied a second time");
    command->add_flag("--again", arguments->again,
                      "Also where the same was applied again without dedup before");
    add_yes_flag(*command, *arguments);
    add_json_flag(*command, *arguments);
    end_help(
        *command,
        {.notes = "A dry run without --yes. An interrupted replay continues if the same words are "
                  "run again: with the range that it began with, also where a word is a time such "
                  "as 1h.",
         .examples = {{"replay --topic orders --from 1h --to latest --reason 'bug 12'",
                       "what would be read again"},
                      {"replay --topic orders --from 2026-01-31 --to 2026-02-01 --reason 'bug 12' "
                       "--yes",
                       "read one day again, in UTC"}},
         .exit_codes = {{exit_ok, "done or planned"},
                        {exit_not_found, "there is nothing to read again"},
                        {exit_interrupted, "interrupted; run it again to continue"}}});
}

}  // namespace onceward
