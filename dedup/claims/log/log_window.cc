#include "dedup/claims/log/log_window.h"

#include <algorithm>
#include <ranges>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

// Returns whether the claims rely on `other`. Both are sorted by digest.
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
        // Only a committed claim makes a conflict: it may halt its topic, and its dead letter says
        // where the first message is.
        if (said.verdict == Verdict::conflict) continue;
        answers[i] = said;
        reliance.claims.push_back({claims[i].digest, other.fingerprint(at)});
    }
    return reliance.claims.size() > before;
}

// Look-ups miss the caches; this many are under way at once.
constexpr std::size_t ahead = 16;

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

LogWindow::Position LogWindow::position() const {
    const ReadLock lock(mutex_);
    return position_;
}

void LogWindow::begin(const LogState& oldest) {
    const WriteLock lock(mutex_);
    if (position_.generation != 0) return;
    // What is not above the floor is gone already, and so needs no reading.
    position_ = {oldest.generation, oldest.floor, oldest.evictions, position_.version};
}

void LogWindow::next_generation(std::int64_t generation) {
    const WriteLock lock(mutex_);
    position_.generation = std::max(position_.generation, generation);
}

void LogWindow::take_in(std::int64_t generation, std::span<const LogBatch> batches) {
    if (batches.empty()) return;
    expects(std::ranges::is_sorted(batches, {}, &LogBatch::seq), "the log is read in its order");
    const WriteLock lock(mutex_);
    Generation& into = generations_[generation];
    for (const LogBatch& batch : batches) {
        for (std::size_t i = 0; i < batch.digests.size(); ++i) {
            if (i + ahead < batch.digests.size()) into.digests.prefetch(batch.digests[i + ahead]);
            into.digests.insert(batch.digests[i], batch.fingerprint(i), batch.seq);
        }
        position_.last = std::max(position_.last, batch.seq);
    }
    ++position_.version;
}

void LogWindow::make_room(std::int64_t generation, std::span<const Digest> digests) {
    const WriteLock lock(mutex_);
    const auto found = generations_.find(generation);
    if (found == generations_.end()) return;
    DigestTable& table = found->second.digests;
    table.make_room(digests.size());
    for (const Digest& digest : digests) table.prefetch(digest);
}

void LogWindow::forget_before(std::int64_t generation) {
    {
        const ReadLock lock(mutex_);
        if (generations_.empty() || generations_.begin()->first >= generation) return;
    }
    const WriteLock lock(mutex_);
    generations_.erase(generations_.begin(), generations_.lower_bound(generation));
}

void LogWindow::put_segment(std::int64_t generation, Segment segment) {
    std::map<std::int64_t, Generation> before;  // its memory is freed without the lock
    const WriteLock lock(mutex_);
    // DANGER: another worker may still hold a list of segments from before a merge. If its segments
    // replaced the merged one, claims of generations that only the merged one covers would be lost.
    if (const auto next = generations_.upper_bound(generation); next != generations_.begin()) {
        const std::optional<Segment>& known = std::prev(next)->second.segment;
        if (known && known->last >= segment.last) return;
    }
    const auto end = generations_.upper_bound(segment.last);
    for (auto at = generations_.lower_bound(generation); at != end;) {
        before.insert(generations_.extract(at++));
    }
    generations_[generation].segment = std::move(segment);
    segment_came_ = ++position_.version;
}

bool LogWindow::has_segment(std::int64_t generation, int merge) const {
    const ReadLock lock(mutex_);
    const auto found = generations_.find(generation);
    return found != generations_.end() && found->second.segment &&
           found->second.segment->merge == merge;
}

std::optional<LogWindow::MissingFilter> LogWindow::missing_filter(std::int64_t before) const {
    const ReadLock lock(mutex_);
    for (const auto& [number, generation] : std::views::reverse(generations_)) {
        if (number >= before) continue;
        const std::span<const SegmentPart> parts = parts_of(generation);
        for (std::size_t part = 0; part < parts.size(); ++part) {
            const auto shard = parts[part].filter->first_missing();
            if (!shard) continue;
            return MissingFilter{number, generation.segment->merge, part, *shard,
                                 parts[part].first_filter + static_cast<int>(*shard)};
        }
    }
    return std::nullopt;
}

void LogWindow::put_filter(const MissingFilter& missing, FuseFilter filter) {
    const WriteLock lock(mutex_);
    const auto found = generations_.find(missing.generation);
    if (found == generations_.end() || !found->second.segment ||
        found->second.segment->merge != missing.merge) {
        return;
    }
    SegmentPart& part = found->second.segment->parts.at(missing.part);
    part.filter =
        std::make_shared<const SegmentFilter>(part.filter->with(missing.shard, std::move(filter)));
}

void LogWindow::drop_filters(std::size_t bytes) {
    const WriteLock lock(mutex_);
    std::size_t freed = 0;
    for (auto& [number, generation] : generations_) {
        if (!generation.segment) continue;
        for (SegmentPart& part : generation.segment->parts) {
            if (freed >= bytes) return;
            const std::size_t before = part.filter->bytes();
            part.filter = std::make_shared<const SegmentFilter>(part.filter->less(bytes - freed));
            freed += before - part.filter->bytes();
        }
    }
}

std::span<const SegmentPart> LogWindow::parts_of(const Generation& generation) {
    return generation.segment ? std::span<const SegmentPart>(generation.segment->parts)
                              : std::span<const SegmentPart>();
}

LogWindow::Position LogWindow::look_up(std::span<const Claim> claims,
                                       std::span<ClaimAnswer> answers,
                                       std::vector<Suspect>& suspects) const {
    const ReadLock lock(mutex_);
    // Recent claims first: a key that is found among them needs no look-up in a segment.
    for (const auto& [number, generation] : generations_) {
        if (generation.segment) continue;
        const DigestTable& table = generation.digests;
        for (std::size_t i = 0; i < claims.size(); ++i) {
            if (i + ahead < claims.size()) table.prefetch(claims[i + ahead].digest);
            if (answers[i].verdict != Verdict::fresh || !table.contains(claims[i].digest)) continue;
            answers[i] = earlier_claim(claims[i], table.fingerprint(claims[i].digest));
        }
    }
    for (const auto& [number, generation] : generations_) {
        for (const SegmentPart& part : parts_of(generation)) {
            for (std::size_t i = 0; i < claims.size(); ++i) {
                if (i + ahead < claims.size() && answers[i + ahead].verdict == Verdict::fresh) {
                    part.filter->prefetch(claims[i + ahead].digest);
                }
                if (answers[i].verdict != Verdict::fresh) continue;
                if (!part.filter->may_contain(claims[i].digest)) continue;
                suspects.push_back({number, generation.segment->merge, part.number, i});
            }
        }
    }
    return position_;
}

bool LogWindow::knows_any(std::span<const Digest> digests, std::uint64_t since) const {
    const ReadLock lock(mutex_);
    // DANGER: a batch that was added after that check may be part of a segment by now, and a
    // segment holds no single digests. It must be checked again.
    if (segment_came_ > since) return true;
    for (const auto& [number, generation] : generations_) {
        const DigestTable& table = generation.digests;
        for (std::size_t i = 0; i < digests.size(); ++i) {
            if (i + ahead < digests.size()) table.prefetch(digests[i + ahead]);
            if (table.contains(digests[i])) return true;
        }
    }
    return false;
}

bool LogWindow::holds(std::span<const Reliance::OnClaim> claims) const {
    const ReadLock lock(mutex_);
    return std::ranges::all_of(
        claims, [&](const Reliance::OnClaim& claim) ONCEWARD_REQUIRES_SHARED(mutex_) {
            return std::ranges::any_of(generations_, [&](const auto& entry) {
                const DigestTable& table = entry.second.digests;
                return table.contains(claim.digest) &&
                       table.fingerprint(claim.digest) == claim.fingerprint;
            });
        });
}

std::vector<LogWindow::Whereabouts> LogWindow::whereabouts(const Digest& digest) const {
    std::vector<Whereabouts> found;
    const ReadLock lock(mutex_);
    for (const auto& [number, generation] : generations_) {
        for (const SegmentPart& part : parts_of(generation)) {
            if (!part.filter->may_contain(digest)) continue;
            found.push_back({number, 0, part.number, generation.segment->merge});
        }
        if (const std::int64_t seq = generation.digests.batch(digest)) {
            found.push_back({number, seq});
        }
    }
    return found;
}

std::size_t LogWindow::size() const {
    const ReadLock lock(mutex_);
    std::size_t size = 0;
    for (const auto& [number, generation] : generations_) {
        size += generation.digests.size();
        for (const SegmentPart& part : parts_of(generation)) {
            size += static_cast<std::size_t>(part.filter->claims());
        }
    }
    return size;
}

std::size_t LogWindow::bytes() const {
    const ReadLock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& [number, generation] : generations_) {
        bytes += generation.digests.bytes();
        for (const SegmentPart& part : parts_of(generation)) bytes += part.filter->bytes();
    }
    return bytes;
}

LogWindow::RecentClaims LogWindow::recent_claims(std::int64_t generation) const {
    const ReadLock lock(mutex_);
    RecentClaims recent;
    for (const auto& [number, one] : generations_) {
        const std::size_t bytes = one.digests.bytes();
        recent.all += bytes;
        if (number == generation) recent.of_generation += bytes;
        if (number < position_.generation) {
            recent.sealed += bytes;
        } else {
            recent.open_claims += one.digests.size();
        }
    }
    return recent;
}

LookVerdict judge(const LogState& state, const LogWindow::Position& position, std::size_t batches,
                  std::size_t limit) {
    if (state.generation == 0) return LookVerdict::gone;
    // DANGER: a read of `seq > last` cannot see that batches it should have found were dropped. And
    // memory must not say 'duplicate' of a key that was evicted.
    if (position.last < state.floor || position.evictions != state.evictions) {
        return LookVerdict::gone;
    }
    if (state.generation != position.generation || batches >= limit) {
        return LookVerdict::more;
    }
    return LookVerdict::complete;
}

}  // namespace onceward
