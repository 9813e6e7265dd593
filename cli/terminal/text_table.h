#pragma once
// Rows in aligned columns, for people. Plain; not thread-safe; throws BrokenContract alone.

#include <ostream>
#include <string>
#include <vector>

namespace onceward {

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

}  // namespace onceward
