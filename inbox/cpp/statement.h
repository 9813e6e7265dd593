#pragma once
// Calls of the schema's SQL functions, for claims and leases; programs do not include it. REQUIRES:
// what a Statement refers to lives until run() has ended.

#include <pqxx/params>
#include <pqxx/result>
#include <pqxx/row>
#include <pqxx/transaction_base>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "inbox/cpp/inbox.h"

namespace onceward::pqxx {

// `{schema}` in the text is the schema's name. Throws Refused, or what libpqxx throws.
::pqxx::result run(::pqxx::transaction_base& transaction, const Inbox& inbox, std::string text,
                   const ::pqxx::params& parameters);

// The ledger that the inbox names, or else the one that the function has for it.
std::string ledger_of(const Inbox& inbox, const char* unnamed);

// As parameters: text, or NULL.
std::optional<std::string> text_of(const std::optional<Uuid>& value);
std::optional<std::string> text_of(const std::optional<Time>& value);
std::string headers_of(const Result& result);
// A list of PostgreSQL. REQUIRES: the elements have no quotes; their backslashes are doubled.
std::string array_of(std::span<const std::optional<std::string>> elements);
// The same, as bytea[].
std::string array_of(const ::pqxx::transaction_base& transaction,
                     std::span<const std::string> elements);

// Columns of an answer.
Outcome outcome_of(const ::pqxx::field& column);
Uuid uuid_of(const ::pqxx::field& column);
// The columns of a stored result, whose time has this name, and what they say.
std::string result_columns(std::string_view time);
std::optional<StoredResult> result_of(const ::pqxx::row& row, int first);

}  // namespace onceward::pqxx
