#pragma once
// Dead letters as lines of JSON, to be kept or carried elsewhere, and taken in again. A line has
// all that the table has of a letter; bytes are base64. Used by one thread; failures of the
// database are PostgresErrors.

#include <functional>
#include <istream>
#include <string>
#include <string_view>

#include "cli/dlq/dead_letters.h"

namespace onceward {

// Why a line is not a letter of that group, and of that topic unless it is ''; '' if it is one.
// What it does not know is a reason too, since it would be lost. Pure.
std::string problem_of_line(std::string_view line, const std::string& group,
                            const std::string& topic);

// Writes each letter that the filter picks, by number; its limit is ignored. Returns how many.
std::int64_t export_letters(Connection& connection, const DeadLetterFilter& filter,
                            const std::function<void(const std::string& line)>& write);

struct ImportedLetters {
    std::int64_t read = 0;
    std::int64_t added = 0;
    std::int64_t present = 0;    // by group, topic, identity, partition and offset; unchanged
    std::int64_t discarded = 0;  // here, by an operator: they stay so
};
// All of them in one transaction, with its row in the audit log, or none: `really` says whether it
// is committed. Throws std::runtime_error with the line's number for one that is no letter. The
// lines may come slowly: the transaction begins with the first page of them, and its session does
// not stay idle while it waits for the next one.
ImportedLetters import_letters(Connection& connection, std::istream& lines,
                               const std::string& group, const std::string& topic, bool really);

}  // namespace onceward
