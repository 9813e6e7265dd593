// `onceward explain`: what became of one idempotency key.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/operator_options.h"
#include "dedup/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct ExplainOptions {
    OperatorOptions common;
    KeyQuestion question;
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

void print_text(const nlohmann::json& found) {
    for (const auto& claim : found["claims"]) std::cout << claim_text(claim) << '\n';
    if (found["claims"].empty()) {
        const auto since = found["claims_since"].get<std::string>();
        std::cout << "not applied, as far as the claims go back: "
                  << (since.empty() ? "there are none" : since) << '\n';
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
        // The message that has the key is at one of them.
        const char* between = "; first ";
        for (const auto& first : letter.value("first_places", nlohmann::json::array())) {
            std::cout << std::exchange(between, " or ") << place_text(first);
        }
        std::cout << text_with("; fingerprint ", letter, "fingerprint")
                  << text_with(", the first's ", letter, "first_fingerprint") << '\n';
    }
}

int explain(const ExplainOptions& options) {
    const KeyQuestion& question = options.question;
    const OperatorSetup setup = operator_setup(options.common, "explain", question.topic);
    const std::vector<KeyCandidate> wanted =
        key_candidates(question, setup.configuration ? &*setup.configuration : nullptr);
    const std::vector<Digest> digests = digests_of(wanted);
    Connection connection(setup.connection);
    require_version(connection);
    std::string since;
    const nlohmann::json claims = find_claims(connection, wanted, since);
    const nlohmann::json found{{"applied", !claims.empty()},
                               {"claims", claims},
                               {"evictions", find_evictions(connection, digests)},
                               {"dead_letters", find_dead_letters(connection, digests, question)},
                               {"claims_since", since}};
    if (options.json) {
        std::cout << found.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    } else {
        print_text(found);
    }
    return claims.empty() ? exit_not_found : exit_ok;
}

}  // namespace

void add_explain(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("explain", "Tell what became of an idempotency key");
    auto options = std::make_shared<ExplainOptions>();
    command->add_option("key", options->question.key, "The key as the message carries it")
        ->required();
    command->add_option("--topic", options->question.topic, "The topic of the message")->required();
    add_operator_options(*command, options->common);
    add_key_options(*command, options->question);
    command->add_flag("--json", options->json, "Print one JSON object");
    command->footer(
        "Exit codes: 0 it was applied, 3 it was not, as far as the ledger remembers (it may have "
        "dead "
        "letters all the same).");
    commands.add(*command,
                 [options] { return run_operator_command([&] { return explain(*options); }); });
}

}  // namespace onceward
