// `onceward pause` and `onceward resume`: a topic pauses for the whole group, without a restart and
// without a rebalance.

#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct Target {
    OperatorSetup setup;
    std::string group;
};

Target target_of(const OperatorOptions& options, const std::string& command) {
    Target target{operator_setup(options, command, options.topic), {}};
    target.group = group_of(target.setup, options.group);
    if (!target.setup.configuration || !options.group.empty()) return target;
    const std::string& database = topic_named(*target.setup.configuration, options.topic).database;
    // Anywhere else no worker of the topic would see it.
    if (database == target.setup.database) return target;
    throw UsageError("topic " + options.topic + " is on " + database_text(database));
}

int pause(const OperatorOptions& options) {
    const Target target = target_of(options, "pause");
    Connection connection = writing_session(target.setup);
    const QueryResult paused = connection.query(
        sql::pauses_begin, Parameters::of(target.group, options.topic, options.reason));
    std::cout << options.topic << " is paused for group " << target.group << " since "
              << paused.text(0, 0) << (paused.boolean(0, 1) ? " already" : "") << '\n'
              << "workers look every second; the batch in flight ends first\n";
    return exit_ok;
}

int resume(const OperatorOptions& options) {
    const Target target = target_of(options, "resume");
    Connection connection = writing_session(target.setup);
    const QueryResult ended =
        connection.query(sql::pauses_end, Parameters::of(target.group, options.topic));
    if (ended.rows() == 0) {
        std::cout << options.topic << " is not paused for group " << target.group << '\n';
        return exit_not_found;
    }
    std::cout << options.topic << " continues for group " << target.group
              << "; it was paused since " << ended.text(0, 0) << '\n';
    return exit_ok;
}

CLI::App* add(CLI::App& program, Commands& commands, const char* name, const char* text,
              int (*work)(const OperatorOptions&)) {
    auto options = std::make_shared<OperatorOptions>();
    CLI::App* command = add_operator_command(program, commands, name, text, options, work);
    command->add_option("topic", options->topic, "The topic's name")->required();
    add_group_option(*command, *options);
    if (work == pause) {
        command->add_option("--reason", options->reason,
                            "Why, for those who read logs and `onceward offsets`");
    }
    return command;
}

}  // namespace

void add_pause(CLI::App& program, Commands& commands) {
    add(program, commands, "pause", "Stop reading a topic in all workers of the group", pause);
    add(program, commands, "resume", "Continue a paused topic, from its fences", resume)
        ->footer("Exit codes: 0 it continues, 3 it was not paused.");
}

}  // namespace onceward
