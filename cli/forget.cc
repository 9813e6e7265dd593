// `onceward forget`: takes the claim of one idempotency key out, so that it can be applied again.

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/operator_options.h"
#include "dedup/eviction.h"
#include "dedup/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

// One try holds up the ledger's commits for as long at most, while it waits.
constexpr auto lock_timeout = 1s;
constexpr int most_tries = 30;

struct ForgetOptions {
    OperatorOptions common;
    KeyQuestion question;
    std::string ledger;
    std::string reason;
    bool yes = false;
    bool json = false;
};

// From each ledger, or from the one that is named.
int forget_in_all(Connection& connection, const ForgetOptions& options,
                  const std::vector<Digest>& digests) {
    Parameters name;
    if (options.ledger.empty()) {
        name.null();
    } else {
        name.text(options.ledger);
    }
    int evicted = 0;
    const Result ledgers = connection.query(sql::evict_ledgers, name);
    for (int row = 0; row < ledgers.rows(); ++row) {
        const int ledger = static_cast<int>(ledgers.integer(row, 0));
        std::optional<int> done;
        for (int tries = 0; !done && tries < most_tries; ++tries) {
            done = evict(connection, ledger, digests, options.reason, lock_timeout);
        }
        if (!done) {
            throw std::runtime_error("ledger " + std::string(ledgers.text(row, 1)) +
                                     " was locked all the time; say it again");
        }
        evicted += *done;
    }
    return evicted;
}

int forget(const ForgetOptions& options) {
    const KeyQuestion& question = options.question;
    const OperatorSetup setup = operator_setup(options.common, "forget", question.topic);
    const std::vector<KeyCandidate> wanted =
        key_candidates(question, setup.configuration ? &*setup.configuration : nullptr);
    Connection connection(setup.connection);
    require_version(connection);
    std::string since;
    nlohmann::json claims = find_claims(connection, wanted, since);
    if (!options.ledger.empty()) {
        std::erase_if(claims.get_ref<nlohmann::json::array_t&>(), [&](const nlohmann::json& claim) {
            return claim["ledger"] != options.ledger;
        });
    }
    const int evicted =
        options.yes && !claims.empty() ? forget_in_all(connection, options, digests_of(wanted)) : 0;
    if (options.json) {
        std::cout << nlohmann::json{{"claims", claims}, {"evicted", evicted}, {"done", options.yes}}
                         .dump(2)
                  << '\n';
        return claims.empty() ? exit_not_found : exit_ok;
    }
    for (const auto& claim : claims) std::cout << claim_text(claim) << '\n';
    if (claims.empty()) {
        std::cout << "no ledger knows this key\n";
        return exit_not_found;
    }
    if (options.yes) {
        std::cout << "taken out: " << evicted
                  << ". A message under this key that comes again is APPLIED again\n";
    } else {
        std::cout << "would be taken out; a message under this key that comes again would then be "
                     "APPLIED again\nnothing was changed; do it with --yes\n";
    }
    return exit_ok;
}

}  // namespace

void add_forget(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "forget", "Take a key's claim out, so that it can be applied again (a dry run first)");
    auto options = std::make_shared<ForgetOptions>();
    command->add_option("key", options->question.key, "The key as the message carries it")
        ->required();
    command->add_option("--topic", options->question.topic, "The topic of the message")->required();
    add_operator_options(*command, options->common);
    add_key_options(*command, options->question);
    command->add_option("--ledger", options->ledger, "Only from this ledger; default: from all");
    command->add_option("--reason", options->reason, "Why; kept in evictions")
        ->required()
        ->check([](const std::string& text) {
            return text.empty() ? std::string("say why") : std::string();
        });
    command->add_flag("--yes", options->yes, "Do it; otherwise only tell");
    command->add_flag("--json", options->json, "Print JSON");
    command->footer("Exit codes: 0 taken out or planned, 3 no ledger knows the key.");
    commands.add(*command, [options] {
        return run_operator_command(
            [&] { return with_operator_rights([&] { return forget(*options); }); });
    });
}

}  // namespace onceward
