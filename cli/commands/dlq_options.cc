#include "cli/commands/dlq_options.h"

#include <algorithm>

#include "cli/operator/time_option.h"
#include "cli/terminal/option_checks.h"

namespace onceward {

DeadLetterFilter filter_of(const DlqOptions& options, const OperatorSetup& setup,
                           const std::vector<std::string>& states) {
    DeadLetterFilter filter = options.filter;
    filter.group = group_of(setup, options.group);
    filter.topic = options.topic;
    filter.since = moment_of(options.since);
    filter.until = moment_of(options.until);
    if (filter.states.empty()) filter.states = states;
    if (std::ranges::find(filter.states, "all") != filter.states.end()) {
        filter.states = {"open", "redriving", "redriven", "resolved"};
    }
    return filter;
}

void add_filters(CLI::App& command, DlqOptions& options, bool changes, const char* limit) {
    CLI::Option* topic =
        command.add_option("--topic", options.topic, "Only this topic")
            ->type_name("NAME")
            ->check(not_empty("a topic"));
    if (changes) topic->required();
    command
        .add_option("--class", options.filter.classes, "Only those that were rejected for this")
        ->type_name("CLASS")
        ->check(one_of({"undecodable", "missing_key", "invalid_key", "tombstone", "unmappable",
                        "sink", "conflict", "behind", "hot_key", "late_key", "unknown_schema"}));
    command
        .add_option("--since", options.since,
                    std::string("Rejected then or later: ") + moment_forms)
        ->type_name("TIME")
        ->check(moment_check());
    command.add_option("--until", options.until, "Rejected before then; as --since")
        ->type_name("TIME")
        ->check(moment_check());
    command
        .add_option("--key", options.filter.key, "Only this idempotency key, or this record key")
        ->check(not_empty("a key"));
    command
        .add_option("--number", options.filter.numbers, "Only these, by the numbers of `dlq list`")
        ->type_name("N")
        ->check(whole_number(1));
    command
        .add_option("--state", options.filter.states,
                    "Only those in this state; default: the ones that are open, or are sent again "
                    "by a redrive that has not ended")
        ->type_name("STATE")
        ->check(one_of({"open", "redriving", "redriven", "resolved", "all"}));
    if (std::string_view(limit) != "") {
        command.add_option("--limit", options.filter.limit, limit)
            ->capture_default_str()
            ->check(whole_number(1))
            ->type_name("N");
    }
    if (!changes) return;
    add_yes_flag(command, options);
    command.add_flag("--dry-run", options.dry_run, "Only show what would happen, also with --yes");
}

}  // namespace onceward
