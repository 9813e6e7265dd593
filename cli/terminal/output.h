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
// On one line, without its end.
std::string line_json(const nlohmann::json& json);

// An object for each row. `names` are those of the columns, in their order: '' leaves a column out,
// and `name?` leaves it out if it is null.
nlohmann::json rows_json(const QueryResult& rows, const std::vector<std::string_view>& names);

// A string as it is, '' for null, anything else as JSON.
std::string json_text(const nlohmann::json& value);

// The sentence, with each `{name}` replaced by the safe text of that value.
std::string filled(std::string_view sentence, const nlohmann::json& values);

// The values as JSON, or the sentence that is filled with them.
void print_answer(bool json, const nlohmann::json& values, std::string_view sentence);

// What goes to standard error is a line for people, or with --json a JSON object a line with
// `level` and `message`. Set once, before anything is written.
void write_messages_as_json(bool json);
bool messages_are_json();

// A warning; the second function writes it only if there is reason to.
void warn(const std::string& text);
void warn_if(bool reason, const std::string& text);
// What somebody may want to know, such as which file was taken.
void note(const std::string& text);

// A line with a severity in it, such as `file:1:2: error: text`, which a terminal shows in colour.
void print_judged(std::ostream& stream, const std::string& line);

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
