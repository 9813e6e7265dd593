// `onceward offsets skip` and `offsets retry`: what an operator does about a partition that halted
// at records that cannot be read.

#include <chrono>
#include <iostream>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/operator/offsets_move.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/range_reader.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds look_limit{10};  // for each offset that is checked

struct SkipOptions : OperatorOptions {
    std::int64_t offset = 0;
    std::optional<std::int64_t> to;
    TopicPartition where() const { return {topic, Partition{partition}}; }
};

// Reads the log from the damaged offset on.
Offset end_of_damage(const SkipOptions& options, const OperatorSetup& setup) {
    const KafkaOptions& kafka =
        configuration_of(
            setup,
            "the end of the range is searched in the log: give a configuration with -c, or --to")
            .kafka;
    const Offset begin{options.offset};
    try {
        const Offset log_end = BrokerView(kafka).range(options.where()).latest;
        RangeReader sampler(kafka);
        const auto found = next_readable(begin, log_end, [&](Offset offset) {
            return sampler.look(options.where(), offset, look_limit);
        });
        if (found && *found > begin) return *found;
        throw UsageError(found ? "offset " + std::to_string(options.offset) +
                                     " can be read: say with --to where the range ends"
                               : "no end of it is found in the log: say it with --to");
    } catch (const KafkaError& error) {
        throw UsageError(std::string("no end of it is found in the log (") + error.what() +
                         "): say it with --to");
    }
}

[[noreturn]] void not_there(const SkipOptions& options, const std::string& group,
                            const std::optional<Offset>& fence) {
    if (fence) {
        throw UsageError("the fence of " + named(options.where()) + " is at " +
                         std::to_string(fence->raw()) + ", not at " +
                         std::to_string(options.offset) + ": nothing is skipped");
    }
    throw CommandError(exit_not_found,
                       "group " + group + " has no fence of " + named(options.where()),
                       "`onceward offsets` lists the fences");
}

int skip(const SkipOptions& options) {
    const OperatorSetup setup = operator_setup(options, "offsets skip", options.topic);
    const std::string group = group_of(setup, options.group);
    if (options.reason.empty()) throw UsageError("why? Say it with --reason");
    usage_error_if(options.to && *options.to <= options.offset,
                   "--to is the first offset after the range, above --offset");
    Connection connection = writing_session(setup);
    const Offset begin{options.offset};
    const std::optional<Offset> fence = fence_of(connection, group, options.where());
    if (fence != begin) not_there(options, group, fence);
    const Offset end = options.to ? Offset{*options.to} : end_of_damage(options, setup);
    if (options.yes) {
        const SkipOutcome outcome =
            skip_range(connection, group, options.where(), begin, end, options.reason);
        if (!outcome.done) not_there(options, group, outcome.fence);
    }
    print_answer(options.json,
                 {{"topic", options.topic},
                  {"partition", options.partition},
                  {"begin", begin.raw()},
                  {"end", end.raw()},
                  {"reason", options.reason},
                  {"done", options.yes}},
                 std::string(options.yes ? "skipped " : "would skip ") +
                     "{topic} partition {partition}: offsets {begin} to " +
                     std::to_string(end.raw() - 1) + ", " +
                     std::to_string(end.raw() - begin.raw()) + " of them, are NEVER applied\n" +
                     (options.yes ? "" : "nothing was changed; do it with --yes\n"));
    return exit_ok;
}

int retry(const SkipOptions& options) {
    const OperatorSetup setup = operator_setup(options, "offsets retry", options.topic);
    const std::string group = group_of(setup, options.group);
    Connection connection = writing_session(setup);
    const std::optional<Offset> fence = fence_of(connection, group, options.where());
    if (!fence) not_there(options, group, fence);
    const SkipOutcome outcome = skip_range(connection, group, options.where(), *fence, *fence, "");
    usage_error_if(!outcome.done,
                   named(options.where()) + " moved meanwhile, so that it is not halted");
    print_answer(options.json,
                 {{"topic", options.topic},
                  {"partition", options.partition},
                  {"offset", fence->raw()},
                  {"done", true}},
                 "{topic} partition {partition} is tried again from {offset}\n");
    return exit_ok;
}

CLI::App* add_one(CLI::App& offsets, Commands& commands, const char* name, const char* text,
                  const std::shared_ptr<SkipOptions>& options, int (*work)(const SkipOptions&)) {
    CLI::App* command = add_operator_command(offsets, commands, name, text, options, work);
    add_group_option(*command, *options);
    command->add_option("--topic", options->topic, "The topic")->required()->type_name("NAME");
    command->add_option("--partition", options->partition, "The partition")
        ->required()
        ->check(whole_number());
    add_json_flag(*command, *options);
    return command;
}

}  // namespace

void add_offsets_skip(CLI::App& offsets, Commands& commands) {
    auto options = std::make_shared<SkipOptions>();
    CLI::App* command =
        add_one(offsets, commands, "skip", "Pass records that cannot be read",
                options, skip);
    command->add_option("--offset", options->offset, "Where the partition halted")
        ->required()
        ->check(whole_number());
    command
        ->add_option("--to", options->to,
                     "The first offset that is not skipped; default: the next one in the log "
                     "that can be read")
        ->check(whole_number());
    add_reason(*command, options->reason, "skipped_ranges");
    add_yes_flag(*command, *options);
    const std::pair<int, std::string> no_fence{exit_not_found, "the group has no fence here"};
    end_help(*command, {.examples = {{"offsets skip --topic orders --partition 3 --offset 4711 "
                                      "--reason 'disk error'",
                                      "what would be skipped"}},
                        .exit_codes = {{exit_ok, "skipped or planned"}, no_fence}});
    auto retried = std::make_shared<SkipOptions>();
    CLI::App* again = add_one(
        offsets, commands, "retry",
        "Try a halted partition again from its offset, without skipping anything", retried, retry);
    offer_reason(*again, retried->reason, "the audit log");
    end_help(*again, {.examples = {{"offsets retry --topic orders --partition 3",
                                    "after its cause was fixed"}},
                      .exit_codes = {no_fence}});
}

}  // namespace onceward
