#include "inbox/cpp/once.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include <pqxx/transaction>

namespace onceward::pqxx {
namespace {

// What an earlier call stored, or an earlier try of this one.
OnceAnswer stored(const Claim& claim) {
    OnceAnswer answer{.outcome = claim.outcome};
    if (claim.outcome != Outcome::duplicate && claim.outcome != Outcome::failed) return answer;
    if (!claim.result) return {.outcome = Outcome::unknown};
    answer.result = {.status = claim.result->status,
                     .headers = claim.result->headers,
                     .body = claim.result->body.value_or(""),
                     .failed = claim.outcome == Outcome::failed};
    answer.replayed = !claim.mine;
    if (claim.mine && claim.outcome == Outcome::duplicate) answer.outcome = Outcome::fresh;
    return answer;
}

OnceAnswer attempt(::pqxx::connection& connection, const Inbox& inbox, std::string_view key,
                   const ClaimOptions& options, const Work& work) {
    ::pqxx::work transaction(connection);
    const Claim claim = pqxx::claim(transaction, inbox, key, options);
    if (claim.outcome != Outcome::fresh) return stored(claim);
    OnceAnswer answer{.outcome = Outcome::fresh, .result = work(transaction)};
    if (answer.result.failed) answer.outcome = Outcome::failed;
    // An error that the function swallowed ends here, and not in a COMMIT that rolls back.
    finish(transaction, inbox, claim, answer.result);
    try {
        transaction.commit();
    } catch (const ::pqxx::sql_error& error) {
        rethrow(error);
    }
    return answer;
}

// A connection to another system that the function lost is no reason: ours is open.
bool worth_another_try(const ::pqxx::failure& error, const ::pqxx::connection* connection) {
    if (dynamic_cast<const ::pqxx::in_doubt_error*>(&error) != nullptr) return true;
    const auto* const refused = dynamic_cast<const ::pqxx::sql_error*>(&error);
    if (refused != nullptr && wants_another_try(*refused)) return true;
    return connection == nullptr || !connection->is_open();
}

void sleep_about(std::chrono::milliseconds pause) {
    thread_local std::minstd_rand dice{std::random_device{}()};
    const auto half = std::max<std::int64_t>(pause.count() / 2, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(
        half + std::uniform_int_distribution<std::int64_t>(0, 2 * half)(dice)));
}

}  // namespace

Failed::Failed(Result result)
    : std::runtime_error("failed for good with status " + std::to_string(result.status) + ": " +
                         result.body),
      result_(std::move(result)) {
    result_.failed = true;
}

Connect reconnecting(std::string connection_string) {
    return [connection_string = std::move(connection_string),
            held = std::shared_ptr<::pqxx::connection>()]() mutable {
        if (!held || !held->is_open()) {
            held = std::make_shared<::pqxx::connection>(connection_string);
        }
        return held;
    };
}

OnceAnswer once(const Connect& connect, const Inbox& inbox, std::string_view key, const Work& work,
                const OnceOptions& options) {
    // DANGER: one attempt for all tries. After a COMMIT without an answer it tells our own result
    // from another call's.
    const ClaimOptions claimed{.fingerprint = options.fingerprint,
                               .attempt = Uuid::random(),
                               .minted_at = options.minted_at};
    std::chrono::milliseconds pause = options.pause;
    Work next = work;
    for (int tries = 1;; ++tries) {
        std::shared_ptr<::pqxx::connection> connection;
        try {
            connection = connect();
            try {
                return attempt(*connection, inbox, key, claimed, next);
            } catch (const Failed& failed) {
                // Its effects are gone with their claim. The key is claimed again, for the result.
                next = [result = failed.result()](auto&) { return result; };
                return attempt(*connection, inbox, key, claimed, next);
            }
        } catch (const ::pqxx::failure& error) {
            if (tries >= options.tries || !worth_another_try(error, connection.get())) throw;
        }
        // A pool gets its connection back for the pause.
        connection.reset();
        sleep_about(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(2000));
    }
}

}  // namespace onceward::pqxx
