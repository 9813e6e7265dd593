#include "cli/terminal/text_table.h"

#include <algorithm>
#include <cstddef>

#include "dedup/base/expects.h"

namespace onceward {

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

}  // namespace onceward
