// Calls once() for each line of its input. The judge of histories in the folder above starts it and
// kills it at any time.
//   onceward-once-calls <dsn> <ledger> <operation> <kind> <table of effects> [<retention> <minted>]
// It reads a line `KEY VALUE`. The effect is a row of both, and the value is the result, as JSON.
// It answers with `fresh VALUE`, or with `duplicate` and the stored value. With a retention, in
// seconds, keys are UUIDs; if <minted> is `uuid7` they say when they were minted, and further
// answers are `late 0` and `conflict 0`.

#include "dedup/once.h"

#include <chrono>
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
    std::string key_type = "bigint";
    bool minted = false;
};

std::string call(Connection& connection, const OnceLedger& ledger, const Target& target,
                 const std::string& key, const std::string& value) {
    const OnceKey once_key{
        .operation = target.operation,
        .text = key,
        .minted_at = target.minted ? minted_from_uuid7(key) : std::nullopt,
        .kind = target.kind,
    };
    const OnceAnswer answer =
        once(connection, once_key, ledger, [&](Transaction& transaction) -> MessageResult {
            const std::string statement =
                "INSERT INTO " + target.table + " VALUES ($1::text::" +
                                          target.key_type + ", $2::text::bigint)";
            transaction.query(statement.c_str(), Parameters{}.text(key).text(value));
            return {.status = 200, .body = R"({"value": )" + value + "}"};
        });
    const auto stored = [&] {
        return nlohmann::json::parse(answer.result.body).at("value").dump();
    };
    switch (answer.kind) {
        case OnceAnswer::Kind::applied: return "fresh " + stored();
        case OnceAnswer::Kind::replayed: return "duplicate " + stored();
        case OnceAnswer::Kind::conflict: return "conflict 0";
        case OnceAnswer::Kind::expired: return "late 0";
        case OnceAnswer::Kind::unknown: break;
    }
    return "unknown";
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 6 && count != 8) {
        std::cerr << "onceward-once-calls <dsn> <ledger> <operation> <kind> <table> "
                     "[<retention> <minted>]\n";
        return 64;
    }
    try {
        ConnectionOptions options;
        options.dsn = std::string(arguments[1]);
        Connection connection(options);
        OnceOptions once_options{.ledger = arguments[2]};
        Target target{arguments[3], arguments[4], arguments[5]};
        if (count == 8) {
            once_options.retention = std::chrono::seconds(std::stoi(arguments[6]));
            once_options.longest_request = std::chrono::seconds(10);
            target.key_type = "uuid";
            target.minted = std::string(arguments[7]) == "uuid7";
        }
        const OnceLedger ledger(connection, once_options);
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
