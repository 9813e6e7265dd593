#include "dedup/claims/log/claims_under_way.h"

#include "dedup/base/expects.h"

namespace onceward {
namespace {

// Both are sorted by digest. Whether the claims rely on `other`.
bool rely(std::span<const Claim> claims, std::span<ClaimAnswer> answers, const LogBatch& other,
          Reliance& reliance) {
    const std::span<const Digest> digests = other.digests;
    const std::size_t before = reliance.claims.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i < claims.size() && at < digests.size(); ++i) {
        while (at < digests.size() && digests[at] < claims[i].digest) ++at;
        if (at == digests.size() || digests[at] != claims[i].digest) continue;
        if (answers[i].verdict != Verdict::fresh) continue;
        const ClaimAnswer said = earlier_claim(claims[i], other.fingerprint(at));
        // Only for what is committed: a conflict may halt its topic, and its dead letter says
        // where the first message is.
        if (said.verdict == Verdict::conflict) continue;
        answers[i] = said;
        reliance.claims.push_back({claims[i].digest, other.fingerprint(at)});
    }
    return reliance.claims.size() > before;
}

}  // namespace

std::uint64_t ClaimsUnderWay::begin(std::span<const Claim> claims, std::span<ClaimAnswer> answers,
                                    LogAppend& mine, Reliance* reliance) {
    expects(mine.empty(), "what a transaction appends is empty when it begins");
    const MutexLock lock(mutex_);
    if (reliance != nullptr) {
        for (const auto& [number, other] : open_) {
            if (rely(claims, answers, other, *reliance)) reliance->transactions.push_back(number);
        }
    }
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (answers[i].verdict == Verdict::fresh) mine.add(claims[i]);
    }
    open_.emplace(++last_, mine.batch(0));
    return last_;
}

void ClaimsUnderWay::end(std::uint64_t number) {
    const MutexLock lock(mutex_);
    open_.erase(number);
    ended_.notify_all();
}

bool ClaimsUnderWay::wait(std::span<const std::uint64_t> numbers, std::chrono::milliseconds limit) {
    MutexLock lock(mutex_);
    return ended_.wait_for(lock, limit, [&]() ONCEWARD_REQUIRES(mutex_) {
        for (const std::uint64_t number : numbers) {
            if (open_.contains(number)) return false;
        }
        return true;
    });
}

}  // namespace onceward
