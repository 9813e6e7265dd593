// `onceward explain`: what became of one idempotency key.

#include <algorithm>
#include <iostream>
#include <set>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"
#include "dedup/base/text.h"
#include "schemas/queries.h"
#include "sinks/outbox/outbox_rows.h"

namespace onceward {
namespace {

struct ExplainOptions : OperatorOptions {
    KeyQuestion question;
    bool result = false;
};

template <class Question>
bool any_of(const nlohmann::json& list, Question question) {
    return std::any_of(list.begin(), list.end(), question);
}

// Their ids are made of the key and of where they go, so that of each topic that has rows both are
// looked for. What was sent is no longer there.
nlohmann::json find_published(Connection& connection, const std::vector<Digest>& digests) {
    std::set<std::string> topics;
    const QueryResult waiting = connection.query(sql::outbox_topics, {std::nullopt});
    for (int row = 0; row < waiting.rows(); ++row) topics.emplace(waiting.text(row, 1));
    std::vector<std::optional<std::string_view>> names;
    std::vector<Digest> ids;
    for (const std::string& topic : topics) {
        for (const Digest& digest : digests) {
            for (const OutboxPlace place : {OutboxPlace::sink, OutboxPlace::also_publish}) {
                names.emplace_back(topic);
                ids.push_back(outbox_id(topic, place, digest));
            }
        }
    }
    if (ids.empty()) return nlohmann::json::array();
    return rows_json(connection.query(sql::explain_outbox, Parameters{names, ids}),
                     {"group", "topic", "id", "position", "created_at"});
}

// Headers and body only where they are asked for: they are somebody's data.
nlohmann::json find_results(Connection& connection, const std::vector<Digest>& digests,
                            bool whole) {
    nlohmann::json list = nlohmann::json::array();
    const QueryResult tables = connection.query(sql::explain_result_tables, {});
    for (int table = 0; table < tables.rows(); ++table) {
        try {
            const QueryResult rows =
                connection.prepared(sql::explain_results, Parameters{digests, whole},
                                    {{"table", std::string(tables.text(table, 2))}}, true);
            for (int row = 0; row < rows.rows(); ++row) {
                list.push_back({{"ledger", tables.text(table, 0)},
                                {"generation", tables.integer(table, 1)},
                                {"digest", uuid_text(rows.binary_digest(row, 0))},
                                {"result", rows.text(row, 1)},
                                {"status", rows.binary_integer(row, 2)},
                                {"bytes", rows.binary_integer(row, 3)},
                                {"stored_at", rows.text(row, 4)}});
                if (!whole) continue;
                list.back()["headers"] = nlohmann::json::parse(rows.text(row, 5));
                list.back()["body"] = rows.text(row, 6);
            }
        } catch (const PostgresError& error) {
            if (error.sqlstate() != "42P01") throw;  // retention dropped it meanwhile
        }
    }
    return list;
}

// The dead letters under the key, the newest first; of a message without a digest by the key's
// text, in these topics. `only`: this topic's alone.
nlohmann::json find_letters(Connection& connection, const std::vector<Digest>& digests,
                            const std::string& key_text, const std::vector<std::string>& topics,
                            const std::optional<std::string>& only) {
    const std::vector<std::optional<std::string_view>> names(topics.begin(), topics.end());
    nlohmann::json list = rows_json(
        connection.query(sql::explain_dead_letters,
                         Parameters{digests}.bytes(key_text).texts(names).optional_text(only)),
        {"", "created_at", "group", "topic", "partition", "offset", "error_class", "sqlstate",
         "reason", "fingerprint?", "first_fingerprint?", "first_places?", "number", "attempts",
         "state"});
    for (nlohmann::json& letter : list) {
        const auto places = letter.find("first_places");
        if (places != letter.end()) *places = nlohmann::json::parse(json_text(*places));
    }
    return list;
}

// The same of discarded ones, by their digests, which is all that is left of their keys; null where
// this role may not read them.
nlohmann::json find_discarded(Connection& connection, const std::vector<Digest>& digests,
                              const std::optional<std::string>& only) try {
    nlohmann::json list =
        rows_json(connection.query(sql::explain_discarded_dead_letters, Parameters{digests, only}),
                  {"number", "created_at", "group", "topic", "partition", "offset", "error_class",
                   "sqlstate", "reason", "discarded_by", "discarded_at"});
    for (nlohmann::json& letter : list) letter["state"] = "discarded";
    return list;
} catch (const PostgresError& error) {
    if (error.sqlstate() != "42501") throw;
    return nullptr;
}

// One of either as a sentence.
std::string letter_text(const nlohmann::json& letter) {
    std::string said = filled("dead letter {number} ({state}", letter) +
                       (letter.contains("attempts") ? filled(", tries {attempts}", letter) : "") +
                       filled(") at {created_at} from ", letter) + place_text(letter) +
                       filled(": {error_class} {sqlstate}", letter);
    if (letter.contains("discarded_at")) {
        return said + filled("; discarded at {discarded_at} by {discarded_by}: {reason}", letter);
    }
    said += filled(" {reason}", letter);
    if (letter.contains("first_places")) said += "; first " + places_text(letter["first_places"]);
    return said + text_with("; fingerprint ", letter, "fingerprint") +
           text_with(", the first's ", letter, "first_fingerprint");
}

// Whether this is of a ledger that could know the key. Where none is known, of a group that was
// retired or a schema that was restored, what is found in any ledger counts.
bool is_own(const nlohmann::json& ledgers, const nlohmann::json& found) {
    const auto has_it = [&](const auto& ledger) { return ledger["ledger"] == found["ledger"]; };
    return ledgers.empty() || any_of(ledgers, has_it);
}

// Prints a line for each ledger that could know the key and does not.
void print_where_not_applied(const nlohmann::json& found) {
    for (const auto& ledger : found["ledgers"]) {
        std::cout << filled(ledger["claims_since"] == ""
                                ? "not applied in ledger {ledger}, which has no claims yet\n"
                                : "not applied in ledger {ledger}, whose claims go back to "
                                  "{claims_since}\n",
                            ledger);
    }
    if (found["ledgers"].empty() && found["claims"].empty() && found["leases"].empty()) {
        std::cout << "not applied: no ledger of it is in use here\n";
    }
}

bool any_is_own(const nlohmann::json& found) {
    const auto is_ours = [&](const nlohmann::json& one) { return is_own(found["ledgers"], one); };
    return any_of(found["claims"], is_ours) || any_of(found["leases"], is_ours);
}

void print_text(const nlohmann::json& found) {
    for (const auto& claim : found["claims"]) std::cout << claim_text(claim) << '\n';
    for (const auto& lease : found["leases"]) std::cout << lease_text(lease) << '\n';
    if (!any_is_own(found)) print_where_not_applied(found);
    for (const auto& result : found["results"]) {
        std::cout << filled("result: {result}", result)
                  // 0: the sink named none.
                  << (result["status"] == 0 ? "" : filled(", status {status}", result))
                  << filled(
                         ", {bytes} bytes, stored at {stored_at} in ledger {ledger} generation "
                         "{generation}\n",
                         result);
        if (!result.contains("body")) continue;
        for (const auto& header : result["headers"]) {
            std::cout << filled("{name}: {value}\n", header);
        }
        std::cout << json_text(result["body"]) << '\n';
    }
    for (const auto& record : found["outbox"]) {
        std::cout << filled(
            "waits in the outbox of {group} for topic {topic} since {created_at}, position "
            "{position}, id {id}\n",
            record);
    }
    for (const auto& eviction : found["evictions"]) {
        std::cout << filled(
            "taken out of ledger {ledger} at {evicted_at} by {evicted_by}: {reason}\n", eviction);
    }
    for (const auto& letter : found["dead_letters"]) std::cout << letter_text(letter) << '\n';
    if (found["discarded_dead_letters"].is_null()) {
        std::cout << "whether dead letters of it were discarded, this role may not read\n";
    }
    for (const auto& letter : found["discarded_dead_letters"]) {
        std::cout << letter_text(letter) << '\n';
    }
    for (const auto& owner : found["without_tenant"]) {
        std::cout << "not looked for: keys of " << safe_value(owner.get<std::string>())
                  << ", which belong to tenants; name one: --tenant\n";
    }
}

// What is looked for on one server.
KeySearch search_of(const KeyQuestion& question, const OperatorSetup& setup) {
    if (of_whole_configuration(question)) {
        return key_search(question, *setup.configuration, setup.database);
    }
    KeySearch search;
    search.candidates =
        key_candidates(question, setup.configuration ? &*setup.configuration : nullptr);
    if (!question.topic.empty()) search.topics.push_back(question.topic);
    if (!question.route.empty()) search.routes.push_back(question.route);
    return search;
}

// The ledgers that could know the key, each with since when its claims go back; '' if it has none
// yet. Those of another group that reads a topic of that name know nothing of this one's messages.
nlohmann::json own_ledgers(Connection& connection, const KeyQuestion& question,
                           const KeySearch& search, const std::string& group,
                           const nlohmann::json& begun) {
    std::vector<std::optional<std::string_view>> sources(search.topics.begin(),
                                                         search.topics.end());
    sources.insert(sources.end(), search.routes.begin(), search.routes.end());
    const QueryResult rows =
        connection.query(sql::explain_ledgers,
                         Parameters{sources, of_operation_alone(question), unless_empty(group)});
    nlohmann::json ledgers = rows_json(rows, {"ledger"});
    for (nlohmann::json& ledger : ledgers) {
        ledger["claims_since"] = begun.value(json_text(ledger["ledger"]), "");
    }
    return ledgers;
}

// Since when all of them know: where they do not, the key was not applied since then.
std::string known_since(const nlohmann::json& ledgers) {
    std::string since;
    for (const auto& ledger : ledgers) {
        since = std::max(since, json_text(ledger["claims_since"]));
    }
    return since;
}

nlohmann::json found_on(const OperatorSetup& setup, const ExplainOptions& options,
                        const KeySearch& search) {
    const KeyQuestion& question = options.question;
    const std::vector<Digest> digests = digests_of(search.candidates);
    const std::optional<std::string> only = unless_empty(question.topic);
    Connection connection = reading_session(setup);
    nlohmann::json begun = nlohmann::json::object();
    const nlohmann::json claims = find_claims(connection, search.candidates, begun);
    const nlohmann::json leases = find_leases(connection, search.candidates);
    const std::string group =
        setup.configuration && question.group.empty() ? setup.configuration->group : question.group;
    const nlohmann::json ledgers = own_ledgers(connection, question, search, group, begun);
    const auto is_ours = [&](const nlohmann::json& found) { return is_own(ledgers, found); };
    const auto is_done = [&](const nlohmann::json& lease) {
        return lease["state"] == "done" && is_ours(lease);
    };
    return {{"database", setup.database},
            {"applied", any_of(claims, is_ours) || any_of(leases, is_done)},
            {"ledgers", ledgers},
            {"claims", claims},
            {"results", find_results(connection, digests, options.result)},
            {"leases", leases},
            {"outbox", find_published(connection, digests)},
            {"evictions", rows_json(connection.query(sql::explain_evictions, {digests}),
                                    {"digest", "evicted_at", "ledger", "evicted_by", "reason"})},
            {"dead_letters", find_letters(connection, digests, question.key, search.topics, only)},
            {"discarded_dead_letters", find_discarded(connection, digests, only)},
            {"without_tenant", search.without_tenant},
            {"claims_since", known_since(ledgers)}};
}

// Where only the key is said, all servers of the configuration; else the one that it is on.
std::vector<OperatorSetup> asked_setups(const ExplainOptions& options) {
    const KeyQuestion& question = options.question;
    const bool everywhere = of_whole_configuration(question);
    if (!everywhere) return {operator_setup(options, "explain", source_of(question))};
    std::vector<OperatorSetup> setups = operator_setups(options, "explain");
    usage_error_if(
        setups.empty() || !setups.front().configuration,
        "whose key is it? Give the configuration with -c, to check all of its topics and "
        "routes; or name the message's topic with --topic, the request's route with --route, "
        "or the operation of a call of once() with --operation");
    return setups;
}

// Where not one key is left to look for, the question was not clear.
void throw_unless_any(const std::vector<KeySearch>& searches) {
    std::string owners;
    for (const KeySearch& search : searches) {
        if (!search.candidates.empty()) return;
        for (const std::string& owner : search.without_tenant) {
            owners += (owners.empty() ? "" : ", ") + owner;
        }
    }
    usage_error_if(
        owners.empty(),
        "the configuration has no such keys; a CloudEvent's key is its id and --source, its "
        "source");
    throw UsageError("keys of " + owners + " belong to tenants; name one: --tenant");
}

int explain(const ExplainOptions& options) {
    const std::vector<OperatorSetup> setups = asked_setups(options);
    std::vector<KeySearch> searches;
    for (const OperatorSetup& setup : setups) {
        searches.push_back(search_of(options.question, setup));
    }
    throw_unless_any(searches);
    nlohmann::json all = nlohmann::json::array();
    const int code = on_each(setups, [&](const OperatorSetup& setup) {
        const auto place = static_cast<std::size_t>(&setup - setups.data());
        all.push_back(found_on(setup, options, searches[place]));
        return exit_ok;
    });
    if (options.json) print_json(setups.size() == 1 ? all.front() : all);
    for (const auto& found : all) {
        if (options.json) break;
        if (setups.size() > 1) {
            std::cout << "on " << database_text(json_text(found["database"])) << ":\n";
        }
        print_text(found);
    }
    const auto is_applied = [](const nlohmann::json& found) { return found["applied"] == true; };
    if (any_of(all, is_applied)) return exit_ok;
    return code == exit_ok ? exit_not_found : code;
}

}  // namespace

void add_explain(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("explain", "Show what became of an idempotency key");
    auto options = std::make_shared<ExplainOptions>();
    add_key_question(*command, *options, options->question);
    command->add_flag("--result", options->result,
                      "Print the stored result's headers and body as well");
    command->add_flag(
        "--json", options->json,
        "Print one JSON object, or a list of one for each server if several are asked");
    end_help(
        *command,
        {.notes = "Without --topic, --route, --operation and --digest it is the key of any topic "
                  "and route of the configuration, on all of its servers.",
         .examples = {{"explain order-4711", "wherever the configuration knows it"},
                      {"explain order-4711 --topic orders --tenant acme", "of a topic and tenant"},
                      {"explain 0f4c... --digest", "by the digest of a log line"}},
         .exit_codes = {
             {exit_ok,
              "it was applied in a ledger that the group's topic, the route or the operation "
              "feeds"},
             {exit_failure, "a server could not be asked"},
             {exit_not_found,
              "it was not applied, as far back as that ledger's claims go (it may still have dead "
              "letters, and claims in ledgers of other groups)"}}});
    add_operator_work(*command, commands, options, explain);
}

}  // namespace onceward
