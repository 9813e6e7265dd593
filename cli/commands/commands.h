#pragma once
// The list of commands. A new one takes a line here, its name in one of the groups of commands.cc,
// which --help shows, its file in cli/CMakeLists.txt and a row in docs/commands.md.

namespace CLI {
class App;
}

namespace onceward {

class Commands;

void add_run(CLI::App& program, Commands& commands);
void add_serve(CLI::App& program, Commands& commands);
void add_describe(CLI::App& program, Commands& commands);
void add_init(CLI::App& program, Commands& commands);
void add_check(CLI::App& program, Commands& commands);
void add_plan(CLI::App& program, Commands& commands);
void add_test(CLI::App& program, Commands& commands);
void add_doctor(CLI::App& program, Commands& commands);
void add_size(CLI::App& program, Commands& commands);
void add_config(CLI::App& program, Commands& commands);
void add_produce(CLI::App& program, Commands& commands);
void add_migrate(CLI::App& program, Commands& commands);
void add_explain(CLI::App& program, Commands& commands);
// `onceward offsets skip` and `retry`. REQUIRES: call it before `offsets` itself is added, since
// `offsets` counts as chosen too if one of these is.
void add_offsets_skip(CLI::App& offsets, Commands& commands);
void add_offsets(CLI::App& program, Commands& commands);
void add_pause(CLI::App& program, Commands& commands);
void add_groups(CLI::App& program, Commands& commands);
void add_dlq(CLI::App& program, Commands& commands);
void add_forget(CLI::App& program, Commands& commands);
void add_audit(CLI::App& program, Commands& commands);
void add_import(CLI::App& program, Commands& commands);
void add_replay(CLI::App& program, Commands& commands);
void add_outbox(CLI::App& program, Commands& commands);
void add_ledger(CLI::App& program, Commands& commands);
void add_retention(CLI::App& program, Commands& commands);
void add_health(CLI::App& program, Commands& commands);
void add_manual(CLI::App& program, Commands& commands);

void add_all_commands(CLI::App& program, Commands& commands);

}  // namespace onceward
