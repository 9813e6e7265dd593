// `onceward import`: claims of keys that were handled before Onceward was there, from a table or a
// file.

#include "cli/import/import.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/import/import_target.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/json_output.h"
#include "cli/terminal/stop_request.h"
#include "dedup/ledger/ledger.h"
#include "dedup/once.h"

namespace onceward {
namespace {

constexpr std::size_t keys_shown = 3;
// Under no topic: what `explain` shows as an import.
constexpr int import_source = 0;

struct ImportArguments : OperatorOptions {
    std::string topic;
    std::string route;
    std::string operation;
    std::string ledger = OnceOptions{}.ledger;
    std::string query;
    std::string file;
    std::string from;
    std::string kind;
    std::string tenant;
    std::string cloudevents_source;
    std::size_t batch = 5000;
    bool restart = false;
};

// Which of its key sources the list is about.
std::string kind_of_list(const ImportArguments& arguments, const KeyScope& scope) {
    std::string all;
    for (const std::string& kind : scope.kinds) all += (all.empty() ? "" : ", ") + kind;
    if (arguments.kind.empty() && scope.kinds.size() != 1) {
        throw UsageError("keys of " + scope.owner + " come as " + all +
                         "; say which these are: --kind");
    }
    const std::string kind = arguments.kind.empty() ? scope.kinds.front() : arguments.kind;
    if (std::ranges::find(scope.kinds, kind) == scope.kinds.end()) {
        throw UsageError("keys of " + scope.owner + " come as " + all + ", not as " + kind);
    }
    if (kind == "cloudevents" && arguments.cloudevents_source.empty()) {
        throw UsageError("a CloudEvent's key is its id and --source, its source");
    }
    return kind;
}

// The same key, by the same rules, as that of a message of the topic or a request to the route.
std::function<ImportedKey(const std::string&)> reader_of(const ImportArguments& arguments,
                                                         const ImportTarget& target,
                                                         const std::string& kind) {
    return [&arguments, &target, kind](const std::string& key) -> ImportedKey {
        const std::optional<std::string> read = key_as_read(target.scope, kind, key);
        if (!read) return {std::nullopt, "its quotes are not those of an RFC 8941 string"};
        const std::string text =
            kind == "cloudevents" ? cloudevents_key(arguments.cloudevents_source, *read) : *read;
        std::string fault = target.fault(text);
        if (!fault.empty()) return {std::nullopt, std::move(fault)};
        return {digest_of({target.scope.operation, arguments.tenant, kind, text}), ""};
    };
}

std::unique_ptr<KeyList> list_of(const ImportArguments& arguments, const OperatorSetup& setup) {
    if (arguments.query.empty() == arguments.file.empty()) {
        throw UsageError("name the keys with --query or with --file");
    }
    if (!arguments.file.empty()) return std::make_unique<KeysOfFile>(arguments.file);
    ConnectionOptions options = setup.connection;
    if (!arguments.from.empty()) options.dsn = arguments.from;
    return std::make_unique<QueriedKeys>(options, arguments.query);
}

int tell(const ImportArguments& arguments, KeyList& list, const ImportOptions& options,
         const std::string& effect) {
    const KeyPage page = list.read("", keys_shown);
    nlohmann::json keys = nlohmann::json::array();
    for (const std::string& key : page.keys) {
        const ImportedKey imported = options.key(key);
        keys.push_back({{"key", key},
                        {"digest", imported.digest ? uuid_text(*imported.digest) : ""},
                        {"fault", imported.fault}});
    }
    if (arguments.json) {
        print_json({{"first", keys}, {"done", false}});
        return exit_ok;
    }
    std::cout << "would claim " << options.meaning << ", the first of them:\n";
    for (const auto& key : keys) {
        std::cout << "  " << key["key"].get<std::string>() << ' ' << key["fault"].get<std::string>()
                  << '\n';
    }
    std::cout << effect << "\nnothing was changed; do it with --yes\n";
    return exit_ok;
}

int show(const ImportArguments& arguments, const ImportReport& report) {
    if (arguments.json) {
        print_json({{"claimed", report.claimed},
                    {"known", report.known},
                    {"refused", report.refused},
                    {"resumed", report.resumed},
                    {"finished", report.finished},
                    {"done", true}});
    } else {
        std::cout << (report.resumed ? "continued; altogether " : "") << "claimed "
                  << report.claimed << ", known before " << report.known << ", refused "
                  << report.refused << '\n';
    }
    if (report.refused > 0 && !report.first_fault.empty()) {
        std::cerr << "onceward: the first key that no message could carry: " << report.first_fault
                  << '\n';
    }
    if (report.finished) return exit_ok;
    std::cerr << "onceward: interrupted; run it again to continue\n";
    return exit_interrupted;
}

ImportTarget asked_target(const ImportArguments& arguments, const OperatorSetup& setup,
                          Connection& connection) {
    if (!arguments.operation.empty()) {
        return target_of_calls(connection, arguments.operation, arguments.tenant, arguments.ledger);
    }
    const Configuration& configuration =
        configuration_of(setup, "the configuration says what a key is: give it with -c");
    ImportTarget target = arguments.route.empty() ? target_of_topic(configuration, arguments.topic)
                                                  : target_of_route(configuration, arguments.route);
    if (target.scope.has_tenant == arguments.tenant.empty()) {
        throw UsageError("keys of " + target.scope.owner +
                         (arguments.tenant.empty() ? " belong to tenants; name one: --tenant"
                                                   : " belong to no tenant"));
    }
    return target;
}

int import_all(const ImportArguments& arguments) {
    if (arguments.topic.empty() && arguments.route.empty() && arguments.operation.empty()) {
        throw UsageError(
            "whose keys are they? Name a topic with --topic, a route with --route, or what once() "
            "is called for with --operation");
    }
    const OperatorSetup setup = operator_setup(
        arguments, "import", arguments.route.empty() ? arguments.topic : arguments.route);
    Connection connection = writing_session(setup);
    const ImportTarget target = asked_target(arguments, setup, connection);
    const std::string kind = kind_of_list(arguments, target.scope);
    const std::unique_ptr<KeyList> list = list_of(arguments, setup);
    ImportOptions options;
    options.topic = target.source;
    options.page = arguments.batch;
    options.restart = arguments.restart;
    options.meaning = "keys of " + target.scope.operation + " as " + kind +
                      (arguments.tenant.empty() ? "" : " of tenant " + arguments.tenant);
    options.key = reader_of(arguments, target, kind);
    options.stopped = [] { return stop_requested(); };
    if (!arguments.yes) return tell(arguments, *list, options, target.effect);
    const StopRequest stop;
    RegisteredLedger registered = target.register_source(connection);
    options.ledger = registered.ledger;
    registered.source = import_source;
    const std::unique_ptr<ClaimStore> claims =
        make_claim_store(target.ledger, registered, std::make_shared<LogWindows>());
    return show(arguments, import_keys(connection, *claims, *list, options));
}

}  // namespace

void add_import(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<ImportArguments>();
    CLI::App* command = add_operator_command(
        program, commands, "import",
        "Claim keys that were handled before, from a table or a file (a dry run first)", arguments,
        import_all);
    CLI::Option* topic =
        command->add_option("--topic", arguments->topic, "The topic whose keys they are");
    command
        ->add_option("--route", arguments->route,
                     "The route whose keys they are, as `onceward describe` names it, such as "
                     "`POST /orders/{id}`")
        ->excludes(topic);
    CLI::Option* operation =
        command
            ->add_option("--operation", arguments->operation,
                         "The operation of calls of once() whose keys they are; needs no -c")
            ->excludes(topic)
            ->excludes("--route");
    command->add_option("--ledger", arguments->ledger, "The ledger of those calls")
        ->capture_default_str()
        ->needs(operation);
    CLI::Option* query = command->add_option(
        "--query", arguments->query,
        "A SELECT whose first column is the key, such as 'SELECT id FROM orders'; best where that "
        "column has an index");
    CLI::Option* file = command->add_option("--file", arguments->file, "A file, one key a line");
    query->excludes(file);
    command
        ->add_option("--from", arguments->from,
                     "PostgreSQL connection string for --query; default: the ledger's server")
        ->excludes(file);
    command->add_option("--kind", arguments->kind,
                        "Which of the key sources these are, such as field:/id");
    command->add_option("--tenant", arguments->tenant, "Whose keys these are");
    command->add_option("--source", arguments->cloudevents_source,
                        "A CloudEvent's source; the keys are ids");
    command->add_option("--batch", arguments->batch, "Keys in a transaction")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    command->add_flag("--restart", arguments->restart,
                      "From the beginning, even if an earlier run was interrupted");
    add_yes_flag(*command, *arguments);
    add_json_flag(*command, *arguments);
    command->footer("Exit codes: 0 done or planned, 130 interrupted; run it again to continue.");
}

}  // namespace onceward
