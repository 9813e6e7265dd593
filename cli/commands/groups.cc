// `onceward groups`: which consumer groups are known here, and how to retire those that no longer
// run.

#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct GroupsOptions : OperatorOptions {
    bool undo = false;
};

int list(const GroupsOptions& options) {
    const Collected found =
        collect(operator_setups(options, "groups"), [](const OperatorSetup& setup) {
            return rows_json(reading_session(setup).query(sql::groups_list, {}),
                             {"group", "topic", "ledgers", "fences", "retired", "moved_at",
                              "watermark", "paused"});
        });
    if (options.json) {
        print_json(found.rows);
    } else {
        print_table({"database", "group", "topic", "ledgers", "fences", "retired",
                     "last moved=moved_at", "watermark", "paused"},
                    found.rows);
    }
    return found.code;
}

// The group, and the topic that is named.
Parameters group_and_topic(const GroupsOptions& options) {
    return Parameters{options.group, unless_empty(options.topic)};
}

// Prints a line for each row, and adds the row to `changed`.
void note(const GroupsOptions& options, const QueryResult& rows,
          const std::vector<std::string_view>& names, const std::string& sentence,
          nlohmann::json& changed) {
    for (auto& row : rows_json(rows, names)) {
        if (!options.json) std::cout << filled(sentence, row) << '\n';
        changed.push_back(std::move(row));
    }
}

int retire(const GroupsOptions& options) {
    usage_error_if(options.partition >= 0 && (options.topic.empty() || !options.ledger.empty()),
                   "--partition needs --topic and goes without --ledger");
    Connection connection = writing_session(operator_setup(options, "groups", options.topic));
    const std::string verb =
        std::string(options.yes ? "" : "would be ") + (options.undo ? "restored" : "retired");
    nlohmann::json changed = nlohmann::json::array();
    // A dry run does all of it and does not commit.
    OwnedTransaction transaction(connection);
    if (options.ledger.empty() && options.partition < 0 && !options.undo) {
        // A replay is not a group, but its fences are under a name like a group's.
        note(options, transaction.query(sql::groups_end_replay, group_and_topic(options)),
             {"topic", "replay", "read"},
             std::string(options.yes ? "ended" : "would be ended") +
                 ": replay {replay} of topic {topic}, and keeps what it has done so far (read: "
                 "{read}, exclusive)",
             changed);
    }
    if (options.ledger.empty()) {
        const auto partition =
            options.partition < 0 ? std::nullopt : std::optional<std::int64_t>(options.partition);
        note(
            options,
            transaction.query(options.undo ? sql::groups_restore_fences : sql::groups_retire_fences,
                              group_and_topic(options).optional_integer(partition)),
            {"topic", "partition", "next_offset", "moved_at"},
            verb + ": {topic} partition {partition} at {next_offset}, last moved {moved_at}",
            changed);
    }
    // If a ledger is named, only its feed is retired: the topic is still read, into another one.
    if (options.partition < 0) {
        note(
            options,
            transaction.query(options.undo ? sql::groups_restore_feeds : sql::groups_retire_feeds,
                              group_and_topic(options).optional_text(unless_empty(options.ledger))),
            {"topic", "ledger"}, verb + ": {topic} as a feed of ledger {ledger}", changed);
    }
    if (options.yes && !changed.empty()) {
        transaction.query(sql::audit_write, {options.undo ? "groups restore" : "groups retire",
                                             "group " + options.group, "done",
                                             nlohmann::json{{"changed", changed}}.dump()});
    }
    if (options.yes) transaction.commit();
    if (options.json) {
        print_json({{"group", options.group}, {"changed", changed}, {"done", options.yes}});
    } else if (changed.empty()) {
        std::cout << "nothing of group " << options.group << " can be "
                  << (options.undo ? "brought back" : "retired") << '\n';
    } else if (options.undo) {
        std::cout
            << "WARNING: while it was retired its claims were not kept: what its log still holds "
               "from before may be applied a SECOND time\n";
    } else {
        std::cout << "these no longer hold retention back, and no worker takes them\n";
    }
    if (!options.yes && !options.json && !changed.empty()) {
        std::cout << "nothing was changed; do it with --yes\n";
    }
    return changed.empty() ? exit_not_found : exit_ok;
}

}  // namespace

void add_groups(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("groups", "List consumer groups, or retire one");
    command->require_subcommand(1);
    auto options = std::make_shared<GroupsOptions>();
    const auto add = [&](const char* name, const char* text, int (*work)(const GroupsOptions&)) {
        CLI::App* subcommand = add_operator_command(*command, commands, name, text, options, work);
        add_json_flag(*subcommand, *options);
        return subcommand;
    };
    end_help(*add("list", "Every group and topic with a fence or a ledger here", list),
             {.examples = {{"groups list", "groups, topics, when each moved last"}}});
    CLI::App* end =
        add("retire", "Retention no longer waits for a retired group (a dry run first)", retire);
    end->add_option("group", options->group,
                    "The consumer group; or 'GROUP replay N', a replay that nobody continues")
        ->required()
        ->check(not_empty("a group"));
    end->add_option("--topic", options->topic, "Only this topic")->check(not_empty("a topic"));
    end->add_option("--partition", options->partition,
                    "Only this partition, which no longer exists")
        ->check(whole_number());
    end->add_option("--ledger", options->ledger,
                    "Only as a feed of this ledger; the group itself continues with another one")
        ->check(not_empty("a ledger"));
    end->add_flag("--undo", options->undo, "Bring it back");
    offer_reason(*end, options->reason, "the audit log");
    add_yes_flag(*end, *options);
    end_help(*end, {.examples = {{"groups retire old-writer", "a dry run: what would be retired"},
                                 {"groups retire old-writer --yes", "retire it"}},
                    .exit_codes = {{exit_ok, "done or planned"},
                                   {exit_not_found, "there is nothing to change"}}});
}

}  // namespace onceward
