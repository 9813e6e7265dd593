// `onceward outbox`: what waits to be sent to Kafka, and who sends it.

#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/json_output.h"
#include "cli/terminal/text_table.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t most_counted = 100'000;

struct OutboxArguments : OperatorOptions {};

nlohmann::json relay_of(Connection& connection, const std::string& group) {
    const QueryResult row = connection.query(sql::outbox_relay, Parameters{}.text(group));
    if (row.rows() == 0) return nullptr;
    const auto text = [&](int column) {
        return row.is_null(0, column) ? nlohmann::json(nullptr)
                                      : nlohmann::json(row.text(0, column));
    };
    return {{"pid", row.integer(0, 0)},
            {"application", text(1)},
            {"role", text(2)},
            {"since", text(3)}};
}

// `group`: '' for those of which something waits.
nlohmann::json groups_on(const OperatorSetup& setup, const std::string& group) {
    Connection connection = reading_session(setup);
    Parameters wanted;
    if (group.empty()) {
        wanted.null();
    } else {
        wanted.text(group);
    }
    const QueryResult rows = connection.query(sql::outbox_topics, wanted);
    std::map<std::string, nlohmann::json> topics;
    if (!group.empty()) topics.emplace(group, nlohmann::json::array());
    for (int row = 0; row < rows.rows(); ++row) {
        auto& list = topics.try_emplace(std::string(rows.text(row, 0)), nlohmann::json::array())
                         .first->second;
        list.push_back({{"topic", rows.text(row, 1)},
                        {"waiting", rows.integer(row, 2)},
                        {"or_more", rows.integer(row, 2) == most_counted},
                        {"oldest_at", rows.text(row, 3)},
                        {"oldest_seconds", rows.integer(row, 4)}});
    }
    nlohmann::json groups = nlohmann::json::array();
    for (auto& [name, list] : topics) {
        groups.push_back({{"database", setup.database},
                          {"group", name},
                          {"relay", relay_of(connection, name)},
                          {"topics", std::move(list)}});
    }
    return groups;
}

std::string relay_text(const nlohmann::json& relay) {
    if (relay.is_null()) return "nobody relays";
    std::string text = "relayed by the session " + relay["pid"].dump();
    const auto add = [&](const char* before, const char* name) {
        if (relay[name].is_string()) text += before + relay[name].get<std::string>();
    };
    add(", ", "application");
    add(", role ", "role");
    add(", since ", "since");
    return text;
}

void print_text(const nlohmann::json& groups) {
    TextTable table({"database", "group", "topic", "waiting", "oldest", "seconds"});
    bool waiting = false;
    for (const auto& group : groups) {
        for (const auto& topic : group["topics"]) {
            waiting = true;
            table.add({group["database"].get<std::string>(), group["group"].get<std::string>(),
                       topic["topic"].get<std::string>(),
                       topic["waiting"].dump() + (topic["or_more"].get<bool>() ? "+" : ""),
                       topic["oldest_at"].get<std::string>(), topic["oldest_seconds"].dump()});
        }
    }
    if (waiting) {
        table.print(std::cout);
    } else {
        std::cout << "nothing waits\n";
    }
    for (const auto& group : groups) {
        std::cout << "group " << group["group"].get<std::string>() << ": "
                  << relay_text(group["relay"]) << '\n';
    }
}

int outbox(const OutboxArguments& arguments) {
    nlohmann::json groups = nlohmann::json::array();
    const int code = on_each(operator_setups(arguments, "outbox"), [&](const OperatorSetup& setup) {
        const bool known = !arguments.group.empty() || setup.configuration.has_value();
        const std::string group = known ? group_of(setup, arguments.group) : "";
        for (auto& found : groups_on(setup, group)) groups.push_back(std::move(found));
        return exit_ok;
    });
    if (arguments.json) {
        print_json(groups);
    } else {
        print_text(groups);
    }
    return code;
}

}  // namespace

void add_outbox(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<OutboxArguments>();
    CLI::App* command = add_operator_command(
        program, commands, "outbox",
        "Show what waits to be sent to Kafka, how long, and who sends it", arguments, outbox);
    command->add_option("--group", arguments->group,
                        "The consumer group; default: the configuration's, and with --dsn alone "
                        "each of which something waits");
    add_json_flag(*command, *arguments);
}

}  // namespace onceward
