#include "cli/commands/commands.h"

namespace onceward {

void add_all_commands(CLI::App& program, Commands& commands) {
    add_run(program, commands);
    add_serve(program, commands);
    add_describe(program, commands);
    add_init(program, commands);
    add_check(program, commands);
    add_test(program, commands);
    add_doctor(program, commands);
    add_size(program, commands);
    add_config(program, commands);
    add_produce(program, commands);
    add_migrate(program, commands);
    add_explain(program, commands);
    add_offsets(program, commands);
    add_pause(program, commands);
    add_groups(program, commands);
    add_dlq(program, commands);
    add_forget(program, commands);
    add_import(program, commands);
    add_replay(program, commands);
    add_outbox(program, commands);
    add_retention(program, commands);
    add_health(program, commands);
}

}  // namespace onceward
