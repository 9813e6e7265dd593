// `onceward explain`: what became of one idempotency key.

#include <algorithm>
#include <iostream>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/keys/key_story.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

struct ExplainOptions : OperatorOptions {
    KeyQuestion question;
    bool result = false;
};

// A letter, or a discarded one, as a sentence.
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

template <class Question>
bool any_of(const nlohmann::json& list, Question question) {
    return std::any_of(list.begin(), list.end(), question);
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

// If only the key is given: all servers of the configuration; else the one that it is on.
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

// If no key is left to look for, the question was not clear.
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
        searches.push_back(search_of(options.question,
                                     setup.configuration ? &*setup.configuration : nullptr,
                                     setup.database));
    }
    throw_unless_any(searches);
    nlohmann::json all = nlohmann::json::array();
    const int code = on_each(setups, [&](const OperatorSetup& setup) {
        const auto place = static_cast<std::size_t>(&setup - setups.data());
        const KeyQuestion& question = options.question;
        const std::string& group = setup.configuration && question.group.empty()
                                       ? setup.configuration->group
                                       : question.group;
        Connection connection = reading_session(setup);
        all.push_back(key_story(connection, question, searches[place],
                                {setup.database, group, options.result}));
        return exit_ok;
    });
    const std::vector<std::string> guessed =
        guessed_kinds(options.question, searches.front().candidates,
                      setups.front().configuration.has_value());
    if (!guessed.empty() && !all.empty()) all.front()["guessed_kinds"] = guessed;
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
    if (!options.json) warn_of_guess(guessed);
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
