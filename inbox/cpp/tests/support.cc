#include "support.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

namespace onceward::pqxx {

std::string dsn() {
    const char* text = std::getenv("ONCEWARD_TEST_DSN");
    if (text == nullptr) throw std::runtime_error("ONCEWARD_TEST_DSN is not set");
    return text;
}

void execute(const std::string& statement) {
    ::pqxx::connection connection(dsn());
    ::pqxx::nontransaction(connection).exec(statement);
}

void set_up_database() {
    execute("SELECT onceward.register_ledger('cpp_calls')");
    execute("SELECT onceward.register_ledger('cpp_leases', 'lease')");
    execute("SELECT onceward.register_ledger('cpp_bare', stores_results => false)");
    execute("CREATE TABLE IF NOT EXISTS cpp_effects (operation text NOT NULL)");
}

std::string new_operation() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::string("cpp ") + test->name() + " " + Uuid::random().text();
}

void add_effect(::pqxx::transaction_base& transaction, const std::string& operation) {
    transaction.exec("INSERT INTO cpp_effects VALUES ($1)", ::pqxx::params{operation});
}

int effects(const std::string& operation) {
    ::pqxx::connection connection(dsn());
    return ::pqxx::nontransaction(connection)
        .query_value<int>("SELECT count(*) FROM cpp_effects WHERE operation = $1",
                          ::pqxx::params{operation});
}

std::string refusal_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Refused& refused) {
        return refused.sqlstate();
    }
    return "";
}

}  // namespace onceward::pqxx
