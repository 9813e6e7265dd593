// `onceward pause` and `onceward resume`: a topic pauses for the whole group, without a restart and
// without a rebalance.

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr const char* not_configured =
    "the command line is wrong, or the configuration does not have the topic";

// The group whose topic is meant.
std::string target_of(const OperatorOptions& options, const OperatorSetup& setup) {
    const std::string group = group_of(setup, options.group);
    if (!setup.configuration || !options.group.empty()) return group;
    const std::string& database = topic_named(*setup.configuration, options.topic).database;
    // Anywhere else no worker of the topic would see it.
    usage_error_if(database != setup.database,
                   "topic " + options.topic + " is on " + database_text(database));
    return group;
}

// Whether workers of the group read the topic with this server, by the configuration.
bool is_configured(const OperatorSetup& setup, const std::string& group, const std::string& topic) {
    if (!setup.configuration || setup.configuration->group != group) return false;
    return std::ranges::any_of(setup.configuration->topics, [&](const TopicConfiguration& known) {
        return known.name == topic && known.database == setup.database;
    });
}

int pause(const OperatorOptions& options) {
    const OperatorSetup setup = operator_setup(options, "pause", options.topic);
    const std::string group = target_of(options, setup);
    Connection connection = writing_session(setup);
    const QueryResult paused =
        connection.query(sql::pauses_begin, Parameters{group, options.topic, options.reason,
                                                       is_configured(setup, group, options.topic)});
    if (paused.rows() == 0) {
        throw CommandError(exit_not_found,
                           "group " + group + " has no topic " + options.topic + " on this server",
                           "`onceward groups list` shows the topics of each group; to pause one "
                           "before its first worker starts, give its configuration with -c");
    }
    print_answer(options.json,
                 {{"topic", options.topic},
                  {"group", group},
                  {"paused", true},
                  {"since", paused.text(0, 0)},
                  {"already", paused.boolean(0, 1)}},
                 std::string("{topic} is paused for group {group} since {since}") +
                     (paused.boolean(0, 1) ? " already" : "") +
                     "\nworkers look every second; the batch in flight ends first\n");
    return exit_ok;
}

int resume(const OperatorOptions& options) {
    const OperatorSetup setup = operator_setup(options, "resume", options.topic);
    const std::string group = target_of(options, setup);
    Connection connection = writing_session(setup);
    const QueryResult ended = connection.query(sql::pauses_end, Parameters{group, options.topic});
    const bool was_paused = ended.rows() > 0;
    print_answer(options.json,
                 {{"topic", options.topic},
                  {"group", group},
                  {"paused", false},
                  {"since", was_paused ? nlohmann::json(ended.text(0, 0)) : nlohmann::json()}},
                 was_paused ? "{topic} continues for group {group}; it was paused since {since}\n"
                            : "{topic} is not paused for group {group}\n");
    return was_paused ? exit_ok : exit_not_found;
}

void add(CLI::App& program, Commands& commands, const char* name, const char* text,
         int (*work)(const OperatorOptions&), const HelpEnd& end) {
    auto options = std::make_shared<OperatorOptions>();
    CLI::App* command = add_operator_command(program, commands, name, text, options, work);
    command->add_option("topic", options->topic, "The topic's name")
        ->required()
        ->check(not_empty("a topic"));
    add_group_option(*command, *options);
    add_json_flag(*command, *options);
    command
        ->add_option("--reason", options->reason,
                     "Why, for those who read logs, `onceward offsets` and `onceward audit`")
        ->check(not_empty("a reason"));
    end_help(*command, end);
}

}  // namespace

void add_pause(CLI::App& program, Commands& commands) {
    add(program, commands, "pause", "Pause a topic in all workers of the group", pause,
        {.examples = {{"pause orders --reason 'the price table is being fixed'",
                       "until `onceward resume orders`"}},
         .exit_codes = {
             {exit_ok, "it is paused"},
             {exit_not_found, "with --dsn or --group: the group does not have the topic"},
             {exit_usage, not_configured}}});
    add(program, commands, "resume", "Continue a paused topic, from its fences", resume,
        {.examples = {{"resume orders", "in all workers of the group"}},
         .exit_codes = {{exit_ok, "it continues"},
                        {exit_not_found, "it was not paused"},
                        {exit_usage, not_configured}}});
}

}  // namespace onceward
