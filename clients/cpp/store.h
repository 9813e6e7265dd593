#pragma once
// Where a client's keys outlive its process: an interface, and files that are synced to the disk.

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace onceward::client {

struct Entry {
    std::string operation;  // the caller's name for it, the same after a restart
    std::string key;
    std::string fingerprint;
    std::chrono::milliseconds created_at{};  // since 1970
};

// The store cannot be read or written. Nothing was sent, as a new key might be a second one.
class StoreFailed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Entries by operation. One caller at a time for each operation. Failures are StoreFailed.
class Store {
  public:
    virtual ~Store() = default;
    // Keeps the entry for good, unless one exists: then returns that one.
    // DANGER: it must be on the disk when this returns; the request is sent after it.
    virtual Entry claim(const Entry& entry) = 0;
    // Takes the operation's entry out, if it has this key.
    virtual void forget(const std::string& operation, const std::string& key) = 0;
    // Those whose outcome is not known, the oldest first.
    virtual std::vector<Entry> entries() = 0;
};

// A file for each operation in a folder of its own, which is made. For threads and processes.
class FileStore final : public Store {
  public:
    explicit FileStore(std::filesystem::path folder);
    Entry claim(const Entry& entry) override;
    void forget(const std::string& operation, const std::string& key) override;
    std::vector<Entry> entries() override;

  private:
    std::filesystem::path path_of(const std::string& operation) const;
    void sync_folder() const;

    std::filesystem::path folder_;
};

}  // namespace onceward::client
