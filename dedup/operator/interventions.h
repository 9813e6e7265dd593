#pragma once
// What an operator changes or asks for: evictions, erasures, pauses; and the partitions that are
// suspected of exhausting a process's memory. Plain functions, each used by one thread; failures
// are PostgresErrors, except for locks.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/types.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// Takes claims out of a ledger of any store by hand: if a message with such a key is redelivered,
// it is applied. Each eviction is recorded in `evictions`, in the same transaction, and the claim's
// result is deleted with it. Erasures of results by tenant are recorded as well.
//
// Returns how many claims there were; nullopt if it must be tried again, because the ledger's lock
// was not available within `lock_timeout`: all claims of the ledger queue while somebody waits for
// the lock, and while a log's open generation is searched. Throws PostgresError (23514) if the
// reason is empty.
std::optional<int> evict(Connection& connection, int ledger, std::span<const Digest> digests,
                         const std::string& reason, std::chrono::milliseconds lock_timeout);

// Deletes the stored results of a tenant, and leaves the claims. Returns how many; nullopt if it
// must be tried again, as above. While it waits and works, no result can be stored in the ledger.
// Throws PostgresError (23514) if the reason is empty. REQUIRES: a tenant that is not empty.
std::optional<std::int64_t> erase_results(Connection& connection, int ledger,
                                          std::string_view tenant, const std::string& reason,
                                          std::chrono::milliseconds lock_timeout);

// Which statement finds keys' claims in a generation, by how sql::explain_generations says that
// they are kept. Pure; thread-safe. The rows are digest, time, group, topic, partition, offset,
// the last offset of the claim's batch (not for `table`), and the fingerprint.
std::string_view explain_statement(std::string_view kept);

// A generation as sql::explain_generations lists it, and the claims that it has under some digests,
// as explain_statement() finds them.
using FoundClaims =
    std::function<void(const QueryResult& generations, int row, const QueryResult& claims)>;
// Searches all generations of the ledger in their order; ledger '': of all ledgers. A table that is
// dropped meanwhile may have become a segment or a part of one: then all of the search is repeated,
// a few times at most. `begin` is called before each try.
void search_claims(Connection& connection, std::string_view ledger, std::span<const Digest> digests,
                   const std::function<void()>& begin, const FoundClaims& found);

// The partition that a process was fetching when its memory ran short, as PostgreSQL records it: a
// worker that takes its fence at that offset does not read it (FenceState::suspected).
struct MemoryUse {
    std::int64_t resident = 0;  // bytes
    std::int64_t budget = 0;
};

// Records the partition at the offset of its fence, and returns that offset; nullopt if it has no
// fence, or if the fence has passed `record` meanwhile.
std::optional<Offset> note_suspect(Connection& connection, const std::string& consumer_group,
                                   const TopicPartition& partition, const MemoryUse& use,
                                   std::optional<Offset> record);

// Topics that an operator has paused for a whole group, as PostgreSQL records them.
struct TopicPause {
    std::string topic;
    std::string reason;
    std::string paused_by;  // the database's role
    std::string paused_at;  // as PostgreSQL prints it
};

// Those topics of the group that have not been resumed.
std::vector<TopicPause> open_pauses(Connection& connection, const std::string& consumer_group);

// For people: the reason, by whom and since when.
std::string describe(const TopicPause& pause);

}  // namespace onceward
