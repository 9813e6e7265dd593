// `onceward explain`: what became of one idempotency key.

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/operator_options.h"
#include "dedup/migration.h"
#include "schemas/queries.h"
#include "sinks/outbox_rows.h"

namespace onceward {
namespace {

struct ExplainOptions {
    OperatorOptions common;
    KeyQuestion question;
    bool result = false;
    bool json = false;
};

nlohmann::json find_dead_letters(Connection& connection, const std::vector<Digest>& digests,
                                 const KeyQuestion& question) {
    nlohmann::json list = nlohmann::json::array();
    const Result rows =
        connection.query(sql::explain_dead_letters,
                         Parameters{}.digests(digests).bytes(question.key).text(question.topic));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"created_at", rows.text(row, 1)},
                        {"group", rows.text(row, 2)},
                        {"topic", rows.text(row, 3)},
                        {"partition", rows.integer(row, 4)},
                        {"offset", rows.integer(row, 5)},
                        {"error_class", rows.text(row, 6)},
                        {"sqlstate", rows.text(row, 7)},
                        {"reason", rows.text(row, 8)}});
        const auto places = rows.optional_text(row, 11);
        if (!rows.is_null(row, 9)) list.back()["fingerprint"] = rows.text(row, 9);
        if (!rows.is_null(row, 10)) list.back()["first_fingerprint"] = rows.text(row, 10);
        if (places) list.back()["first_places"] = nlohmann::json::parse(*places);
    }
    return list;
}

nlohmann::json find_evictions(Connection& connection, const std::vector<Digest>& digests) {
    nlohmann::json list = nlohmann::json::array();
    const Result rows = connection.query(sql::explain_evictions, Parameters{}.digests(digests));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"digest", rows.text(row, 0)},
                        {"evicted_at", rows.text(row, 1)},
                        {"ledger", rows.text(row, 2)},
                        {"evicted_by", rows.text(row, 3)},
                        {"reason", rows.text(row, 4)}});
    }
    return list;
}

// Their ids are made of the key and of where they go, so that of each topic that has rows both are
// looked for. What was sent is no longer there.
nlohmann::json find_published(Connection& connection, const std::vector<Digest>& digests) {
    nlohmann::json list = nlohmann::json::array();
    std::set<std::string> topics;
    const Result waiting = connection.query(sql::outbox_topics, Parameters{}.null());
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
    if (ids.empty()) return list;
    const Result rows =
        connection.query(sql::explain_outbox, Parameters{}.texts(names).digests(ids));
    for (int row = 0; row < rows.rows(); ++row) {
        list.push_back({{"group", rows.text(row, 0)},
                        {"topic", rows.text(row, 1)},
                        {"id", rows.text(row, 2)},
                        {"position", rows.integer(row, 3)},
                        {"created_at", rows.text(row, 4)}});
    }
    return list;
}

// Headers and body only where they are asked for: they are somebody's data.
nlohmann::json find_results(Connection& connection, const std::vector<Digest>& digests,
                            bool whole) {
    nlohmann::json list = nlohmann::json::array();
    const Result tables = connection.query(sql::explain_result_tables, {});
    for (int table = 0; table < tables.rows(); ++table) {
        try {
            const Result rows = connection.prepared(sql::explain_results,
                                                    Parameters{}.digests(digests).boolean(whole),
                                                    {{"table", tables.text(table, 2)}}, true);
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

void print_text(const nlohmann::json& found) {
    for (const auto& claim : found["claims"]) std::cout << claim_text(claim) << '\n';
    for (const auto& lease : found["leases"]) std::cout << lease_text(lease) << '\n';
    if (found["claims"].empty() && found["leases"].empty()) {
        const auto since = found["claims_since"].get<std::string>();
        std::cout << "not applied, as far as the claims go back: "
                  << (since.empty() ? "there are none" : since) << '\n';
    }
    for (const auto& result : found["results"]) {
        std::cout << "result: " << result["result"].get<std::string>() << ", status "
                  << result["status"].dump() << ", " << result["bytes"].dump()
                  << " bytes, stored at " << result["stored_at"].get<std::string>() << " in ledger "
                  << result["ledger"].get<std::string>() << " generation "
                  << result["generation"].dump() << '\n';
        if (!result.contains("body")) continue;
        for (const auto& header : result["headers"]) {
            std::cout << header["name"].get<std::string>() << ": "
                      << header["value"].get<std::string>() << '\n';
        }
        std::cout << result["body"].get<std::string>() << '\n';
    }
    for (const auto& record : found["outbox"]) {
        std::cout << "waits in the outbox of " << record["group"].get<std::string>()
                  << " for topic " << record["topic"].get<std::string>() << " since "
                  << record["created_at"].get<std::string>() << ", position "
                  << record["position"].dump() << ", id " << record["id"].get<std::string>()
                  << '\n';
    }
    for (const auto& eviction : found["evictions"]) {
        std::cout << "taken out of ledger " << eviction["ledger"].get<std::string>() << " at "
                  << eviction["evicted_at"].get<std::string>() << " by "
                  << eviction["evicted_by"].get<std::string>() << ": "
                  << eviction["reason"].get<std::string>() << '\n';
    }
    for (const auto& letter : found["dead_letters"]) {
        std::cout << "dead letter at " << letter["created_at"].get<std::string>() << " from "
                  << place_text(letter) << ": " << letter["error_class"].get<std::string>() << ' '
                  << letter["sqlstate"].get<std::string>() << ' '
                  << letter["reason"].get<std::string>();
        if (letter.contains("first_places")) {
            std::cout << "; first " << places_text(letter["first_places"]);
        }
        std::cout << text_with("; fingerprint ", letter, "fingerprint")
                  << text_with(", the first's ", letter, "first_fingerprint") << '\n';
    }
}

int explain(const ExplainOptions& options) {
    const KeyQuestion& question = options.question;
    const OperatorSetup setup = operator_setup(options.common, "explain", source_of(question));
    const std::vector<KeyCandidate> wanted =
        key_candidates(question, setup.configuration ? &*setup.configuration : nullptr);
    const std::vector<Digest> digests = digests_of(wanted);
    Connection connection(setup.connection);
    require_version(connection);
    std::string since;
    const nlohmann::json claims = find_claims(connection, wanted, since);
    const nlohmann::json leases = find_leases(connection, wanted);
    const auto is_done = [](const nlohmann::json& lease) { return lease["state"] == "done"; };
    const bool applied = !claims.empty() || std::any_of(leases.begin(), leases.end(), is_done);
    const nlohmann::json found{{"applied", applied},
                               {"claims", claims},
                               {"results", find_results(connection, digests, options.result)},
                               {"leases", leases},
                               {"outbox", find_published(connection, digests)},
                               {"evictions", find_evictions(connection, digests)},
                               {"dead_letters", find_dead_letters(connection, digests, question)},
                               {"claims_since", since}};
    if (options.json) {
        std::cout << found.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    } else {
        print_text(found);
    }
    return applied ? exit_ok : exit_not_found;
}

}  // namespace

void add_explain(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("explain", "Tell what became of an idempotency key");
    auto options = std::make_shared<ExplainOptions>();
    add_key_question(*command, options->common, options->question);
    command->add_flag("--result", options->result,
                      "Print the stored result's headers and body as well");
    command->add_flag("--json", options->json, "Print one JSON object");
    command->footer(
        "Exit codes: 0 it was applied, 3 it was not, as far as the ledger remembers (it may have "
        "dead "
        "letters all the same).");
    commands.add(*command,
                 [options] { return run_operator_command([&] { return explain(*options); }); });
}

}  // namespace onceward
