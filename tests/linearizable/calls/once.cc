// Calls once() for each line of its input. The judge of histories in the folder above starts it and
// kills it at any time.
//   onceward-once-calls <dsn> <ledger> <operation> <kind> <table of effects>
// It reads a line `KEY VALUE`. The effect is a row of both, and the value is the result, as JSON.
// It answers with `fresh VALUE`, or with `duplicate` and the stored value.

#include "dedup/once.h"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

using namespace onceward;

namespace {

struct Target {
    std::string operation;
    std::string kind;
    std::string table;
};

std::string call(Connection& connection, const OnceLedger& ledger, const Target& target,
                 const std::string& key, const std::string& value) {
    const OnceKey once_key{.operation = target.operation, .text = key, .kind = target.kind};
    const OnceAnswer answer =
        once(connection, once_key, ledger, [&](Transaction& transaction) -> MessageResult {
            const std::string statement =
                "INSERT INTO " + target.table + " VALUES ($1::text::bigint, $2::text::bigint)";
            transaction.query(statement.c_str(), Parameters{}.text(key).text(value));
            return {.status = 200, .body = R"({"value": )" + value + "}"};
        });
    const auto stored = [&] {
        return nlohmann::json::parse(answer.result.body).at("value").dump();
    };
    switch (answer.kind) {
        case OnceAnswer::Kind::applied: return "fresh " + stored();
        case OnceAnswer::Kind::replayed: return "duplicate " + stored();
        case OnceAnswer::Kind::conflict: return "conflict";
        case OnceAnswer::Kind::unknown: break;
    }
    return "unknown";
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 6) {
        std::cerr << "onceward-once-calls <dsn> <ledger> <operation> <kind> <table>\n";
        return 64;
    }
    try {
        ConnectionOptions options;
        options.dsn = std::string(arguments[1]);
        Connection connection(options);
        const OnceLedger ledger(connection, {.ledger = arguments[2]});
        const Target target{arguments[3], arguments[4], arguments[5]};
        std::string key, value;
        while (std::cin >> key >> value) {
            std::cout << call(connection, ledger, target, key, value) << std::endl;
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
