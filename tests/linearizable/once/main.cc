// Calls once() for each line of its input. The judge of histories in the folder above starts it and
// kills it at any time.
//   onceward-once-calls <connection string> <ledger>
// It reads a line `KEY VALUE`. The effect is a row of both in linearizable.once_effects, and the
// value is the result. It answers with `fresh VALUE`, or with `duplicate` and the stored value.

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "dedup/once.h"

using namespace onceward;

namespace {

std::string call(Connection& connection, const OnceLedger& ledger, const std::string& key,
                 const std::string& value) {
    const OnceAnswer answer = once(connection, {.operation = "judge", .text = key}, ledger,
                                   [&](Transaction& transaction) {
                                       transaction.query(
                                           "INSERT INTO linearizable.once_effects (key, value) "
                                           "VALUES ($1::text::bigint, $2::text::bigint)",
                                           Parameters{}.text(key).text(value));
                                       return MessageResult{.status = 200, .body = value};
                                   });
    switch (answer.kind) {
        case OnceAnswer::Kind::applied: return "fresh " + answer.result.body;
        case OnceAnswer::Kind::replayed: return "duplicate " + answer.result.body;
        case OnceAnswer::Kind::conflict: return "conflict";
        case OnceAnswer::Kind::unknown: break;
    }
    return "unknown";
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "onceward-once-calls <connection string> <ledger>\n";
        return 64;
    }
    try {
        ConnectionOptions options;
        options.dsn = std::string(arguments[1]);
        Connection connection(options);
        const OnceLedger ledger(connection, {.ledger = arguments[2]});
        std::string key, value;
        while (std::cin >> key >> value) {
            std::cout << call(connection, ledger, key, value) << std::endl;
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
