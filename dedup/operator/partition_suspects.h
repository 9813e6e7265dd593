#pragma once
// The partition that a process was fetching when its memory ran short, as PostgreSQL records it: a
// worker that takes its fence at that offset does not read it (FenceState::suspected). Plain
// functions; failures are PostgresErrors.

#include <cstdint>
#include <optional>
#include <string>

#include "dedup/base/types.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct MemoryUse {
    std::int64_t resident = 0;  // bytes
    std::int64_t budget = 0;
};

// Records the partition at the offset of its fence, and returns that offset; nullopt if it has no
// fence, or if the fence has passed `record` meanwhile.
std::optional<Offset> note_suspect(Connection& connection, const std::string& consumer_group,
                                   const TopicPartition& partition, const MemoryUse& use,
                                   std::optional<Offset> record);

}  // namespace onceward
