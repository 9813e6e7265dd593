#pragma once
// A log in memory in place of Kafka's: partitions with offsets, gaps included. Thread-safe, but for
// entries(), which is for when nobody appends. Keys' digests are made as the product makes them.

#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "dedup/message/batch.h"

namespace onceward::support {

struct LogEntry {
    std::string key;
    std::string payload = "{}";
    std::optional<Digest> fingerprint = {};
    std::optional<Rejection> rejection = {};  // as the decoder would have set it
    bool skipped = false;
    std::optional<std::string> record_key = {};  // the idempotency key where there is none
    std::optional<std::chrono::milliseconds> timestamp = {};
    std::optional<MintedAt> minted_at = {};
    bool redriven = false;
};

class ScriptedLog {
  public:
    explicit ScriptedLog(int partitions) : partitions_(static_cast<std::size_t>(partitions)) {}
    Offset append(int partition, LogEntry entry);
    // Offsets that hold no message, as control records and compaction leave them.
    void leave_gap(int partition, std::int64_t offsets);
    Offset end(int partition) const;
    int partitions() const { return static_cast<int>(partitions_.size()); }
    std::int64_t message_count() const;
    const std::map<std::int64_t, LogEntry>& entries(int partition) const;
    // At most that many messages from `begin` on, with the span up to where the next reading
    // begins: the log's end where nothing is left. No span where there is nothing to read.
    Chunk read(Partition partition, Offset begin, std::size_t messages) const;

  private:
    struct Log {
        std::map<std::int64_t, LogEntry> entries;
        std::int64_t end = 0;
    };
    const Log& log(int partition) const {
        return partitions_.at(static_cast<std::size_t>(partition));
    }
    mutable std::shared_mutex mutex_;
    std::vector<Log> partitions_;
};

Digest scripted_digest(const std::string& key);

}  // namespace onceward::support
