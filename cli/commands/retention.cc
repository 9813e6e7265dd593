// `onceward retention`: what each ledger keeps and what holds it back; and one step of the job that
// workers run by themselves.

#include "dedup/retention/retention.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/configuration/units.h"
#include "cli/operator/ledger_json.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "dedup/retention/ledger_view.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr int holders_shown = 5;

struct RetentionArguments : OperatorOptions {
    bool run_once = false;
    bool any_hour = false;
};

std::string seconds_text(std::chrono::seconds duration) {
    return duration.count() == 0 ? "" : duration_text(duration);
}

std::string holder_text(const RetentionHolder& holder) {
    if (holder.replay) {
        return filled("replay {replay} of topic {topic}, which {started_by} began at {started_at}",
                      to_json(holder)) +
               ": run it again to continue, or end it with `onceward groups retire '" +
               holder.name() + "' --yes`";
    }
    const std::string passed =
        holder.watermark ? "passed up to " + *holder.watermark : "never passed";
    if (is_route_name(holder.topic)) {
        // Requests have no log: their watermark is the clock, minus the longest request.
        return "requests to " + holder.topic + " of group " + holder.group + ": " + passed;
    }
    return "group " + holder.group + " topic " + holder.topic + ' ' +
           (holder.partition < 0 ? std::string("its list of partitions")
                                 : "partition " + std::to_string(holder.partition)) +
           ": " + passed;
}

// The hours of the ledger, from the configuration; nullopt if it does not set them.
std::optional<DailyHours> purge_hours(const OperatorSetup& setup, const std::string& ledger) {
    if (!setup.configuration) return std::nullopt;
    const auto found = setup.configuration->ledgers.find(ledger);
    return found == setup.configuration->ledgers.end() ? std::nullopt : found->second.purge_hours;
}

bool within_now(const DailyHours& hours) {
    const auto now = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now());
    return within(hours, now.time_since_epoch() % std::chrono::hours(24));
}

// Why a ledger keeps claims beyond their retention. `hours`: those that it waits for.
std::string held_text(const LedgerView& ledger, const std::optional<DailyHours>& hours,
                      const std::vector<RetentionHolder>& holders) {
    std::string text;
    if (hours) {
        text = ledger.name + " drops claims within its purge_hours only, " + hours_text(*hours) +
               " UTC\n";
    }
    text += ledger.name + " waits for, the oldest first:\n";
    for (const RetentionHolder& holder : holders) text += "  " + holder_text(holder) + '\n';
    return text;
}

// Keys whose effect has not ended; no retention drops them.
std::string open_leases_text(const LedgerView& ledger) {
    return ledger.name + " has keys in flight that stay, the oldest for " +
           duration_text(ledger.oldest_lease) + ": " + std::to_string(ledger.leases_held) +
           " under a lease, " + std::to_string(ledger.leases_waiting) + " whose lease has ended\n";
}

int show(const RetentionArguments& arguments) {
    const std::vector<OperatorSetup> setups = operator_setups(arguments, "retention");
    nlohmann::json all = nlohmann::json::array();
    TextTable table({"ledger", "store", "reach", "retention", "generations", "claims", "bytes",
                     "oldest since", "held back"});
    std::string held;
    std::string open_leases;
    const int code = on_each(setups, [&](const OperatorSetup& setup) {
        Connection connection = reading_session(setup);
        for (const LedgerView& ledger :
             view_ledgers(connection, unless_empty(arguments.ledger), std::nullopt)) {
            all.push_back(to_json(ledger));
            all.back()["database"] = setup.database;
            std::optional<DailyHours> hours = purge_hours(setup, ledger.name);
            if (hours) all.back()["purge_hours"] = hours_text(*hours);
            if (hours && within_now(*hours)) hours.reset();
            table.add({ledger.name, ledger.store, ledger.reach, ledger.retention_text,
                       std::to_string(ledger.generations),
                       (ledger.claims_counted ? "" : "about ") + std::to_string(ledger.claims),
                       std::to_string(ledger.bytes), ledger.oldest,
                       seconds_text(ledger.held_back)});
            if (ledger.leases_held + ledger.leases_waiting > 0) {
                open_leases += open_leases_text(ledger);
            }
            if (ledger.held_back == std::chrono::seconds(0)) continue;
            const auto holders = retention_holders(connection, ledger.ledger, holders_shown);
            held += held_text(ledger, hours, holders);
            all.back()["waits_for_hours"] = hours.has_value();
            for (const RetentionHolder& holder : holders) {
                all.back()["held_back_by"].push_back(to_json(holder));
            }
        }
        return exit_ok;
    });
    if (arguments.json) {
        print_json(all);
    } else if (all.empty()) {
        std::cout << "there is no such ledger here\n";
    } else {
        table.print(std::cout);
        std::cout << held << open_leases;
    }
    return code == exit_ok && all.empty() ? exit_not_found : code;
}

// As in a worker's process: if one ledger fails, the others still have their turn.
nlohmann::json failed_look(const LedgerOptions& ledger, const PostgresError& error) {
    warn("ledger " + ledger.name + ": " + error.what());
    tell_missing_right(error);
    return {{"ledger", ledger.name},
            {"looked", false},
            {"failed", true},
            {"sqlstate", error.sqlstate()},
            {"error", error.summary()}};
}

// Writes the step into the audit log. A step is several transactions, each complete by itself, so
// the log has their sum. A step that found nothing to do, as most do that a timer starts, is not in
// it. DANGER: a failure here does not undo the step, so the step's report stays and is marked; it
// is not reported a second time as failed. False if the session has to be replaced.
bool note_step(Connection& connection, nlohmann::json& report) try {
    nlohmann::json did = nlohmann::json::object();
    for (const char* name : {"rotated", "sealed", "merged", "expired", "tables_dropped",
                             "leases_deleted"}) {
        if (report[name] != 0 && report[name] != false) did[name] = report[name];
    }
    if (did.empty()) return true;
    const std::string target = "ledger " + json_text(report["ledger"]);
    connection.query(sql::audit_write, {"retention", target, "done", did.dump()});
    return true;
} catch (const PostgresError& error) {
    warn("ledger " + json_text(report["ledger"]) +
         ": the step was taken, and is not in the audit log: " + error.what());
    report["not_audited"] = error.summary();
    return false;
}

nlohmann::json look_once(const LedgerOptions& ledger, const ConnectionOptions& options,
                         Connection& connection) {
    RetentionJob job({.connection = options, .ledgers = {ledger}});
    const RetentionReport report = job.look(connection, ledger);
    return {{"ledger", ledger.name},
            {"looked", report.looked},
            {"failed", false},
            {"rotated", report.rotated},
            {"sealed", report.sealed},
            {"merged", report.merged},
            {"expired", report.unlisted},
            {"tables_dropped", report.dropped},
            {"leases_deleted", report.leases},
            {"busy", report.busy},
            {"held_back", report.held_back},
            {"waits_for_hours", report.waits_for_hours}};
}

// The ledgers of the configuration, and those of services, which are in no configuration.
std::vector<LedgerOptions> ledgers_to_step(const OperatorSetup& setup, Connection& connection) {
    std::vector<LedgerOptions> ledgers;
    if (setup.configuration) ledgers = ledgers_on(*setup.configuration, setup.database);
    for (LedgerOptions& service : service_ledgers(connection)) {
        const auto known = std::ranges::find(ledgers, service.name, &LedgerOptions::name);
        if (known == ledgers.end()) ledgers.push_back(std::move(service));
    }
    usage_error_if(!setup.configuration && ledgers.empty(),
                   "the configuration says when a generation is full: give it with -c");
    return ledgers;
}

int run_once(const RetentionArguments& arguments) {
    const std::vector<OperatorSetup> setups = operator_setups(arguments, "retention");
    nlohmann::json all = nlohmann::json::array();
    const int code = on_each(setups, [&](const OperatorSetup& setup) {
        std::optional<Connection> connection(writing_session(setup));
        int worst = exit_ok;
        for (LedgerOptions& ledger : ledgers_to_step(setup, *connection)) {
            if (!arguments.ledger.empty() && ledger.name != arguments.ledger) continue;
            if (arguments.any_hour) ledger.purge_hours.reset();
            try {
                if (!connection) connection = writing_session(setup);
                all.push_back(look_once(ledger, setup.connection, *connection));
                if (!note_step(*connection, all.back())) {
                    connection.reset();
                    worst = exit_failure;
                }
            } catch (const PostgresError& error) {
                all.push_back(failed_look(ledger, error));
                connection.reset();
                worst = exit_failure;
            }
        }
        return worst;
    });
    if (arguments.json) {
        print_json(all);
        return code;
    }
    for (const auto& report : all) {
        if (report["failed"] == true) continue;  // on standard error already
        std::cout << filled("{ledger}: ", report)
                  << (report["looked"] == true
                          ? filled("rotated {rotated}, sealed {sealed}, merged {merged}, expired "
                                   "{expired}, tables dropped {tables_dropped}",
                                   report) +
                                (report["leases_deleted"] == 0
                                     ? ""
                                     : filled(", leases deleted {leases_deleted}", report))
                          : "does not exist yet, or another process is working on it")
                  << (report["waits_for_hours"] == true
                          ? "; what has expired waits for its purge_hours, or for --any-hour"
                          : "")
                  << (report["busy"] == true ? "; a lock was not available in time, try again" : "")
                  << '\n';
    }
    if (all.empty()) {
        std::cout << "neither the configuration nor a service has such a ledger here\n";
    }
    return code == exit_ok && all.empty() ? exit_not_found : code;
}

int retention(const RetentionArguments& arguments) {
    return arguments.run_once ? run_once(arguments) : show(arguments);
}

}  // namespace

void add_retention(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<RetentionArguments>();
    CLI::App* command = add_operator_command(
        program, commands, "retention",
        "Show what each ledger keeps and what holds it back, or do one step now", arguments,
        retention);
    command->add_option("--ledger", arguments->ledger, "Only this ledger")
        ->type_name("NAME")
        ->check(not_empty("a ledger"));
    CLI::Option* once = command->add_flag(
        "--run-once", arguments->run_once,
        "Rotate, drop what has expired, and seal at most one generation of each ledger of the "
        "configuration, of once() and of the inbox, which the workers do every ten seconds for "
        "theirs");
    command
        ->add_flag("--any-hour", arguments->any_hour,
                   "Also outside of the ledgers' purge_hours")
        ->needs(once);
    add_json_flag(*command, *arguments);
    end_help(*command,
             {.examples = {{"retention", "each ledger, and what holds it back"},
                           {"retention --run-once --any-hour", "drop now what has expired"}},
              .exit_codes = {{exit_ok, "shown or done"},
                             {exit_failure, "a ledger's step failed; the others had theirs"},
                             {exit_not_found, "there is no such ledger"}}});
}

}  // namespace onceward
