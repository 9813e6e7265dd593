// `onceward outbox`: what waits to be sent to Kafka, and who sends it.

#include <iostream>
#include <map>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t most_counted = 100'000;

// `group`: '' for all groups of which something waits.
nlohmann::json groups_on(const OperatorSetup& setup, const std::string& group) {
    Connection connection = reading_session(setup);
    std::map<std::string, nlohmann::json> topics;
    if (!group.empty()) topics.emplace(group, nlohmann::json::array());
    for (auto& topic : rows_json(connection.query(sql::outbox_topics, {unless_empty(group)}),
                                 {"group", "topic", "waiting", "oldest_at", "oldest_seconds"})) {
        topic["or_more"] = topic["waiting"] == most_counted;
        nlohmann::json& list = topics[topic["group"]];
        list.push_back(std::move(topic));
    }
    nlohmann::json groups = nlohmann::json::array();
    for (auto& [name, list] : topics) {
        for (auto& topic : list) topic.erase("group");
        const nlohmann::json relays = rows_json(connection.query(sql::outbox_relay, {name}),
                                                {"pid", "application", "role", "since"});
        groups.push_back({{"group", name},
                          {"relay", relays.empty() ? nlohmann::json(nullptr) : relays.front()},
                          {"topics", std::move(list)}});
    }
    return groups;
}

std::string relay_text(const nlohmann::json& relay) {
    if (relay.is_null()) return "nobody relays";
    std::string text = "relayed by the session " + relay["pid"].dump();
    const std::pair<const char*, const char*> parts[] = {
        {"application", ", "}, {"role", ", role "}, {"since", ", since "}};
    for (const auto& [name, before] : parts) {
        if (!relay[name].is_null()) text += before + json_text(relay[name]);
    }
    return text;
}

void print_groups(const nlohmann::json& groups) {
    nlohmann::json waiting = nlohmann::json::array();
    for (const auto& group : groups) {
        for (nlohmann::json topic : group["topics"]) {
            topic.update({{"database", group["database"]}, {"group", group["group"]}});
            topic["waiting"] = topic["waiting"].dump() + (topic["or_more"] == true ? "+" : "");
            waiting.push_back(std::move(topic));
        }
    }
    if (waiting.empty()) {
        std::cout << "nothing waits\n";
    } else {
        print_table(
            {"database", "group", "topic", "waiting", "oldest=oldest_at", "seconds=oldest_seconds"},
            waiting);
    }
    for (const auto& group : groups) {
        std::cout << "group " << json_text(group["group"]) << ": " << relay_text(group["relay"])
                  << '\n';
    }
}

int outbox(const OperatorOptions& options) {
    const Collected found =
        collect(operator_setups(options, "outbox"), [&](const OperatorSetup& setup) {
            const bool known = !options.group.empty() || setup.configuration.has_value();
            return groups_on(setup, known ? group_of(setup, options.group) : "");
        });
    if (options.json) {
        print_json(found.rows);
    } else {
        print_groups(found.rows);
    }
    return found.code;
}

}  // namespace

void add_outbox(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<OperatorOptions>();
    CLI::App* command = add_operator_command(
        program, commands, "outbox",
        "Show what waits to be sent to Kafka, how long, and who sends it", arguments, outbox);
    command
        ->add_option("--group", arguments->group,
                     "The consumer group; default: the configuration's, and with --dsn alone "
                     "each of which something waits")
        ->type_name("NAME")
        ->group(place_options);
    add_json_flag(*command, *arguments);
    end_help(*command, {.examples = {{"outbox", "what waits now"}}});
}

}  // namespace onceward
