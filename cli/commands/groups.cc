// `onceward groups`: which consumer groups are known here, and how to retire those that no longer
// run.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/json_output.h"
#include "cli/terminal/text_table.h"
#include "dedup/postgres/transaction.h"
#include "dedup/server/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct GroupsOptions : OperatorOptions {
    std::string topic;
    std::string ledger;
    int partition = -1;
    bool undo = false;
};

void list_on(const OperatorSetup& setup, nlohmann::json& list, TextTable& table) {
    Connection connection = reading_session(setup);
    const QueryResult rows = connection.query(sql::groups_list, {});
    for (int row = 0; row < rows.rows(); ++row) {
        const auto cell = [&](int column) {
            return std::string(rows.optional_text(row, column).value_or(""));
        };
        const auto optional = [&](int column) {
            return rows.is_null(row, column) ? nlohmann::json(nullptr)
                                             : nlohmann::json(cell(column));
        };
        table.add({setup.database, cell(0), cell(1), cell(2), cell(3), cell(4), cell(5), cell(6),
                   cell(7)});
        list.push_back({{"database", setup.database},
                        {"group", cell(0)},
                        {"topic", cell(1)},
                        {"ledgers", optional(2)},
                        {"fences", rows.integer(row, 3)},
                        {"retired", rows.integer(row, 4)},
                        {"moved_at", optional(5)},
                        {"watermark", optional(6)},
                        {"paused", optional(7)}});
    }
}

int list(const GroupsOptions& options) {
    nlohmann::json list = nlohmann::json::array();
    TextTable table({"database", "group", "topic", "ledgers", "fences", "retired", "last moved",
                     "watermark", "paused"});
    const int code = on_each(operator_setups(options, "groups"), [&](const OperatorSetup& setup) {
        list_on(setup, list, table);
        return exit_ok;
    });
    if (options.json) {
        print_json(list);
    } else {
        table.print(std::cout);
    }
    return code;
}

void add_optional(Parameters& parameters, const std::string& text) {
    if (text.empty()) {
        parameters.null();
    } else {
        parameters.text(text);
    }
}

// One ledger's feed alone, where a ledger is named: the topic is read on, into another one.
QueryResult change_fences(Transaction& transaction, const GroupsOptions& options) {
    Parameters parameters;
    parameters.text(options.group);
    add_optional(parameters, options.topic);
    if (options.partition < 0) {
        parameters.null();
    } else {
        parameters.integer(options.partition);
    }
    return transaction.query(options.undo ? sql::groups_restore_fences : sql::groups_retire_fences,
                             parameters);
}

QueryResult change_feeds(Transaction& transaction, const GroupsOptions& options) {
    Parameters parameters;
    parameters.text(options.group);
    add_optional(parameters, options.topic);
    add_optional(parameters, options.ledger);
    return transaction.query(options.undo ? sql::groups_restore_feeds : sql::groups_retire_feeds,
                             parameters);
}

// A replay is no group; it has a name like one, under which its fences are.
void end_replay(Transaction& transaction, const GroupsOptions& options, nlohmann::json& changed) {
    Parameters parameters;
    parameters.text(options.group);
    add_optional(parameters, options.topic);
    const QueryResult ended = transaction.query(sql::groups_end_replay, parameters);
    for (int row = 0; row < ended.rows(); ++row) {
        changed.push_back({{"topic", ended.text(row, 0)}, {"replay", ended.integer(row, 1)}});
        if (options.json) continue;
        std::cout << (options.yes ? "ended" : "would be ended") << ": replay " << ended.text(row, 1)
                  << " of topic " << ended.text(row, 0) << ", and keeps what it has done so far\n";
    }
}

int retire(const GroupsOptions& options) {
    if (options.partition >= 0 && (options.topic.empty() || !options.ledger.empty())) {
        throw UsageError("--partition needs --topic and goes without --ledger");
    }
    Connection connection = writing_session(operator_setup(options, "groups", options.topic));
    require_version(connection);
    const std::string verb =
        std::string(options.yes ? "" : "would be ") + (options.undo ? "restored" : "retired");
    nlohmann::json changed = nlohmann::json::array();
    // The dry run does it all and leaves without COMMIT.
    OwnedTransaction transaction(connection);
    if (options.ledger.empty() && options.partition < 0 && !options.undo) {
        end_replay(transaction, options, changed);
    }
    if (options.ledger.empty()) {
        const QueryResult fences = change_fences(transaction, options);
        for (int row = 0; row < fences.rows(); ++row) {
            changed.push_back({{"topic", fences.text(row, 0)},
                               {"partition", fences.integer(row, 1)},
                               {"next_offset", fences.integer(row, 2)},
                               {"moved_at", fences.text(row, 3)}});
            if (options.json) continue;
            std::cout << verb << ": " << fences.text(row, 0) << " partition " << fences.text(row, 1)
                      << " at " << fences.text(row, 2) << ", last moved " << fences.text(row, 3)
                      << '\n';
        }
    }
    if (options.partition < 0) {
        const QueryResult feeds = change_feeds(transaction, options);
        for (int row = 0; row < feeds.rows(); ++row) {
            changed.push_back({{"topic", feeds.text(row, 0)}, {"ledger", feeds.text(row, 1)}});
            if (options.json) continue;
            std::cout << verb << ": " << feeds.text(row, 0) << " as a feed of ledger "
                      << feeds.text(row, 1) << '\n';
        }
    }
    if (options.yes) transaction.commit();
    if (options.json) {
        print_json({{"group", options.group}, {"changed", changed}, {"done", options.yes}});
    } else if (changed.empty()) {
        std::cout << "nothing of group " << options.group << " can be "
                  << (options.undo ? "brought back" : "retired") << '\n';
    } else if (options.undo) {
        std::cout
            << "WARNING: while it was retired its claims were not held: what its log still holds "
               "from before may be applied a SECOND time\n";
    } else {
        std::cout << "retention no longer waits for these, and no worker takes them\n";
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
    add("list", "Every group and topic with a fence or a ledger here", list);
    CLI::App* end =
        add("retire", "Retention no longer waits for a retired group (a dry run first)", retire);
    end->add_option("group", options->group,
                    "The consumer group; or 'GROUP replay N', a replay that nobody continues")
        ->required();
    end->add_option("--topic", options->topic, "Only this topic");
    end->add_option("--partition", options->partition,
                    "Only this partition, which no longer "
                    "exists")
        ->check(CLI::NonNegativeNumber);
    end->add_option("--ledger", options->ledger,
                    "Only as a feed of this ledger; the group itself continues with another one");
    end->add_flag("--undo", options->undo, "Bring it back");
    add_yes_flag(*end, *options);
    end->footer("Exit codes: 0 done or planned, 3 there is nothing to change.");
}

}  // namespace onceward
