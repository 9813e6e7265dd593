#include "dedup/claims/log/digest_table.h"

#include <bit>
#include <random>

namespace onceward {
namespace {

constexpr std::size_t first_slots = 16;
constexpr std::size_t line_bytes = 64;  // of a processor's cache

bool is_zero(const Digest& digest) { return digest == Digest{}; }

std::uint64_t random_odd() {
    std::random_device random;
    return (std::uint64_t{random()} << 32 | random()) | 1;
}

}  // namespace

DigestTable::DigestTable() : multiplier_(random_odd()) {}

// Digests are uniform already: a multiplication is enough, and its high bits depend on all others.
std::uint64_t DigestTable::hash(const Digest& digest) const {
    std::uint64_t low;
    std::memcpy(&low, digest.bytes.data() + 8, sizeof low);
    return low * multiplier_;
}

std::size_t DigestTable::find(const Shard& shard, std::uint64_t hash, const Digest& digest) {
    const std::size_t mask = shard.slots.size() - 1;
    std::size_t at = first_slot(shard, hash);
    while (shard.slots[at] != digest && !is_zero(shard.slots[at])) at = (at + 1) & mask;
    return at;
}

void DigestTable::grow(Shard& shard) const {
    Shard larger;
    const std::size_t size = shard.slots.empty() ? first_slots : 2 * shard.slots.size();
    larger.slots.resize(size);
    if (!shard.knowns.empty()) larger.knowns.resize(size);
    larger.used = shard.used;
    larger.shift = 64 - std::countr_zero(size);
    for (std::size_t i = 0; i < shard.slots.size(); ++i) {
        if (is_zero(shard.slots[i])) continue;
        const std::size_t at = find(larger, hash(shard.slots[i]), shard.slots[i]);
        larger.slots[at] = shard.slots[i];
        if (!shard.knowns.empty()) larger.knowns[at] = shard.knowns[i];
    }
    shard = std::move(larger);
}

void DigestTable::insert(const Digest& digest, const std::optional<Digest>& fingerprint,
                         std::int64_t batch) {
    if (is_zero(digest)) {
        if (!has_zero_ && fingerprint) zero_known_ = {*fingerprint, batch};
        size_ += has_zero_ ? 0 : 1;
        has_zero_ = true;
        return;
    }
    const std::uint64_t key = hash(digest);
    Shard& mine = shards_[key >> (64 - shard_bits)];
    if (full(mine, 1)) grow(mine);
    const std::size_t at = find(mine, key, digest);
    if (!is_zero(mine.slots[at])) return;
    mine.slots[at] = digest;
    ++mine.used;
    ++size_;
    if (!fingerprint) return;
    if (mine.knowns.empty()) mine.knowns.resize(mine.slots.size());
    mine.knowns[at] = {*fingerprint, batch};
}

void DigestTable::make_room(std::size_t more) {
    const std::size_t share = more / shards_.size() + 1;
    for (Shard& shard : shards_) {
        while (full(shard, share)) grow(shard);
    }
}

bool DigestTable::contains(const Digest& digest) const {
    if (is_zero(digest)) return has_zero_;
    const std::uint64_t key = hash(digest);
    const Shard& mine = shard(key);
    return !mine.slots.empty() && !is_zero(mine.slots[find(mine, key, digest)]);
}

DigestTable::Known DigestTable::known(const Digest& digest) const {
    if (is_zero(digest)) return zero_known_;
    const std::uint64_t key = hash(digest);
    const Shard& mine = shard(key);
    return mine.knowns.empty() ? Known{} : mine.knowns[find(mine, key, digest)];
}

std::optional<Digest> DigestTable::fingerprint(const Digest& digest) const {
    return unpacked_fingerprint(known(digest).fingerprint);
}

std::int64_t DigestTable::batch(const Digest& digest) const { return known(digest).batch; }

void DigestTable::prefetch(const Digest& digest) const {
    const std::uint64_t key = hash(digest);
    const Shard& mine = shard(key);
    if (mine.slots.empty()) return;
    // A run of filled slots usually continues in the next cache line.
    const char* const first = reinterpret_cast<const char*>(&mine.slots[first_slot(mine, key)]);
    __builtin_prefetch(first);
    __builtin_prefetch(first + line_bytes);
}

std::size_t DigestTable::bytes() const {
    std::size_t bytes = 0;
    for (const Shard& shard : shards_) {
        bytes += shard.slots.capacity() * sizeof(Digest) + shard.knowns.capacity() * sizeof(Known);
    }
    return bytes;
}

}  // namespace onceward
