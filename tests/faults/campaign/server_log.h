#pragma once
// What a PostgreSQL server has written into its log.

#include <cstdint>
#include <filesystem>
#include <string>

namespace onceward::campaign {

// Whether a worker's session was told so, from that byte of the log on.
bool a_worker_was_told(const std::filesystem::path& log, std::uintmax_t from,
                       const std::string& what);

}  // namespace onceward::campaign
