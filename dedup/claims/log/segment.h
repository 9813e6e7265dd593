#pragma once
// Segments of a ledger's log: how a sealed generation's digests are laid out, in memory and in
// rows. Pure; plain values; SegmentFilter is immutable once it is shared. Throws std::bad_alloc,
// and std::runtime_error if a stored filter is invalid.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/digest.h"

namespace onceward {

// How many bits a filter has for each digest, and its share of false positives: the digests that
// are not in it but get a yes. Each of those costs a read of a block.
enum class FilterKind : std::uint8_t {
    exact,   // 18 bits, 0.0015 %
    narrow,  // 9 bits, 0.4 %
};

// A binary fuse filter over digests (Graf and Lemire, 2022): it never says no for a digest that is
// in it. Immutable, so thread-safe; owns its memory. Its stored form has the machine's byte order.
class FuseFilter {
  public:
    // Needs 24 bytes a digest in addition to the filter while it works. Throws std::runtime_error
    // if that memory is not available.
    explicit FuseFilter(std::span<const Digest> digests, FilterKind kind = FilterKind::exact);
    // From what stored() gave; throws std::runtime_error if that is not a filter.
    explicit FuseFilter(std::string_view stored);

    bool may_contain(const Digest& digest) const;
    // Asks the processor for the memory that may_contain() will read.
    void prefetch(const Digest& digest) const;
    std::string stored() const;
    std::size_t bytes() const;

  private:
    class Filter;
    template <class Fuse>
    class FilterOf;
    std::shared_ptr<const Filter> filter_;
};

// Filters are built and stored in pieces, by the first bits of the digest, so that building one
// takes a bounded amount of memory.
std::size_t shard_of(const Digest& digest, int shard_bits);
// The smallest digest of a piece.
Digest first_digest_of(int shard, int shard_bits);
// With this many bits no piece of `digests` has many more than `most`. At most 16.
int shard_bits_for(std::int64_t digests, std::int64_t most);

// What a process remembers of a segment: its filters, as far as they are in memory. Immutable, so
// thread-safe.
class SegmentFilter {
  public:
    // Without any filter.
    SegmentFilter(int shard_bits, std::int64_t claims)
        : shard_bits_(shard_bits), claims_(claims), shards_(std::size_t{1} << shard_bits) {}
    // The same, with the filter of a shard.
    SegmentFilter with(std::size_t shard, FuseFilter filter) const;
    // The same, without its last filters, until `bytes` are freed.
    SegmentFilter less(std::size_t bytes) const;
    // The first shard whose filter is not in memory; nullopt if all are.
    std::optional<std::size_t> first_missing() const;
    // No is certain; yes is to be verified by reading the block. Without its filter in memory a
    // shard says yes to each digest: slower, and never wrong.
    bool may_contain(const Digest& digest) const;
    // As FuseFilter's. Otherwise each look in a filter of a hundred million waits for the memory.
    void prefetch(const Digest& digest) const;
    std::int64_t claims() const { return claims_; }
    std::size_t bytes() const;

  private:
    int shard_bits_;
    std::int64_t claims_;
    std::vector<std::optional<FuseFilter>> shards_;
};

// With `reach: partition` a segment has a part for each partition of each source, numbered from 1:
// the same key in another part is another claim. Otherwise it is whole, which is part 0.
struct SegmentPart {
    int number = 0;
    int first_filter = 0;  // the number of its first shard's filter
    std::shared_ptr<const SegmentFilter> filter;
};

// What is stored of a part. Its filters are numbered from `first_filter` on, one for each shard.
struct PartExtent {
    int number = 0;
    int source = 0;
    int partition = 0;
    std::int64_t claims = 0;
    int shard_bits = 0;
    int first_filter = 0;
    int filters() const { return 1 << shard_bits; }
};
// Sets how each part is cut, so that no filter has many more than `most` digests, and numbers the
// filters of all parts in a row.
void cut(std::span<PartExtent> parts, int first_filter, std::int64_t most);
// The number of the digest's filter.
int filter_of(const PartExtent& part, const Digest& digest);
// Each reading of the log makes the filters from number `begin` up to `end`: as many as have `most`
// digests in all, or one.
struct FilterRange {
    int begin = 0;
    int end = 0;
    std::int64_t claims = 0;  // about how many they have
};
std::vector<FilterRange> readings(std::span<const PartExtent> parts, std::int64_t most);

// A claim on its way from the log into a segment.
struct SealedClaim {
    Digest digest;
    Digest fingerprint;  // packed
    std::uint32_t batch = 0;
    std::int32_t part = 0;
};

// Sorts by part and digest, and keeps each digest once in each part, that of the first batch.
void sort_claims(std::vector<SealedClaim>& claims);

// Digests in a block: with their batches they fill a page, and a look-up reads one.
inline constexpr std::size_t block_digests = 400;

// The rows of sql::segment_copy for sorted claims of one part, in COPY's binary form, without its
// header and its end; those of sql::segment_copy_of_partitions if the part is not 0.
std::string block_rows(std::span<const SealedClaim> claims);

}  // namespace onceward
