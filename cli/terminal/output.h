#pragma once
// What a command prints: JSON for programs; sentences and tables for people. Plain; not
// thread-safe; throws BrokenContract alone.

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/postgres/values.h"

namespace onceward {

// On standard output, with a line's end. Bytes that are not UTF-8 are replaced.
void print_json(const nlohmann::json& json);

// An object for each row. `names` are those of the columns, in their order: '' passes one over, and
// `name?` leaves it out where it is null.
nlohmann::json rows_json(const QueryResult& rows, const std::vector<std::string_view>& names);

// A string as it is, '' for null, anything else as JSON.
std::string json_text(const nlohmann::json& value);

// The sentence, with each `{name}` replaced by the safe text of that value.
std::string filled(std::string_view sentence, const nlohmann::json& values);

// The values as JSON, or the sentence that is filled with them.
void print_answer(bool json, const nlohmann::json& values, std::string_view sentence);

// A line on standard error; the second one only if there is reason to.
void warn(const std::string& text);
void warn_if(bool reason, const std::string& text);

// Rows in aligned columns.
class TextTable {
  public:
    explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
    // REQUIRES: as many cells as the header has.
    void add(std::vector<std::string> row);
    // A column whose cells are all numbers or empty is aligned to the right.
    void print(std::ostream& stream) const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

// A JSON array as a table on standard output. A column is `header=name`, with the name of its
// value, or the name alone if that is its header too.
void print_table(const std::vector<std::string>& columns, const nlohmann::json& rows);

}  // namespace onceward
