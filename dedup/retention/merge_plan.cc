#include "dedup/retention/merge_plan.h"

namespace onceward {
namespace {

// Whether the segments from `begin` on can still take in this one.
class Run {
  public:
    Run(std::span<const MergeCandidate> candidates, const MergeRule& rule)
        : candidates_(candidates), rule_(rule) {}

    bool fits(std::size_t begin, std::size_t end) const {
        std::int64_t claims = 0;
        for (std::size_t i = begin; i < end; ++i) {
            if (!candidates_[i].mergeable) return false;
            claims += candidates_[i].claims;
        }
        return claims <= rule_.most_claims &&
               candidates_[end - 1].sealed - candidates_[begin].began <= rule_.longest;
    }

    std::int64_t claims(std::size_t begin, std::size_t end) const {
        std::int64_t claims = 0;
        for (std::size_t i = begin; i < end; ++i) claims += candidates_[i].claims;
        return claims;
    }

  private:
    std::span<const MergeCandidate> candidates_;
    const MergeRule& rule_;
};

}  // namespace

std::optional<MergeRange> merge_due(std::span<const MergeCandidate> candidates,
                                    const MergeRule& rule) {
    const Run run(candidates, rule);
    // What is so old that no later segment is within `longest` of it.
    for (std::size_t begin = 0; begin + 1 < candidates.size(); ++begin) {
        std::size_t end = begin + 1;
        while (end < candidates.size() && run.fits(begin, end + 1)) ++end;
        const MergeCandidate& first = candidates[begin];
        const auto since_it_began = first.sealed - first.began + first.age;
        if (end - begin > 1 && since_it_began > rule.longest) return MergeRange{begin, end};
    }
    for (std::size_t end = candidates.size(); end > 0; --end) {
        std::size_t begin = end - 1;
        while (begin > 0 && run.fits(begin - 1, end) &&
               candidates[begin - 1].claims <= run.claims(begin, end)) {
            --begin;
        }
        if (end - begin >= rule.fewest) return MergeRange{begin, end};
    }
    return std::nullopt;
}

}  // namespace onceward
