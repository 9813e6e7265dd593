#pragma once
// Rows of a ledger's log, as they are read and as they are written. Plain values; pure.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/postgres/values.h"

namespace onceward {

// The digests of a bytea, which holds them concatenated. Borrows it.
std::span<const Digest> digests_in(std::string_view bytes);

// A batch of the log. It borrows its digests from what it was read from.
struct LogBatch {
    std::int64_t seq = 0;
    std::span<const Digest> digests;
    // In the same order, packed; empty if the batch has none at all.
    std::span<const Digest> fingerprints;
    Digest packed(std::size_t place) const {
        return fingerprints.empty() ? packed_fingerprint(std::nullopt) : fingerprints[place];
    }
    std::optional<Digest> fingerprint(std::size_t place) const {
        return unpacked_fingerprint(packed(place));
    }
};

// Reads the columns `digests` and `fingerprints`; the latter is null if no claim has one. Borrows
// the answer.
LogBatch batch_in(const QueryResult& rows, int row, std::int64_t seq, int digests,
                  int fingerprints);

// Whether any of these digests, which are sorted, may be in the batch: never false if one is.
// True as well for a batch that is not sorted, which this version does not write.
bool may_meet(std::span<const Digest> digests, const LogBatch& batch);

// What the ledger says of its log.
struct LogState {
    std::int64_t generation = 0;  // the current one, which is appended to; 0: no such ledger
    std::int64_t floor = 0;       // what the log held up to this seq may be gone, or in a segment
    std::int64_t evictions = 0;   // how often a claim was evicted
    std::int64_t oldest = 0;      // the oldest generation whose claims are still kept
};

// One read of the log beyond some `seq`, with what the ledger said in the same snapshot.
class LogLook {
  public:
    // REQUIRES: the result of sql::log_look, in binary.
    explicit LogLook(QueryResult result);
    LogState state;
    std::vector<LogBatch> batches;
    std::size_t bytes() const;

  private:
    QueryResult result_;
};

// What a transaction is about to append.
class LogAppend {
  public:
    void clear();
    void add(const Claim& claim);
    bool empty() const { return digests_.empty(); }
    std::span<const Digest> digests() const { return digests_; }
    LogBatch batch(std::int64_t seq) const { return {seq, digests_, fingerprints_}; }
    // The parameters of sql::log_append, and the first ones of sql::log_append_unchanged.
    Parameters parameters(int source) const;

  private:
    std::vector<Digest> digests_;
    std::vector<Digest> fingerprints_;  // empty while no claim has one
    // The places that the claims came from, one for each partition.
    std::vector<std::int32_t> partitions_;
    std::vector<std::int64_t> first_offsets_;
    std::vector<std::int64_t> last_offsets_;
    std::vector<std::size_t> place_of_;  // by partition, plus one; 0: none yet
};

}  // namespace onceward
