#pragma once
// Where `onceward import` reads keys from: page by page, each from a position that was written
// down. Used by one thread.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "dedup/postgres/connection.h"

namespace onceward {

// The list cannot be read.
class KeyListError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct KeyPage {
    std::vector<std::string> keys;
    std::string position;  // where the next page begins; never '' after a key
    bool end = false;      // nothing follows
};

class KeyList {
  public:
    virtual ~KeyList() = default;
    // `position`: '' at the beginning, else as a page before gave it.
    virtual KeyPage read(const std::string& position, std::size_t limit) = 0;
    // What it is: another list has another one.
    virtual std::string description() const = 0;
};

// The first column of a query's rows, as text, in the order of its own type; nulls are passed over.
// Each page is a statement of its own, so that nothing is held open: rows that come meanwhile with
// smaller keys are missed. Throws PostgresError.
class QueriedKeys final : public KeyList {
  public:
    QueriedKeys(const ConnectionOptions& options, std::string query);
    KeyPage read(const std::string& position, std::size_t limit) override;
    // DANGER: the same query of another database, or through another search_path, is another list:
    // continued from the first one's position, its smaller keys would never be claimed.
    std::string description() const override { return description_; }

  private:
    Connection connection_;
    std::string query_;
    std::string description_;
};

// The lines of a file, without their ends (LF, or CR and LF); empty ones are passed over. Throws
// KeyListError.
class KeysOfFile final : public KeyList {
  public:
    explicit KeysOfFile(const std::filesystem::path& file);
    KeyPage read(const std::string& position, std::size_t limit) override;
    // Path, size and time: a file that has changed is another one.
    std::string description() const override { return description_; }

  private:
    std::ifstream file_;
    std::string description_;
};

}  // namespace onceward
