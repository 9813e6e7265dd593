#pragma once
// The partition that a process was fetching when its memory ran short, as it stands in PostgreSQL:
// whoever takes its fence at that offset does not read it (FenceState::suspected). Plain functions;
// failures are PostgresErrors.

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

// Notes the partition at where its fence stands, which is the answer; none where it has no fence,
// or where the fence has passed `record` meanwhile.
std::optional<Offset> note_suspect(Connection& connection, const std::string& consumer_group,
                                   const TopicPartition& partition, const MemoryUse& use,
                                   std::optional<Offset> record);

}  // namespace onceward
