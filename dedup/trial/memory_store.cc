#include "dedup/trial/memory_store.h"

namespace onceward {

std::optional<std::vector<ClaimAnswer>> MemoryStore::claim(Transaction&, const std::string&,
                                                           std::span<const Claim> claims) {
    return claim(claims);
}

std::vector<ClaimAnswer> MemoryStore::claim(std::span<const Claim> claims) {
    open_.clear();
    std::vector<ClaimAnswer> answers;
    answers.reserve(claims.size());
    for (const Claim& claim : claims) {
        const auto known = claims_.find(claim.digest);
        if (known == claims_.end()) {
            open_.emplace(claim.digest, claim.fingerprint);
            answers.push_back({Verdict::fresh, std::nullopt});
            continue;
        }
        answers.push_back(earlier_claim(claim, known->second));
    }
    return answers;
}

void MemoryStore::committed() { claims_.merge(open_); }

}  // namespace onceward
