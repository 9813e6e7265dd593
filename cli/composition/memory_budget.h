#pragma once
// How much memory this process may have, and how much it has. Reads /proc and the cgroup's files
// (v1 and v2). Returns nullopt for what cannot be read. `root`: where the file system begins, for
// tests.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "cli/configuration/configuration.h"

namespace onceward {

// The lowest limit of the process's cgroup and those above it, else the machine's memory; in bytes.
std::optional<std::int64_t> memory_limit(const std::filesystem::path& root = "/");

// The configured budget, with 0 for none; else 80% of the limit. nullopt: there is no budget.
std::optional<std::int64_t> memory_budget(std::optional<std::int64_t> configured,
                                          const std::filesystem::path& root = "/");

// How much of it the claims of logs may take: what the configuration says; else 256 MiB, and no
// more than a third of the budget, since batches and what was fetched need the rest.
std::int64_t claims_memory(std::optional<std::int64_t> configured,
                           std::optional<std::int64_t> budget);
// The same for one of the servers of a process, which share it.
std::int64_t claims_memory_each(const Configuration& whole, std::optional<std::int64_t> budget);

// How long to wait before the next count, if so many bytes of the budget are left. Messages that
// inflate cannot take them all in that time. At least 50 ms, and at most 200 ms.
std::chrono::milliseconds next_count(std::int64_t left);

// Counts the bytes of this process that are in memory. Keeps its file open: it is asked several
// times a second, and opening the file was half of what an idle process did. Any thread may ask.
class ResidentMemory {
  public:
    explicit ResidentMemory(const std::filesystem::path& root = "/");
    ~ResidentMemory();
    ResidentMemory(const ResidentMemory&) = delete;
    ResidentMemory& operator=(const ResidentMemory&) = delete;
    std::optional<std::int64_t> bytes() const;

  private:
    int file_;  // -1: there is none
};

}  // namespace onceward
