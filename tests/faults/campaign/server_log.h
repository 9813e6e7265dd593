#pragma once
// What a PostgreSQL server has written into its log.

#include <cstdint>
#include <filesystem>
#include <string>

namespace onceward::campaign {

// Whether a worker's session was told so, from that byte of the log on.
bool a_worker_was_told(const std::filesystem::path& log, std::uintmax_t from,
                       const std::string& what);

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
