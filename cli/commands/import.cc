// `onceward import`: claims of keys that were handled before Onceward was there, from a table or a
// file.

#include "cli/import/import.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/stop_request.h"
#include "dedup/base/text.h"
#include "dedup/once.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::size_t keys_shown = 3;
constexpr std::size_t widest_key = 100;  // bytes of a key in a warning
// It belongs to no topic: `explain` shows it as an import.
constexpr int import_source = 0;

struct ImportArguments : OperatorOptions {
    std::string route;
    std::string operation;
    std::string query;
    std::string file;
    std::string from;
    std::string kind;
    std::string tenant;
    std::string cloudevents_source;
    std::size_t batch = 5000;
    bool restart = false;
};

// The first column of a query's rows, as text, in the order of its own type; nulls are passed over.
// Each page is a statement of its own, so that no transaction stays open. Rows with smaller keys
// that are added between two pages are missed. Throws PostgresError.
class QueriedKeys final : public KeyList {
  public:
    QueriedKeys(const ConnectionOptions& options, std::string query)
        : connection_(options), query_(std::move(query)) {
        query_.erase(query_.find_last_not_of("; \t\r\n") + 1);
        // DANGER: the same query on another database, or with another search_path, is another list.
        // Continued from the first list's position, its smaller keys would never be claimed.
        description = "query " + query_ + " of " + connection_.database_name() + ", schemas " +
                      std::string(connection_.query(sql::import_schemas, {}).text(0, 0));
    }
    KeyPage read(const std::string& position, std::size_t limit) override {
        const auto most = static_cast<std::int64_t>(limit);
        const Connection::Names names{{"query", query_}};
        const QueryResult rows =
            position.empty() ? connection_.query(sql::import_first_keys, {most}, names)
                             : connection_.query(sql::import_next_keys,
                                                 Parameters{most, position.substr(1)}, names);
        KeyPage page;
        page.position = position;
        for (int row = 0; row < rows.rows(); ++row) page.keys.emplace_back(rows.text(row, 0));
        // The mark comes before the last key, which may be empty.
        if (!page.keys.empty()) page.position = '>' + page.keys.back();
        page.end = page.keys.size() < limit;
        return page;
    }

  private:
    Connection connection_;
    std::string query_;
};

// The lines of a file, without their ends (LF, or CR and LF); empty ones are passed over. Throws
// std::runtime_error if the file cannot be read.
class KeysOfFile final : public KeyList {
  public:
    explicit KeysOfFile(const std::filesystem::path& file) : file_(file, std::ios::binary) {
        std::error_code error;
        const auto size = std::filesystem::file_size(file, error);
        if (error || !file_) throw UsageError("cannot read " + file.string());
        size_ = static_cast<std::int64_t>(size);
        // A file that has changed is another list.
        description =
            "file " + std::filesystem::absolute(file).string() + " of " + std::to_string(size) +
            " bytes, written at " +
            std::to_string(std::filesystem::last_write_time(file).time_since_epoch().count());
    }
    KeyPage read(const std::string& position, std::size_t limit) override {
        std::int64_t offset = 0;
        std::from_chars(position.data(), position.data() + position.size(), offset);
        file_.clear();
        file_.seekg(offset);
        KeyPage page;
        for (std::string line; page.keys.size() < limit && std::getline(file_, line);) {
            // The last line may have no end.
            offset += static_cast<std::int64_t>(line.size()) + (file_.eof() ? 0 : 1);
            if (line.ends_with('\r')) line.pop_back();
            if (!line.empty()) page.keys.push_back(std::move(line));
        }
        if (size_ > 0) page.share = static_cast<double>(offset) / static_cast<double>(size_);
        if (file_.bad()) throw std::runtime_error("the file cannot be read any more");
        page.position = std::to_string(offset);
        page.end = page.keys.size() < limit;
        return page;
    }

  private:
    std::ifstream file_;
    std::int64_t size_ = 0;
};

// The key source that the list's keys are of.
std::string kind_of_list(const ImportArguments& arguments, const KeyScope& scope) {
    std::string all;
    for (const std::string& kind : scope.kinds) all += (all.empty() ? "" : ", ") + kind;
    usage_error_if(arguments.kind.empty() && scope.kinds.size() != 1,
                   "keys of " + scope.owner + " come as " + all + "; say which these are: --kind");
    const std::string kind = arguments.kind.empty() ? scope.kinds.front() : arguments.kind;
    usage_error_if(std::ranges::find(scope.kinds, kind) == scope.kinds.end(),
                   "keys of " + scope.owner + " come as " + all + ", not as " + kind);
    usage_error_if(kind == "cloudevents" && arguments.cloudevents_source.empty(),
                   "a CloudEvent's key is its id and --source, its source");
    return kind;
}

// Reads a key by the same rules as that of a message of the topic or a request to the route.
std::function<ImportedKey(const std::string&)> reader_of(const ImportArguments& arguments,
                                                         const ImportTarget& target,
                                                         const std::string& kind) {
    return [&arguments, &target, kind](const std::string& key) -> ImportedKey {
        const std::optional<std::string> read = key_as_read(target.scope, kind, key);
        if (!read && target.scope.composed.contains(kind)) {
            return {std::nullopt, "it is not a JSON array of the key's parts, each a text"};
        }
        if (!read) return {std::nullopt, "its quotes are not those of an RFC 8941 string"};
        const std::string text =
            kind == "cloudevents" ? cloudevents_key(arguments.cloudevents_source, *read) : *read;
        std::string fault = target.fault(text);
        if (!fault.empty()) return {std::nullopt, std::move(fault)};
        return {digest_of({target.scope.operation, arguments.tenant, kind, text}), ""};
    };
}

std::unique_ptr<KeyList> list_of(const ImportArguments& arguments, const OperatorSetup& setup) {
    usage_error_if(arguments.query.empty() == arguments.file.empty(),
                   "name the keys with --query or with --file");
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
    for (const auto& key : keys) std::cout << filled("  {key} {fault}\n", key);
    std::cout << effect << "\nnothing was changed; do it with --yes\n";
    return exit_ok;
}

int show(const ImportArguments& arguments, const ImportReport& report) {
    nlohmann::json values{{"claimed", report.claimed},   {"known", report.known},
                          {"refused", report.refused},   {"resumed", report.resumed},
                          {"finished", report.finished}, {"done", true}};
    if (!report.first_fault.empty()) {
        values["first_refused"] = {{"key", report.first_refused}, {"fault", report.first_fault}};
    }
    print_answer(arguments.json, values,
                 std::string(report.resumed ? "continued; altogether " : "") +
                     "claimed {claimed}, known before {known}, refused {refused}\n");
    warn_if(!report.first_fault.empty(),
            "the first key that no message could carry is `" +
                safe_value(report.first_refused, widest_key) + "`: " + report.first_fault);
    return exit_of_run(report.finished);
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
    usage_error_if(target.scope.has_tenant == arguments.tenant.empty(),
                   "keys of " + target.scope.owner +
                       (arguments.tenant.empty() ? " belong to tenants; name one: --tenant"
                                                 : " belong to no tenant"));
    return target;
}

int import_all(const ImportArguments& arguments) {
    usage_error_if(
        arguments.topic.empty() && arguments.route.empty() && arguments.operation.empty(),
        "whose keys are they? Name a topic with --topic, a route with --route, or what once() "
        "is called for with --operation");
    const OperatorSetup setup = operator_setup(
        arguments, "import", arguments.route.empty() ? arguments.topic : arguments.route);
    Connection connection = writing_session(setup);
    const ImportTarget target = asked_target(arguments, setup, connection);
    const std::string kind = kind_of_list(arguments, target.scope);
    const std::unique_ptr<KeyList> list = list_of(arguments, setup);
    ImportOptions options;
    options.page = arguments.batch;
    options.restart = arguments.restart;
    options.meaning = "keys of " + target.scope.operation + " as " + kind +
                      (arguments.tenant.empty() ? "" : " of tenant " + arguments.tenant);
    options.key = reader_of(arguments, target, kind);
    options.stopped = stop_requested;
    Progress progress("import", "keys");
    options.progress = [&](std::int64_t done, std::optional<double> share) {
        progress.at(done, share);
    };
    if (!arguments.yes) return tell(arguments, *list, options, target.effect);
    // A query that fails at once must leave no ledger and no entry in the audit log.
    list->read("", options.page);
    const StopRequest stop;
    RegisteredLedger registered = target.register_source(connection);
    options.ledger = registered.ledger;
    registered.source = import_source;
    const std::unique_ptr<ClaimStore> claims =
        make_claim_store(target.ledger, registered, std::make_shared<LogWindows>());
    return show(arguments, import_keys(connection, *claims, *list, options));
}

// Which keys, and what they are.
void add_list_options(CLI::App& command, ImportArguments& arguments) {
    CLI::Option* query =
        command
            .add_option("--query", arguments.query,
                         "A SELECT whose first column is the key, such as 'SELECT id FROM orders'; "
                         "best where that column has an index")
            ->check(not_empty("a SELECT"));
    CLI::Option* file =
        command.add_option("--file", arguments.file, "A file, one key a line")
            ->check(not_empty("a file's name"))
            ->type_name("FILE");
    query->excludes(file);
    command
        .add_option("--from", arguments.from,
                     "PostgreSQL connection string for --query; default: the ledger's server")
        ->check(connection_string())
        ->excludes(file);
    command
        .add_option("--kind", arguments.kind,
                     "Which of the key sources these are, such as field:/id")
        ->check(not_empty("a kind"));
    command.add_option("--tenant", arguments.tenant, "Whose keys these are")
        ->check(not_empty("a tenant"));
    command
        .add_option("--source", arguments.cloudevents_source,
                     "A CloudEvent's source; the keys are ids")
        ->check(not_empty("a source"));
}

}  // namespace

void add_import(CLI::App& program, Commands& commands) {
    auto arguments = std::make_shared<ImportArguments>();
    arguments->ledger = OnceOptions{}.ledger;
    CLI::App* command = add_operator_command(
        program, commands, "import",
        "Claim keys that were handled before Onceward was in use", arguments,
        import_all);
    CLI::Option* topic =
        command->add_option("--topic", arguments->topic, "The topic whose keys they are")
            ->check(not_empty("a topic"))
            ->type_name("NAME");
    command
        ->add_option("--route", arguments->route,
                     "The route whose keys they are, as `onceward describe` names it, such as "
                     "`POST /orders/{id}`")
        ->check(not_empty("a route"))
        ->excludes(topic);
    CLI::Option* operation =
        command
            ->add_option("--operation", arguments->operation,
                         "The operation of calls of once() whose keys they are; needs no -c")
            ->check(not_empty("an operation"))
            ->excludes(topic)
            ->excludes("--route");
    command->add_option("--ledger", arguments->ledger, "The ledger of those calls")
        ->capture_default_str()
        ->check(not_empty("a ledger"))
        ->needs(operation);
    add_list_options(*command, *arguments);
    command->add_option("--batch", arguments->batch, "Keys in a transaction")
        ->capture_default_str()
        ->check(whole_number(1, 100'000))
        ->type_name("N");
    command->add_flag("--restart", arguments->restart,
                      "From the beginning, even if an earlier run was interrupted");
    offer_reason(*command, arguments->reason, "the audit log");
    add_yes_flag(*command, *arguments);
    add_json_flag(*command, *arguments);
    end_help(*command,
             {.notes = "A dry run without --yes. Exact while workers run.",
              .examples = {{"import --topic orders --query 'SELECT id FROM orders'",
                            "the first keys, as a message would carry them"},
                           {"import --topic orders --file keys.txt --yes", "claim them"}},
              .exit_codes = {{exit_ok, "done or planned"},
                             {exit_interrupted, "interrupted; run it again to continue"}}});
}

}  // namespace onceward
