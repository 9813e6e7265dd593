// As once.cc, with the inbox's C++ package: libpqxx.
//   onceward-pqxx-calls <dsn> <ledger> <operation> <kind> <table of effects>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "inbox/cpp/once.h"

namespace inbox = onceward::pqxx;

namespace {

std::string call(const inbox::Connect& connect, const inbox::Inbox& keys, const std::string& table,
                 const std::string& key, const std::string& value) {
    const inbox::OnceAnswer answer =
        inbox::once(connect, keys, key, [&](pqxx::transaction_base& transaction) -> inbox::Result {
            transaction.exec("INSERT INTO " + table + " VALUES ($1, $2)",
                             pqxx::params{key, value});
            return {.status = 200, .body = R"({"value": )" + value + "}"};
        });
    std::string line(inbox::name_of(answer.outcome));
    if (!answer.result.body.empty()) {
        line += ' ' + nlohmann::json::parse(answer.result.body).at("value").dump();
    }
    return line;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 6) {
        std::cerr << "onceward-pqxx-calls <dsn> <ledger> <operation> <kind> <table>\n";
        return 64;
    }
    try {
        const inbox::Connect connect = inbox::reconnecting(arguments[1]);
        const inbox::Inbox keys{
            .operation = arguments[3], .kind = arguments[4], .ledger = arguments[2]};
        std::string key, value;
        while (std::cin >> key >> value) {
            std::cout << call(connect, keys, arguments[5], key, value) << std::endl;
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
