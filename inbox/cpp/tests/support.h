#pragma once
// What the tests share. The database is that of ONCEWARD_TEST_DSN, whose schema `onceward` is
// migrated; see inbox/run-tests.

#include <functional>
#include <string>

#include <pqxx/pqxx>

#include "inbox/cpp/once.h"

namespace onceward::pqxx {

std::string dsn();

// The tests' ledgers `cpp_calls`, `cpp_leases` and `cpp_bare`, and the table of effects.
void set_up_database();

// One that no other test and no other run has.
std::string new_operation();

void execute(const std::string& statement);
void add_effect(::pqxx::transaction_base& transaction, const std::string& operation);
int effects(const std::string& operation);

// The SQLSTATE that the call is Refused with, or "" if it is not.
std::string refusal_of(const std::function<void()>& call);

}  // namespace onceward::pqxx
