#include "dedup/retention/merge_plan.h"

#include <algorithm>

namespace onceward {
namespace {

std::int64_t claims_of_all(std::span<const MergeCandidate> segments) {
    std::int64_t claims = 0;
    for (const MergeCandidate& one : segments) claims += one.claims;
    return claims;
}

// Whether these neighbours may be one segment.
bool fit(std::span<const MergeCandidate> segments, const MergeRule& rule) {
    return std::ranges::all_of(segments, &MergeCandidate::mergeable) &&
           claims_of_all(segments) <= rule.most_claims &&
           segments.back().sealed - segments.front().began <= rule.longest;
}

}  // namespace

std::optional<MergeRange> merge_due(std::span<const MergeCandidate> candidates,
                                    const MergeRule& rule) {
    const auto range = [&](std::size_t begin, std::size_t end) {
        return candidates.subspan(begin, end - begin);
    };
    // First the segments that are so old that no later one is within `longest` of them.
    for (std::size_t begin = 0; begin + 1 < candidates.size(); ++begin) {
        std::size_t end = begin + 1;
        while (end < candidates.size() && fit(range(begin, end + 1), rule)) ++end;
        const MergeCandidate& first = candidates[begin];
        const auto since_it_began = first.sealed - first.began + first.age;
        if (end - begin > 1 && since_it_began > rule.longest) return MergeRange{begin, end};
    }
    for (std::size_t end = candidates.size(); end > 0; --end) {
        std::size_t begin = end - 1;
        while (begin > 0 && fit(range(begin - 1, end), rule) &&
               candidates[begin - 1].claims <= claims_of_all(range(begin, end))) {
            --begin;
        }
        if (end - begin >= rule.fewest) return MergeRange{begin, end};
    }
    return std::nullopt;
}

}  // namespace onceward
