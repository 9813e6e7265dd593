#include "dedup/claims/log/segment.h"

#include <binaryfusefilter.h>

#include <algorithm>
#include <stdexcept>

#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

// The part of the digest that nothing else here uses: shards are cut by its first bytes.
std::uint64_t key_of(const Digest& digest) {
    std::uint64_t key;
    std::memcpy(&key, digest.bytes.data() + 8, sizeof key);
    return key;
}

constexpr std::size_t header_bytes = 28;

constexpr int most_shard_bits = 16;

void put_block(std::string& out, std::span<const SealedClaim> block) {
    const auto count = static_cast<std::uint32_t>(block.size());
    const std::int32_t part = block.front().part;
    binary::put16(out, part == 0 ? 4 : 5);
    binary::put_field(out, bytes_of(block.front().digest));
    binary::put32(out, 16 * count);
    for (const SealedClaim& claim : block) out.append(bytes_of(claim.digest));
    binary::put32(out, 4 * count);
    for (const SealedClaim& claim : block) binary::put32(out, claim.batch);
    const bool any = std::ranges::any_of(block, [](const SealedClaim& claim) {
        return unpacked_fingerprint(claim.fingerprint).has_value();
    });
    binary::put32(out, any ? 16 * count : binary::null_length);
    for (const SealedClaim& claim : block) {
        if (any) out.append(bytes_of(claim.fingerprint));
    }
    if (part == 0) return;
    binary::put32(out, 4);
    binary::put32(out, static_cast<std::uint32_t>(part));
}

}  // namespace

struct FuseFilter::Filter : binary_fuse16_t {
    Filter() : binary_fuse16_t{} {}
    Filter(const Filter&) = delete;
    ~Filter() { binary_fuse16_free(this); }
};

FuseFilter::FuseFilter(std::span<const Digest> digests) : filter_(std::make_shared<Filter>()) {
    std::vector<std::uint64_t> keys;
    keys.reserve(digests.size() + 2);
    for (const Digest& digest : digests) keys.push_back(key_of(digest));
    // It is not made for fewer than two.
    while (keys.size() < 2) keys.push_back(keys.size());
    const auto size = static_cast<std::uint32_t>(keys.size());
    if (!binary_fuse16_allocate(size, filter_.get()) ||
        !binary_fuse16_populate(keys.data(), size, filter_.get())) {
        throw std::runtime_error("there is no memory for a filter");
    }
}

FuseFilter::FuseFilter(std::string_view stored) : filter_(std::make_shared<Filter>()) {
    if (stored.size() < header_bytes) throw std::runtime_error("this is not a filter");
    const char* rest = binary_fuse16_deserialize_header(filter_.get(), stored.data());
    const auto header = static_cast<std::size_t>(rest - stored.data());
    const Filter& f = *filter_;
    // What a probe computes stays within the array only if these hold.
    const bool whole =
        stored.size() - header == f.ArrayLength * sizeof(std::uint16_t) && f.SegmentLength > 0 &&
        (f.SegmentLength & (f.SegmentLength - 1)) == 0 &&
        std::uint64_t{f.SegmentCountLength} + 2ULL * f.SegmentLength == f.ArrayLength &&
        f.SegmentCountLength > 0 &&
        std::uint64_t{f.SegmentCount} * f.SegmentLength == f.SegmentCountLength;
    if (!whole) throw std::runtime_error("this is not a filter");
    if (!binary_fuse16_deserialize(filter_.get(), stored.data())) throw std::bad_alloc();
}

bool FuseFilter::may_contain(const Digest& digest) const {
    return binary_fuse16_contain(key_of(digest), filter_.get());
}

std::string FuseFilter::stored() const {
    // The library's own count includes a member that it does not write.
    std::string bytes(header_bytes + filter_->ArrayLength * sizeof(std::uint16_t), '\0');
    binary_fuse16_serialize(filter_.get(), bytes.data());
    return bytes;
}

std::size_t FuseFilter::bytes() const { return binary_fuse16_size_in_bytes(filter_.get()); }

std::size_t shard_of(const Digest& digest, int shard_bits) {
    const std::size_t first = std::size_t{digest.bytes[0]} << 8 | digest.bytes[1];
    return first >> (most_shard_bits - shard_bits);
}

int shard_bits_for(std::int64_t digests, std::int64_t most) {
    int bits = 0;
    while (bits < most_shard_bits && digests >> bits > most) ++bits;
    return bits;
}

bool SegmentFilter::may_contain(const Digest& digest) const {
    return shards_[shard_of(digest, shard_bits_)].may_contain(digest);
}

std::size_t SegmentFilter::bytes() const {
    std::size_t bytes = 0;
    for (const FuseFilter& shard : shards_) bytes += shard.bytes();
    return bytes;
}

void cut(std::span<PartExtent> parts, int first_filter, std::int64_t most) {
    for (PartExtent& part : parts) {
        part.shard_bits = shard_bits_for(part.claims, most);
        part.first_filter = first_filter;
        first_filter += part.filters();
    }
}

int filter_of(const PartExtent& part, const Digest& digest) {
    return part.first_filter + static_cast<int>(shard_of(digest, part.shard_bits));
}

std::vector<FilterRange> readings(std::span<const PartExtent> parts, std::int64_t most) {
    std::vector<FilterRange> readings;
    for (const PartExtent& part : parts) {
        const std::int64_t each = part.claims >> part.shard_bits;
        for (int filter = part.first_filter; filter < part.first_filter + part.filters();
             ++filter) {
            if (readings.empty() || readings.back().claims + each > most) {
                readings.push_back({filter, filter, 0});
            }
            readings.back().end = filter + 1;
            readings.back().claims += each;
        }
    }
    return readings;
}

void sort_claims(std::vector<SealedClaim>& claims) {
    std::ranges::sort(claims, [](const SealedClaim& left, const SealedClaim& right) {
        if (left.part != right.part) return left.part < right.part;
        const auto compared = left.digest <=> right.digest;
        return compared != 0 ? compared < 0 : left.batch < right.batch;
    });
    const auto same = [](const SealedClaim& left, const SealedClaim& right) {
        return left.part == right.part && left.digest == right.digest;
    };
    claims.erase(std::unique(claims.begin(), claims.end(), same), claims.end());
}

std::string block_rows(std::span<const SealedClaim> claims) {
    std::string out;
    out.reserve(claims.size() * 21 + 64);
    for (std::size_t at = 0; at < claims.size(); at += block_digests) {
        put_block(out, claims.subspan(at, std::min(block_digests, claims.size() - at)));
    }
    return out;
}

}  // namespace onceward
