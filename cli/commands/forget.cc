// `onceward forget`: removes the claim of one idempotency key, so that it can be applied again; or
// erases the stored results of a tenant.

#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operate/forget_key.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "dedup/operator/interventions.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct ForgetOptions : OperatorOptions {
    KeyQuestion question;
};

// A topic's name, or a route's; '' if neither was named.
const std::string& named_source(const KeyQuestion& question) {
    return question.route.empty() ? question.topic : question.route;
}

// DANGER: check whose ledgers they are. A wrong name would erase what nobody asked to erase.
QueryResult ledgers_to_erase_in(Connection& connection, const ForgetOptions& options,
                                const OperatorSetup& setup) {
    const KeyQuestion& question = options.question;
    std::string group = question.group;
    // Topics of two groups may have the same name. So may routes, but routes of a front door
    // without a configuration are named without a group.
    const bool has_group = !group.empty() || named_source(question).empty() ||
                           (!setup.configuration && question.topic.empty());
    if (!has_group) group = group_of(setup, group);
    return connection.query(sql::erase_ledgers,
                            Parameters{unless_empty(options.ledger), unless_empty(group),
                                       unless_empty(named_source(question))});
}

// How many of the ledger's results are replies that were counted with one of the `others`.
std::int64_t counted_before(Connection& connection, int ledger, const std::string& tenant,
                            const std::vector<std::int32_t>& others) {
    return connection
        .query(sql::results_replies, Parameters{ledger}.bytes(tenant).small_integers(others))
        .integer(0, 0);
}

// For each of these ledgers that stores results: how many the tenant has, or how many were erased.
nlohmann::json results_in_all(Connection& connection, const ForgetOptions& options,
                              const OperatorSetup& setup) {
    const std::string& tenant = options.question.tenant;
    nlohmann::json found = nlohmann::json::array();
    std::vector<std::int32_t> before;
    const QueryResult ledgers = ledgers_to_erase_in(connection, options, setup);
    for (int row = 0; row < ledgers.rows(); ++row) {
        const auto ledger = static_cast<int>(ledgers.integer(row, 0));
        const std::string name(ledgers.text(row, 1));
        const QueryResult counted =
            connection.query(sql::results_count, Parameters{ledger}.bytes(tenant));
        if (counted.is_null(0, 0)) continue;
        const std::int64_t results =
            options.yes
                ? unlocked("the results of ledger " + name + " were",
                           [&] {
                               return erase_results(connection, ledger, tenant, options.reason,
                                                    forget_lock_timeout);
                           })
                : counted.integer(0, 0) - counted_before(connection, ledger, tenant, before);
        before.push_back(ledger);
        found.push_back({{"ledger", name}, {"results", results}});
    }
    return found;
}

// Options that name a key, not a ledger, would be ignored.
void throw_unless_tenant_alone(const KeyQuestion& question) {
    usage_error_if(question.tenant.empty(),
                   "name a key, or with --tenant whose results are to be erased");
    usage_error_if(
        !question.operation.empty(),
        "results are erased ledger by ledger, and an operation may have keys in several: name "
        "one with --ledger");
    usage_error_if(
        !question.kinds.empty() || !question.cloudevents_source.empty() || question.is_digest,
        "--kind, --source and --digest belong to a key: name it");
}

int forget_tenant(const ForgetOptions& options) {
    const KeyQuestion& question = options.question;
    throw_unless_tenant_alone(question);
    const std::vector<OperatorSetup> setups =
        operator_setups(options, "forget", named_source(question));
    for (const OperatorSetup& setup : setups) {
        // A name that the configuration does not have is a mistake, not an empty ledger.
        if (!setup.configuration) continue;
        const Configuration& configuration = *setup.configuration;
        if (!question.topic.empty()) {
            static_cast<void>(topic_named(configuration, question.topic));
        }
        if (!question.route.empty()) {
            static_cast<void>(scope_of(configuration, route_named(configuration, question.route)));
        }
    }
    const Collected found = collect(setups, [&](const OperatorSetup& setup) {
        Connection connection = writing_session(setup);
        return results_in_all(connection, options, setup);
    });
    std::int64_t sum = 0;
    for (const auto& ledger : found.rows) sum += ledger["results"].get<std::int64_t>();
    const int answer = found.code == exit_ok && sum == 0 ? exit_not_found : found.code;
    if (options.json) {
        print_json({{"ledgers", found.rows}, {"results", sum}, {"done", options.yes}});
        return answer;
    }
    for (const auto& ledger : found.rows) {
        std::cout << filled("ledger {ledger}: {results} results\n", ledger);
    }
    std::cout << (options.yes
                      ? "erased: " + std::to_string(sum) + ". Claims stay, and so do dead letters\n"
                      : "nothing was changed; do it with --yes\n");
    return answer;
}

// What may be redelivered, and what becomes of it then.
std::pair<const char*, const char*> repeated_of(const KeyQuestion& question) {
    if (!question.route.empty()) {
        return {"repeated request with this key", "CARRIED OUT again"};
    }
    if (of_operation_alone(question)) return {"call with this key", "CARRIED OUT again"};
    return {"redelivered message with this key", "APPLIED again"};
}

int forget(const ForgetOptions& options) {
    const KeyQuestion& question = options.question;
    if (question.key.empty()) return forget_tenant(options);
    const OperatorSetup setup = operator_setup(options, "forget", source_of(question));
    const std::vector<KeyCandidate> wanted =
        key_candidates(question, setup.configuration ? &*setup.configuration : nullptr);
    Connection connection = writing_session(setup);
    nlohmann::json begun;
    nlohmann::json claims = find_claims(connection, wanted, begun);
    nlohmann::json leases = find_leases(connection, wanted);
    for (nlohmann::json* list : {&claims, &leases}) {
        std::erase_if(list->get_ref<nlohmann::json::array_t&>(), [&](const nlohmann::json& one) {
            return !options.ledger.empty() && one["ledger"] != options.ledger;
        });
    }
    const bool none = claims.empty() && leases.empty();
    const int evicted = options.yes && !none ? forget_in_all(connection, options.ledger,
                                                             digests_of(wanted), options.reason)
                                             : 0;
    // The key was found and not removed: another process is working on it.
    const bool refused = options.yes && !none && evicted == 0;
    const int answer = none ? exit_not_found : refused ? exit_failure : exit_ok;
    if (options.json) {
        print_json(
            {{"claims", claims}, {"leases", leases}, {"evicted", evicted}, {"done", evicted > 0}});
        return answer;
    }
    for (const auto& claim : claims) std::cout << claim_text(claim) << '\n';
    for (const auto& lease : leases) std::cout << lease_text(lease) << '\n';
    if (none) {
        std::cout << "no ledger knows this key\n";
        warn_of_guess(guessed_kinds(question, wanted, setup.configuration.has_value()));
        return answer;
    }
    if (refused) {
        warn(
            "nothing was taken out: the key is in flight, or it was removed meanwhile; try again "
            "once it has ended");
        return answer;
    }
    const auto [repeated, effect] = repeated_of(question);
    if (options.yes) {
        std::cout << "taken out: " << evicted << ". A " << repeated << " is " << effect << '\n';
    } else {
        std::cout << "would be taken out; a " << repeated << " would then be " << effect
                  << "\nnothing was changed; do it with --yes\n";
    }
    return answer;
}

}  // namespace

void add_forget(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "forget",
        "Take a key's claim out, so that it can be applied again, or erase a tenant's stored "
        "results");
    auto options = std::make_shared<ForgetOptions>();
    add_key_question(*command, *options, options->question);
    // Without a key the command is about the tenant's results.
    command->get_option("key")->required(false);
    command->add_option("--ledger", options->ledger, "Only from this ledger; default: from all")
        ->type_name("NAME")
        ->check(not_empty("a ledger"));
    add_reason(*command, options->reason, "evictions, or in erasures");
    add_yes_flag(*command, *options);
    add_json_flag(*command, *options);
    end_help(
        *command,
        {.notes = "A dry run without --yes. With a key and --topic, --route or --operation it "
                  "takes a claim out. Without a key, --tenant names whose results are erased; with "
                  "--topic or --route only in its ledgers.",
         .examples = {{"forget order-4711 --topic orders --reason 'applied in error'",
                       "what would be taken out"},
                      {"forget --tenant acme --reason 'contract ended' --yes",
                       "erase the stored results of a tenant"}},
         .exit_codes = {
             {exit_ok, "taken out, erased or planned"},
             {exit_failure, "nothing was taken out, because the key is in flight"},
             {exit_not_found, "no ledger knows the key, or has results of the tenant"}}});
    add_operator_work(*command, commands, options, forget);
}

}  // namespace onceward
