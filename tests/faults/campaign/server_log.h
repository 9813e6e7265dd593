#pragma once
// What a PostgreSQL server or a Kafka broker has written into its log.

#include <cstdint>
#include <filesystem>
#include <string>

namespace onceward::campaign {

// Whether a worker's session was told so, from that byte of the log on.
bool a_worker_was_told(const std::filesystem::path& log, std::uintmax_t from,
                       const std::string& what);

// Whether the broker's coordinator of the group failed by itself. Kafka 4.1.0 may then assign no
// partition of the group to any member until the broker starts again.
bool a_coordinator_failed(const std::filesystem::path& log, const std::string& group);

// What the log says of deadlocks from here on. Rows of fences and claims are taken in one order,
// and the tables have no triggers: there must be none.
class DeadlockWatch {
  public:
    explicit DeadlockWatch(std::filesystem::path log);
    std::int64_t seen() const;

  private:
    std::filesystem::path log_;
    std::uintmax_t begin_;
};

}  // namespace onceward::campaign
