#include "cli/commands/commands.h"

#include <initializer_list>

#include "cli/terminal/command.h"

namespace onceward {
namespace {

using AddCommand = void(CLI::App&, Commands&);

// Help lists the commands by these groups, in this order.
void add_group(const char* group, CLI::App& program, Commands& commands,
               std::initializer_list<AddCommand*> all) {
    for (AddCommand* add : all) add(program, commands);
    for (CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
        if (command->get_group() == "Subcommands") command->group(group);
    }
}

}  // namespace

void add_all_commands(CLI::App& program, Commands& commands) {
    add_group("Start", program, commands,
              {add_init, add_check, add_plan, add_test, add_size, add_config, add_describe,
               add_migrate, add_import, add_produce, add_manual});
    add_group("Run", program, commands, {add_run, add_serve, add_health, add_pause, add_ledger});
    add_group("Look", program, commands,
              {add_doctor, add_explain, add_offsets, add_groups, add_outbox, add_retention,
               add_audit});
    add_group("Repair", program, commands, {add_dlq, add_replay, add_forget});
}

}  // namespace onceward
