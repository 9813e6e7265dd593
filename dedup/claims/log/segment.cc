#include "dedup/claims/log/segment.h"

#include <binaryfusefilter.h>

#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "dedup/base/mutants.h"
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

// The library's two filters under one set of names.
struct Fuse8 {
    using Type = binary_fuse8_t;
    static constexpr std::size_t slot_bytes = 1;
    static constexpr auto allocate = binary_fuse8_allocate;
    static constexpr auto populate = binary_fuse8_populate;
    static constexpr auto contains = binary_fuse8_contain;
    static constexpr auto places = binary_fuse8_hash_batch;
    static constexpr auto write = binary_fuse8_serialize;
    static constexpr auto read = binary_fuse8_deserialize;
    static constexpr auto free = binary_fuse8_free;
};
struct Fuse16 {
    using Type = binary_fuse16_t;
    static constexpr std::size_t slot_bytes = 2;
    static constexpr auto allocate = binary_fuse16_allocate;
    static constexpr auto populate = binary_fuse16_populate;
    static constexpr auto contains = binary_fuse16_contain;
    static constexpr auto places = binary_fuse16_hash_batch;
    static constexpr auto write = binary_fuse16_serialize;
    static constexpr auto read = binary_fuse16_deserialize;
    static constexpr auto free = binary_fuse16_free;
};

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

class FuseFilter::Filter {
  public:
    virtual ~Filter() = default;
    virtual bool may_contain(const Digest& digest) const = 0;
    virtual void prefetch(const Digest& digest) const = 0;
    virtual std::string stored() const = 0;
    virtual std::size_t bytes() const = 0;
};

template <class Fuse>
class FuseFilter::FilterOf final : public FuseFilter::Filter {
  public:
    explicit FilterOf(std::vector<std::uint64_t>& keys) {
        const auto size = static_cast<std::uint32_t>(keys.size());
        if (!Fuse::allocate(size, &fuse_) || !Fuse::populate(keys.data(), size, &fuse_)) {
            Fuse::free(&fuse_);
            throw std::runtime_error("there is no memory for a filter");
        }
    }
    explicit FilterOf(std::string_view stored) {
        if (!Fuse::read(&fuse_, stored.data())) throw std::bad_alloc();
    }
    FilterOf(const FilterOf&) = delete;
    ~FilterOf() override { Fuse::free(&fuse_); }

    bool may_contain(const Digest& digest) const override {
        return Fuse::contains(key_of(digest), &fuse_);
    }
    void prefetch(const Digest& digest) const override {
        const std::uint64_t hash = binary_fuse_mix_split(key_of(digest), fuse_.Seed);
        const binary_hashes_t at = Fuse::places(hash, &fuse_);
        for (const std::uint32_t slot : {at.h0, at.h1, at.h2}) {
            __builtin_prefetch(fuse_.Fingerprints + slot);
        }
    }
    std::string stored() const override {
        // The library's own count includes a member that it does not write.
        std::string bytes(header_bytes + fuse_.ArrayLength * Fuse::slot_bytes, '\0');
        Fuse::write(&fuse_, bytes.data());
        return bytes;
    }
    std::size_t bytes() const override {
        return sizeof fuse_ + fuse_.ArrayLength * Fuse::slot_bytes;
    }

  private:
    typename Fuse::Type fuse_{};
};

FuseFilter::FuseFilter(std::span<const Digest> digests, FilterKind kind) {
    std::vector<std::uint64_t> keys;
    keys.reserve(digests.size() + 2);
    for (const Digest& digest : digests) keys.push_back(key_of(digest));
    // The library needs at least two keys.
    while (keys.size() < 2) keys.push_back(keys.size());
    if (kind == FilterKind::narrow) {
        filter_ = std::make_shared<FilterOf<Fuse8>>(keys);
    } else {
        filter_ = std::make_shared<FilterOf<Fuse16>>(keys);
    }
}

FuseFilter::FuseFilter(std::string_view stored) {
    if (stored.size() < header_bytes) throw std::runtime_error("this is not a filter");
    binary_fuse8_t f{};
    binary_fuse8_deserialize_header(&f, stored.data());
    // What a probe computes stays within the array only if these hold.
    const bool whole =
        f.ArrayLength > 0 && f.SegmentLength > 0 &&
        (f.SegmentLength & (f.SegmentLength - 1)) == 0 &&
        std::uint64_t{f.SegmentCountLength} + 2ULL * f.SegmentLength == f.ArrayLength &&
        f.SegmentCountLength > 0 &&
        std::uint64_t{f.SegmentCount} * f.SegmentLength == f.SegmentCountLength;
    const std::size_t slots = stored.size() - header_bytes;
    if (whole && slots == f.ArrayLength * Fuse8::slot_bytes) {
        filter_ = std::make_shared<FilterOf<Fuse8>>(stored);
    } else if (whole && slots == f.ArrayLength * Fuse16::slot_bytes) {
        filter_ = std::make_shared<FilterOf<Fuse16>>(stored);
    } else {
        throw std::runtime_error("this is not a filter");
    }
}

bool FuseFilter::may_contain(const Digest& digest) const { return filter_->may_contain(digest); }

void FuseFilter::prefetch(const Digest& digest) const { filter_->prefetch(digest); }

std::string FuseFilter::stored() const { return filter_->stored(); }

std::size_t FuseFilter::bytes() const { return filter_->bytes(); }

std::size_t shard_of(const Digest& digest, int shard_bits) {
    const std::size_t first = std::size_t{digest.bytes[0]} << 8 | digest.bytes[1];
    return first >> (most_shard_bits - shard_bits);
}

Digest first_digest_of(int shard, int shard_bits) {
    const auto first = static_cast<std::uint32_t>(shard) << (most_shard_bits - shard_bits);
    Digest digest;
    digest.bytes[0] = static_cast<std::uint8_t>(first >> 8);
    digest.bytes[1] = static_cast<std::uint8_t>(first);
    return digest;
}

int shard_bits_for(std::int64_t digests, std::int64_t most) {
    int bits = 0;
    while (bits < most_shard_bits && digests >> bits > most) ++bits;
    return bits;
}

SegmentFilter SegmentFilter::with(std::size_t shard, FuseFilter filter) const {
    SegmentFilter more = *this;
    more.shards_.at(shard) = std::move(filter);
    return more;
}

SegmentFilter SegmentFilter::less(std::size_t bytes) const {
    SegmentFilter fewer = *this;
    std::size_t freed = 0;
    for (auto& shard : std::views::reverse(fewer.shards_)) {
        if (freed >= bytes) break;
        if (shard) freed += shard->bytes();
        shard.reset();
    }
    return fewer;
}

std::optional<std::size_t> SegmentFilter::first_missing() const {
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
        if (!shards_[shard]) return shard;
    }
    return std::nullopt;
}

bool SegmentFilter::may_contain(const Digest& digest) const {
    const std::optional<FuseFilter>& shard = shards_[shard_of(digest, shard_bits_)];
    if (!shard) return !mutant("missing_filter_says_no");
    return shard->may_contain(digest);
}

void SegmentFilter::prefetch(const Digest& digest) const {
    const std::optional<FuseFilter>& shard = shards_[shard_of(digest, shard_bits_)];
    if (shard) shard->prefetch(digest);
}

std::size_t SegmentFilter::bytes() const {
    std::size_t bytes = shards_.size() * sizeof(shards_.front());
    for (const auto& shard : shards_) bytes += shard ? shard->bytes() : 0;
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
