#include "cli/terminal/output.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/terminal/progress.h"
#include "cli/terminal/style.h"
#include "dedup/base/expects.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

bool json_messages = false;

// A line on standard error, which begins as `begin` writes it.
void say(const char* level, const std::string& text, void (*begin)()) {
    hide_progress();
    if (json_messages) {
        std::cerr << line_json({{"level", level}, {"message", text}}) << '\n';
        return;
    }
    begin();
    std::cerr << ' ' << text << '\n';
}

}  // namespace

std::string line_json(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_json(const nlohmann::json& json) {
    hide_progress();
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

nlohmann::json rows_json(const QueryResult& rows, const std::vector<std::string_view>& names) {
    nlohmann::json list = nlohmann::json::array();
    for (int row = 0; row < rows.rows(); ++row) {
        nlohmann::json& entry = list.emplace_back(nlohmann::json::object());
        for (int column = 0; column < static_cast<int>(names.size()); ++column) {
            std::string name(names[static_cast<std::size_t>(column)]);
            const bool null = rows.is_null(row, column);
            if (name.empty() || (null && name.ends_with('?'))) continue;
            if (name.ends_with('?')) name.pop_back();
            if (null) {
                entry[name] = nullptr;
            } else if (rows.is_number(column)) {
                entry[name] = rows.integer(row, column);
            } else {
                entry[name] = rows.text(row, column);
            }
        }
    }
    return list;
}

std::string json_text(const nlohmann::json& value) {
    if (value.is_null()) return "";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string filled(std::string_view sentence, const nlohmann::json& values) {
    std::string text;
    for (;;) {
        const auto begin = sentence.find('{');
        text += sentence.substr(0, begin);
        if (begin == std::string_view::npos) return text;
        const auto end = sentence.find('}', begin);
        const std::string name(sentence.substr(begin + 1, end - begin - 1));
        text += safe_value(json_text(values.at(name)));
        sentence.remove_prefix(end + 1);
    }
}

void print_answer(bool json, const nlohmann::json& values, std::string_view sentence) {
    if (json) return print_json(values);
    hide_progress();
    std::cout << filled(sentence, values);
}

void write_messages_as_json(bool json) { json_messages = json; }
bool messages_are_json() { return json_messages; }

void warn(const std::string& text) {
    say("warning", text, [] { paint(std::cerr, Color::yellow, "onceward:"); });
}

void note(const std::string& text) { say("info", text, [] { std::cerr << "onceward:"; }); }

void warn_if(bool reason, const std::string& text) {
    if (reason) warn(text);
}

void print_judged(std::ostream& stream, const std::string& line) {
    for (const auto& [word, color] :
         {std::pair{"error:", Color::red}, std::pair{"warning:", Color::yellow}}) {
        const auto begin = line.find(std::string(": ") + word);
        if (begin == std::string::npos) continue;
        stream << line.substr(0, begin + 2);
        paint(stream, color, word);
        stream << line.substr(begin + 2 + std::string_view(word).size()) << '\n';
        return;
    }
    stream << line << '\n';
}

void TextTable::add(std::vector<std::string> row) {
    expects(row.size() == rows_.front().size(), "a row has as many cells as the header");
    rows_.push_back(std::move(row));
}

void TextTable::print(std::ostream& stream) const {
    const std::size_t columns = rows_.front().size();
    std::vector<std::size_t> widths(columns, 0);
    std::vector<bool> numbers(columns, true);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
            const std::string& cell = rows_[row][column];
            widths[column] = std::max(widths[column], cell.size());
            const bool number = cell.find_first_not_of("-0123456789") == std::string::npos;
            if (row > 0 && !number) numbers[column] = false;
        }
    }
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t column = 0; column < columns; ++column) {
            const std::string padding(widths[column] - row[column].size(), ' ');
            line += numbers[column] ? padding + row[column] : row[column] + padding;
            line += "  ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        stream << line << '\n';
    }
}

void print_table(const std::vector<std::string>& columns, const nlohmann::json& rows) {
    std::vector<std::string> header;
    for (const std::string& column : columns) header.push_back(column.substr(0, column.find('=')));
    TextTable table(std::move(header));
    for (const nlohmann::json& row : rows) {
        std::vector<std::string> cells;
        for (const std::string& column : columns) {
            cells.push_back(json_text(row.at(column.substr(column.find('=') + 1))));
        }
        table.add(std::move(cells));
    }
    table.print(std::cout);
}

}  // namespace onceward
