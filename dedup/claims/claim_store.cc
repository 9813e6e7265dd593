#include "dedup/claims/claim_store.h"

#include <algorithm>

#include "dedup/base/expects.h"
#include "dedup/base/mutants.h"

namespace onceward {
namespace {

// Group, topic, partition and offsets from `column` on.
ClaimPlace place_at(const QueryResult& rows, int row, int column, bool has_last) {
    return {std::string(rows.optional_text(row, column).value_or("")),
            std::string(rows.optional_text(row, column + 1).value_or("")),
            Partition{static_cast<std::int32_t>(rows.integer(row, column + 2))},
            Offset{rows.integer(row, column + 3)},
            Offset{rows.integer(row, column + (has_last ? 4 : 3))}};
}

using Batches = std::multimap<std::int64_t, std::size_t>;

}  // namespace

bool in_claim_order(std::span<const Claim> claims) {
    return std::ranges::adjacent_find(claims, std::ranges::greater_equal(), &Claim::digest) ==
           claims.end();
}

void expect_claim_order(std::span<const Claim> claims) {
    expects(in_claim_order(claims) || mutant("unsorted_batch"),
            "claims are sorted by digest, and none is there twice");
}

ClaimPlaces::ClaimPlaces(std::span<const Claim> claims) : all(claims.size()) {
    for (std::size_t i = 0; i < claims.size(); ++i) {
        by_digest_.emplace(uuid_text(claims[i].digest), i);
    }
}

void ClaimPlaces::take(const QueryResult& rows, const Parts* asked) {
    for (int row = 0; row < rows.rows(); ++row) {
        const int part = asked == nullptr ? 0 : static_cast<int>(rows.integer(row, 8));
        const auto [begin, end] = by_digest_.equal_range(rows.text(row, 0));
        for (auto entry = begin; entry != end; ++entry) {
            if (asked != nullptr && !asked->contains({entry->second, part})) continue;
            all[entry->second].push_back(place_at(rows, row, 2, asked != nullptr));
        }
    }
}

void ClaimPlaces::take_batches(const QueryResult& rows, const Batches& claims) {
    for (int row = 0; row < rows.rows(); ++row) {
        const auto [begin, end] = claims.equal_range(rows.integer(row, 0));
        for (auto entry = begin; entry != end; ++entry) {
            all[entry->second].push_back(place_at(rows, row, 1, true));
        }
    }
}

}  // namespace onceward
