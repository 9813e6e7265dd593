#pragma once
// Which segments of a ledger become one. Small generations are sealed often, so that few claims are
// in memory one by one. Merges keep small how many segments each batch has to check. Pure.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace onceward {

// A sealed generation.
struct MergeCandidate {
    std::int64_t generation = 0;
    int merge = 0;  // how often it was merged
    std::int64_t claims = 0;
    std::chrono::milliseconds began{};   // since the epoch
    std::chrono::milliseconds sealed{};  // the same
    std::chrono::milliseconds age{};     // since it was sealed
    bool mergeable = false;
};

struct MergeRule {
    // At least so many neighbours are merged while the ledger still grows there. A smaller number:
    // fewer segments, and each claim is written more often.
    std::size_t fewest = 4;
    // No segment has many more claims than this. Merging it takes time and disk space in one piece.
    std::int64_t most_claims = 200'000'000;
    // From the first claim of a segment to its last one. A segment expires as a whole, so that its
    // oldest claims are kept longer than their retention by this time.
    std::chrono::milliseconds longest{3 * 3600 * 1000};
};

struct MergeRange {
    std::size_t begin = 0;  // among the candidates
    std::size_t end = 0;
    std::size_t size() const { return end - begin; }
    friend bool operator==(const MergeRange&, const MergeRange&) = default;
};

// The next neighbours to be merged; nullopt if there are none. Two rules, as the size-tiered
// ("universal") compaction of log-structured merge trees has them:
// - the newest segments, as long as the next older one is not larger than all newer ones together,
//   so that each claim is written about once for each doubling of a segment by `fewest`;
// - segments that nothing newer can join any more become one, down to the last pair.
// REQUIRES: candidates in the order of their generations.
std::optional<MergeRange> merge_due(std::span<const MergeCandidate> candidates,
                                    const MergeRule& rule);

}  // namespace onceward
