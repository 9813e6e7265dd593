// `onceward audit`: who did what by hand, why and from where.

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/operator/time_option.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct AuditOptions : OperatorOptions {
    std::string since;
    std::string until;
    std::string who;
    std::string what;
    std::int64_t limit = 100;
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
    nlohmann::json acts = rows_json(reading_session(setup).query(sql::audit_list, parameters),
                                    {"entry", "at", "database_role", "who", "role", "way", "host",
                                     "address", "act", "command", "target", "reason", "outcome",
                                     "details"});
    for (nlohmann::json& act : acts) {
        act["details"] = nlohmann::json::parse(json_text(act["details"]));
    }
    // The newest rows were asked for, and are read from the oldest on.
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

int audit(const AuditOptions& options) {
    Collected found = collect(operator_setups(options, "audit"), [&](const OperatorSetup& setup) {
        return acts_on(options, setup);
    });
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

}  // namespace

void add_audit(CLI::App& program, Commands& commands) {
    auto options = std::make_shared<AuditOptions>();
    CLI::App* command =
        add_operator_command(program, commands, "audit",
                             "Who did what by hand, why and from where", options, audit);
    command
        ->add_option("--since", options->since,
                     "Acts from then on: 2026-01-31T12:00:00Z, a date, or how long ago, 1h")
        ->check(moment_check())
        ->type_name("TIME");
    command->add_option("--until", options->until, "Acts before then")
        ->check(moment_check())
        ->type_name("TIME");
    command
        ->add_option("--who", options->who,
                     "Only acts of this user, token, certificate or database role")
        ->type_name("NAME");
    command
        ->add_option("--what", options->what,
                     "Only these acts, such as `forget`, `dlq` or `dlq discard`")
        ->type_name("ACT");
    command->add_option("--limit", options->limit, "At most this many, the newest")
        ->capture_default_str()
        ->check(whole_number(1))
        ->type_name("N");
    add_json_flag(*command, *options);
    end_help(*command, {.examples = {{"audit --since 1d", "all acts since yesterday"},
                                     {"audit --what forget --json", "for a program"}},
                        .exit_codes = {{exit_ok, "shown"}, {exit_not_found, "no act matches"}}});
}

}  // namespace onceward
