// Books a payment once for each key: once_payment <connection string> <key> <account> <amount>.
// `onceward migrate up` has made Onceward's schema, and the table is
//   CREATE TABLE payments (account text NOT NULL, amount numeric NOT NULL)
// Called again with the same key it prints the same answer and books nothing; with the same key and
// another amount it says so. A service does the same in each of its requests, with a session of
// each thread and one OnceLedger for all.

#include <cstdlib>
#include <iostream>
#include <string>

#include "dedup/once.h"
#include "dedup/retention/retention.h"

using namespace onceward;

namespace {

int pay(const ConnectionOptions& options, const std::string& key, const std::string& account,
        const std::string& amount) {
    Connection connection(options);
    const OnceLedger ledger(connection, {.ledger = "payments-by-hand"});
    const OnceKey once_key{.operation = "pay",
                           .text = key,
                           // What comes with the key again has to be the same.
                           .fingerprint = digest_of_bytes(account + "\n" + amount)};
    const OnceAnswer answer =
        once(connection, once_key, ledger, [&](Transaction& transaction) -> MessageResult {
            if (amount.starts_with('-')) {
                throw PermanentFailure("a payment is not negative", {.status = 422});
            }
            transaction.query("INSERT INTO payments (account, amount) VALUES ($1, $2::numeric)",
                              Parameters{}.text(account).text(amount));
            return {.status = 201, .body = "booked " + amount + " to " + account};
        });
    // Some process of the service drops what has expired; here each call does.
    const LedgerOptions expires = ledger.ledger_options();
    RetentionJob({.connection = options, .ledgers = {expires}}).look(connection, expires);
    switch (answer.kind) {
        case OnceAnswer::Kind::applied: std::cout << answer.result.body << "\n"; break;
        case OnceAnswer::Kind::replayed: std::cout << answer.result.body << " (before)\n"; break;
        case OnceAnswer::Kind::conflict:
            std::cerr << "the key was used for another payment\n";
            return EXIT_FAILURE;
        case OnceAnswer::Kind::unknown:
            std::cerr << "the key was used, and its answer is kept no more\n";
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::cerr << "once_payment <connection string> <key> <account> <amount>\n";
        return 64;
    }
    ConnectionOptions options;
    options.dsn = std::string(arguments[1]);
    if (const char* schema = std::getenv("ONCEWARD_EXAMPLE_SCHEMA")) options.schema = schema;
    try {
        return pay(options, arguments[2], arguments[3], arguments[4]);
    } catch (const PermanentFailure& failure) {
        std::cerr << failure.what() << (failure.replayed() ? " (before)" : "") << "\n";
        return EXIT_FAILURE;
    }
}
