// `onceward audit`: who did what by hand, why and from where. With --topic: what the consumer that
// writes a table made of a topic's keys.

#include <algorithm>
#include <iostream>
#include <numeric>

#include "cli/commands/commands.h"
#include "cli/composition/registries.h"
#include "cli/effects/effect_audit.h"
#include "cli/operator/offsets_move.h"
#include "cli/operator/operator_options.h"
#include "cli/operator/time_option.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct AuditOptions : OperatorOptions {
    std::string since;
    std::string until;
    std::string who;
    std::string what;
    std::int64_t limit = 100;
    // The next four compare a topic with a table.
    std::string table;
    std::string column;
    std::string from = "earliest";
    std::string to = "latest";
};

nlohmann::json acts_on(const AuditOptions& options, const OperatorSetup& setup) {
    const auto raw = [](const std::optional<std::chrono::milliseconds>& time) {
        return time ? std::optional<std::int64_t>(time->count()) : std::nullopt;
    };
    Parameters parameters;
    parameters.optional_integer(raw(moment_of(options.since)))
        .optional_integer(raw(moment_of(options.until)))
        .optional_text(unless_empty(options.who))
        .optional_text(unless_empty(options.what))
        .integer(options.limit);
    nlohmann::json acts =
        rows_json(reading_session(setup).query(sql::audit_list, parameters),
                  {"entry", "at", "database_role", "who", "role", "way", "host", "address", "act",
                   "command", "target", "reason", "outcome", "details"});
    for (nlohmann::json& act : acts) {
        act["details"] = nlohmann::json::parse(json_text(act["details"]));
    }
    // The query returns the newest rows, the newest first; they are shown from the oldest on.
    std::reverse(acts.begin(), acts.end());
    return acts;
}

// The person or the token, and the role that the server vouches for.
std::string who_text(const nlohmann::json& act) {
    const std::string role = "role " + json_text(act["database_role"]);
    return act["who"].is_null() ? role : json_text(act["who"]) + " (" + role + ")";
}

std::string place_text_of(const nlohmann::json& act) {
    const std::string host = json_text(act["host"]);
    const std::string address = json_text(act["address"]);
    return host + (host.empty() || address.empty() ? "" : " ") + address;
}

std::vector<Stretch> stretches_of(BrokerView& log, const AuditOptions& options) {
    std::vector<int> partitions(
        static_cast<std::size_t>(log.queries().partition_count(options.topic)));
    std::iota(partitions.begin(), partitions.end(), 0);
    std::vector<Stretch> stretches;
    for (const int number : partitions) {
        const TopicPartition partition{options.topic, Partition{number}};
        const auto place = [&](const std::string& text, const char* option) {
            return resolve_position(&log, partition, parse_position(text, option));
        };
        stretches.push_back({partition, place(options.from, "--from"), place(options.to, "--to")});
    }
    return stretches;
}

void show_effects(const AuditOptions& options, const nlohmann::json& found) {
    if (options.json) return print_json(found);
    std::cout << filled(
        "{messages} messages, {without_key} of them without a key; {keys} keys\n"
        "sent more than once: {sent_again} keys, {repeats} messages more than keys\n"
        "in table " +
            options.table +
            ": {with_one_row} keys have one row, {with_several_rows} have "
            "more, {with_no_row} have none\n"
            "sent more than once and more than one row: {sent_again_with_several_rows} keys\n",
        found);
    if (found.at("examples").empty()) return;
    print_table({"key", "messages", "rows"}, found.at("examples"));
}

int audit_topic(const AuditOptions& options) {
    const OperatorSetup setup = operator_setup(options, "audit", options.topic);
    const Configuration& configuration =
        configuration_of(setup, "the configuration says where a message's key is: give it with -c");
    const TopicConfiguration& topic = topic_named(configuration, options.topic);
    BrokerView log(configuration.kafka);
    Progress progress("audit", "messages");
    EffectAudit audit{configuration,
                      topic,
                      stretches_of(log, options),
                      options.table,
                      options.column,
                      log.queries().identity(topic.name).topic_id,
                      patient_schemas(configuration, topic),
                      {}};
    std::int64_t all = 0;
    for (const Stretch& stretch : audit.stretches) all += stretch.end.raw() - stretch.begin.raw();
    audit.progress = [&](std::int64_t messages) { progress.of(messages, all); };
    Connection connection(setup.connection);
    show_effects(options, audit_effects(connection, audit));
    return exit_ok;
}

int audit(const AuditOptions& options) {
    if (!options.topic.empty()) return audit_topic(options);
    Collected found = collect(operator_setups(options, "audit"),
                              [&](const OperatorSetup& setup) { return acts_on(options, setup); });
    if (options.json) {
        print_json(found.rows);
    } else if (found.rows.empty()) {
        std::cout << "no act matches\n";
    } else {
        for (nlohmann::json& act : found.rows) {
            act["by"] = who_text(act);
            act["from"] = place_text_of(act);
        }
        print_table({"at", "by", "way", "from", "act", "target", "outcome", "reason"}, found.rows);
    }
    return found.code_or_not_found();
}

void add_act_filters(CLI::App& command, AuditOptions& options) {
    command
        .add_option("--since", options.since,
                    "Acts from then on: 2026-01-31T12:00:00Z, a date, or how long ago, 1h")
        ->check(moment_check())
        ->type_name("TIME");
    command.add_option("--until", options.until, "Acts before then")
        ->check(moment_check())
        ->type_name("TIME");
    command
        .add_option("--who", options.who,
                    "Only acts of this user, token, certificate or database role")
        ->check(not_empty("a name"))
        ->type_name("NAME");
    command
        .add_option("--what", options.what,
                    "Only these acts, such as `forget`, `dlq` or `dlq discard`")
        ->check(not_empty("an act"))
        ->type_name("ACT");
    command.add_option("--limit", options.limit, "At most this many, the newest")
        ->capture_default_str()
        ->check(whole_number(1))
        ->type_name("N");
}

// They compare a topic with a table, which shows no acts.
void add_effect_options(CLI::App& command, AuditOptions& options) {
    CLI::Option* topic =
        command
            .add_option("--topic", options.topic,
                        "Count what a consumer made of this topic, in place of acts")
            ->check(not_empty("a topic"))
            ->type_name("NAME");
    for (const char* filter : {"--since", "--until", "--who", "--what", "--limit"}) {
        topic->excludes(command.get_option(filter));
    }
    CLI::Option* table =
        command.add_option("--table", options.table, "The table that it writes")
            ->check(not_empty("a table"))
            ->needs(topic)
            ->type_name("NAME");
    CLI::Option* column =
        command
            .add_option("--column", options.column,
                        "The column of it that holds the key, by its text")
            ->check(not_empty("a column"))
            ->needs(topic)
            ->type_name("NAME");
    topic->needs(table)->needs(column);
    command
        .add_option("--from", options.from,
                    std::string("Where the range begins: earliest, ") + moment_forms)
        ->capture_default_str()
        ->type_name("POSITION")
        ->check(position_check())
        ->needs(topic);
    command.add_option("--to", options.to, "Where it ends, exclusive: as --from, or latest")
        ->capture_default_str()
        ->type_name("POSITION")
        ->check(position_check())
        ->needs(topic);
}

}  // namespace

void add_audit(CLI::App& program, Commands& commands) {
    auto options = std::make_shared<AuditOptions>();
    CLI::App* command = add_operator_command(
        program, commands, "audit", "Who did what by hand, why and from where", options, audit);
    add_act_filters(*command, *options);
    add_effect_options(*command, *options);
    add_json_flag(*command, *options);
    end_help(*command,
             {.notes = "With --topic it counts for a consumer that writes a table: how "
                       "many keys came more than once, how many rows they have, and how "
                       "many keys have none. It only reads, and needs neither a group nor "
                       "Onceward's own tables.",
              .examples = {{"audit --since 1d", "all acts since yesterday"},
                           {"audit --what forget --json", "for a program"},
                           {"audit --topic orders --table orders --column order_id "
                            "--from 1d",
                            "what an existing consumer did twice"}},
              .exit_codes = {{exit_ok, "shown"}, {exit_not_found, "no act matches"}}});
}

}  // namespace onceward
